// Tokens as characters: how a grammar names tokens themselves rather than their text.
//
// After the characters of Unicode there is one for each token id, its *symbol*: U+110000 + id. A grammar that requires a token
// requires its symbol. To a lexer it is a character like any other. It is spelled in four bytes of which the first is never a byte
// of UTF-8, so no text is mistaken for a symbol or a part of one.
//
// A vocabulary gives a token a symbol where a grammar tells the token apart; tokens that a grammar does not tell apart share one.
// Such a token has two spellings, its text (a special token has none) and its symbol.
//
// Example: token 7 has the symbol U+110007, spelled F8 80 80 87.
//
// Cost: constant. Threads: pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "base/intern.hpp"
#include "base/limits.hpp"

namespace psc {

constexpr Word kFirstSymbol = 0x110000;  // the code point of token 0's
constexpr Word kSymbols = 1 << 20;       // the number of ids that can have one
constexpr Word kAfterSymbols = kFirstSymbol + kSymbols;
constexpr std::uint8_t kFirstSymbolByte = 0xf8;  // what symbols begin with; no character does, nor has one a byte as large

using SpelledSymbol = std::array<std::uint8_t, 4>;

constexpr SpelledSymbol spelled_symbol(Word token) {
    return {static_cast<std::uint8_t>(kFirstSymbolByte + (token >> 18)), static_cast<std::uint8_t>(0x80 | (token >> 12 & 0x3f)),
            static_cast<std::uint8_t>(0x80 | (token >> 6 & 0x3f)), static_cast<std::uint8_t>(0x80 | (token & 0x3f))};
}

// The last symbols are no tokens but the boundaries of parts, see linked/machine.hpp. The second end, which a part has only when
// its budget of tokens is exhausted, begins with other bytes than the first, so no row contains it.
constexpr Word kEndOfPart = kSymbols - 1, kFirstCall = kSymbols - 0x2000, kMaxParts = limit("parts"), kSpentEnd = kSymbols - 0x3000;
constexpr std::array<std::uint8_t, 2> kCallBytes{0xfb, 0xbe}, kEndBytes{0xfb, 0xbf};  // with which these are spelled
static_assert(spelled_symbol(kEndOfPart)[0] == kEndBytes[0] && spelled_symbol(kEndOfPart)[1] == kEndBytes[1]);
static_assert(spelled_symbol(kSpentEnd)[1] != kEndBytes[1] && spelled_symbol(kSpentEnd)[1] != kCallBytes[1]);
static_assert(spelled_symbol(kFirstCall)[0] == kCallBytes[0] && spelled_symbol(kFirstCall + kMaxParts - 1)[1] == kCallBytes[1]);

// Whether a text could be taken for one with a symbol in it.
inline bool has_symbol_byte(std::span<const std::uint8_t> text) {
    return std::any_of(text.begin(), text.end(), [](std::uint8_t byte) { return byte >= kFirstSymbolByte; });
}

}  // namespace psc
