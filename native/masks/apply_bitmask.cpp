#include "masks/apply_bitmask.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace psc {

namespace {

constexpr std::size_t kWordBits = 32;

template <class Bits>
void fill(Bits* logits, std::size_t count, std::ptrdiff_t stride, Bits value) {
    if (stride == 1) {
        std::fill_n(logits, count, value);
    } else {
        for (std::size_t i = 0; i < count; ++i) logits[static_cast<std::ptrdiff_t>(i) * stride] = value;
    }
}

// Lane i holds the bit that decides over it. As many lanes as Bits has bits, at most 32.
template <class Bits>
constexpr auto lane_bits() {
    std::array<Bits, std::min<std::size_t>(kWordBits, 8 * sizeof(Bits))> bits{};
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<Bits>(Bits{1} << i);
    return bits;
}

// Writes all 32 logits, each as it was or masked: compared lane by lane instead of shifted, which the oldest vector instructions can.
template <class Bits>
void select(Bits* logits, std::uint32_t masked, Bits minus_infinity) {
    static constexpr auto kBits = lane_bits<Bits>();
    for (std::size_t from = 0; from < kWordBits; from += kBits.size()) {
        const auto here = static_cast<Bits>(masked >> from);
        for (std::size_t i = 0; i < kBits.size(); ++i) {
            const auto chosen = static_cast<Bits>((here & kBits[i]) == kBits[i] ? ~Bits{0} : Bits{0});
            logits[from + i] = static_cast<Bits>((logits[from + i] & ~chosen) | (minus_infinity & chosen));
        }
    }
}

}  // namespace

template <class Bits>
void apply_bitmask_row(Bits* logits, std::size_t width, std::ptrdiff_t stride, std::span<const std::int32_t> words,
                       Bits minus_infinity) {
    std::size_t at = 0;
    for (std::size_t w = 0; w < words.size() && at < width; ++w, at += kWordBits) {
        const std::size_t count = std::min(kWordBits, width - at);
        Bits* here = logits + static_cast<std::ptrdiff_t>(at) * stride;
        std::uint32_t masked = ~static_cast<std::uint32_t>(words[w]);
        if (masked == 0) continue;
        if (count < kWordBits) masked &= (std::uint32_t{1} << count) - 1;  // bits past the width say nothing of any logit
        if (masked == ~std::uint32_t{0}) {
            fill(here, kWordBits, stride, minus_infinity);
        } else if (std::popcount(masked) > 4 && stride == 1 && count == kWordBits) {
            select(here, masked, minus_infinity);  // many masked bits would be as many unpredictable steps
        } else {
            for (; masked != 0; masked &= masked - 1)
                here[static_cast<std::ptrdiff_t>(std::countr_zero(masked)) * stride] = minus_infinity;
        }
    }
    if (at < width) fill(logits + static_cast<std::ptrdiff_t>(at) * stride, width - at, stride, minus_infinity);
}

template void apply_bitmask_row(std::uint16_t*, std::size_t, std::ptrdiff_t, std::span<const std::int32_t>, std::uint16_t);
template void apply_bitmask_row(std::uint32_t*, std::size_t, std::ptrdiff_t, std::span<const std::int32_t>, std::uint32_t);
template void apply_bitmask_row(std::uint64_t*, std::size_t, std::ptrdiff_t, std::span<const std::int32_t>, std::uint64_t);

}  // namespace psc
