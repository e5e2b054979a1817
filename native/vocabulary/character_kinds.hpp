// Kinds of characters: what a walk over a vocabulary tells apart where it does not look at each byte.
//
// Letters of ASCII are two kinds, digits one, blanks and the punctuation that grammars tell apart the others, and all that is
// beyond ASCII has four more. A set of kinds is one word, so a node of a vocabulary's trie says in a word what is below it.
//
// Example: of `naïve"` the kinds are `a` (n, a, v, e), wide (ï) and `"`; below its node `na`, rest is none of them; below the first
// byte of ï it is.
//
// Cost: a look-up a byte.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>

namespace psc {

using CharacterKinds = std::uint32_t;  // a set, as bits

namespace character_kinds {

inline constexpr int kCount = 32;
inline constexpr CharacterKinds kWide = 1u << 28;   // a character beyond ASCII, as UTF-8 spells it
inline constexpr CharacterKinds kCut = 1u << 29;    // the beginning of one, with which a token ends
inline constexpr CharacterKinds kRest = 1u << 30;   // a byte more of the character that was begun above
inline constexpr CharacterKinds kStray = 1u << 31;  // a byte beyond ASCII that is none of these

inline constexpr auto kNumberOfByte = [] {
    std::array<std::uint8_t, 128> number{};
    std::uint8_t next = 1;  // 0: control characters
    for (const std::string_view group : {"abcdefghijklmnopqrstuvwxyz",
                                         "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
                                         "0123456789",
                                         "_",
                                         "$",
                                         " ",
                                         "\t",
                                         "\n",
                                         "\r",
                                         "\"",
                                         "'",
                                         "\\",
                                         "/",
                                         "*",
                                         ".",
                                         ",",
                                         ";:",
                                         "()",
                                         "[]",
                                         "{}",
                                         "<",
                                         ">",
                                         "=!",
                                         "-",
                                         "+",
                                         "#@%&|^~?",
                                         "`"}) {
        for (char b : group) number[static_cast<unsigned char>(b)] = next;
        ++next;
    }
    return number;
}();
static_assert(std::ranges::max(kNumberOfByte) < 28);

// The kind of a character of ASCII.
constexpr CharacterKinds of(int ascii) { return 1u << kNumberOfByte[static_cast<std::size_t>(ascii)]; }

struct CharactersByKind {
    std::array<std::uint8_t, 128> characters{};
    std::array<std::uint8_t, kCount + 1> begins{};
};
inline constexpr auto kCharactersByKind = [] {
    CharactersByKind made;
    std::uint8_t n = 0;
    for (std::size_t k = 0; k < kCount; ++k) {
        made.begins[k] = n;
        for (std::uint8_t byte = 0; byte < 128; ++byte)
            if (kNumberOfByte[byte] == k) made.characters[n++] = byte;
    }
    made.begins[kCount] = n;
    return made;
}();

// The characters of one kind of ASCII, ascending.
constexpr std::span<const std::uint8_t> characters_of(CharacterKinds one) {
    const auto k = static_cast<std::size_t>(std::countr_zero(one));
    const auto first = kCharactersByKind.begins[k], last = kCharactersByKind.begins[k + 1];
    return std::span(kCharactersByKind.characters).subspan(first, static_cast<std::size_t>(last - first));
}

}  // namespace character_kinds

}  // namespace psc
