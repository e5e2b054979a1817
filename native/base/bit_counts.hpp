// How many bits are set in an array of words.
//
// The loop adds bytes side by side (SWAR), which compilers turn into wide instructions on any processor.
//
// Cost: some four words a nanosecond. Threads: a pure function.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace psc {

// The set bits of word(0), ..., word(n - 1), of 64 bits each.
template <class F>
std::size_t count_bits(std::size_t n, const F& word) {
    constexpr std::uint64_t kBytes = 0x0101010101010101, kPairs = 0x5555555555555555, kQuads = 0x3333333333333333;
    constexpr std::uint64_t kEven = 0x00ff00ff00ff00ff;
    constexpr std::size_t kMaxWords = 31;  // whose counts fit a byte
    std::size_t all = 0;
    for (std::size_t i = 0; i < n;) {
        std::uint64_t bytes = 0;
        for (const std::size_t end = std::min(n, i + kMaxWords); i < end; ++i) {
            std::uint64_t x = word(i);
            x -= x >> 1 & kPairs;
            x = (x & kQuads) + (x >> 2 & kQuads);
            bytes += (x + (x >> 4)) & 0x0f * kBytes;
        }
        all += ((bytes & kEven) + (bytes >> 8 & kEven)) * 0x0001000100010001 >> 48;
    }
    return all;
}

}  // namespace psc
