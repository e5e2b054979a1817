// Tokens as characters: what a grammar says of tokens themselves and not of their text.
//
// Behind the characters of Unicode there is one for each token id, its *symbol*: U+110000 + id. A grammar that asks for a token asks for
// its symbol. To a lexer it is a character like any other; it is spelled in four bytes of which the first is never a byte of UTF-8, so
// no text is taken for a symbol, and none for a part of one.
//
// A vocabulary gives a token a symbol where a grammar tells the token apart; those that a grammar does not tell apart share one. Such a
// token has two spellings, its text (a special token has none) and its symbol.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "base/intern.hpp"

namespace psc {

constexpr Word kFirstSymbol = 0x110000;  // the code point of token 0's
constexpr Word kSymbols = 1 << 20;       // so many ids can have one
constexpr Word kAfterSymbols = kFirstSymbol + kSymbols;
constexpr std::uint8_t kFirstSymbolByte = 0xf8;  // what symbols begin with; no character does, nor has one a byte as large

using SpelledSymbol = std::array<std::uint8_t, 4>;

constexpr SpelledSymbol spelled_symbol(Word token) {
    return {static_cast<std::uint8_t>(kFirstSymbolByte + (token >> 18)), static_cast<std::uint8_t>(0x80 | (token >> 12 & 0x3f)),
            static_cast<std::uint8_t>(0x80 | (token >> 6 & 0x3f)), static_cast<std::uint8_t>(0x80 | (token & 0x3f))};
}

// What stands behind the symbols of tokens: the boundaries of parts, see linked/machine.hpp. The second end, which a part has only when
// its tokens are spent, begins unlike the others, so that no row tells of it.
constexpr Word kEndOfPart = kSymbols - 1, kFirstCall = kSymbols - 0x2000, kMaxParts = 0x1000, kSpentEnd = kSymbols - 0x3000;
constexpr std::array<std::uint8_t, 2> kCallBytes{0xfb, 0xbe}, kEndBytes{0xfb, 0xbf};  // with which these are spelled
static_assert(spelled_symbol(kEndOfPart)[0] == kEndBytes[0] && spelled_symbol(kEndOfPart)[1] == kEndBytes[1]);
static_assert(spelled_symbol(kSpentEnd)[1] != kEndBytes[1] && spelled_symbol(kSpentEnd)[1] != kCallBytes[1]);
static_assert(spelled_symbol(kFirstCall)[0] == kCallBytes[0] && spelled_symbol(kFirstCall + kMaxParts - 1)[1] == kCallBytes[1]);

// Whether a text could be taken for one with a symbol in it.
inline bool has_symbol_byte(std::span<const std::uint8_t> text) {
    return std::any_of(text.begin(), text.end(), [](std::uint8_t byte) { return byte >= kFirstSymbolByte; });
}

}  // namespace psc
