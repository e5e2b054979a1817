// Masking of logits on the CPU: a logit whose bit is 0 becomes minus infinity; others keep their bits, also NaN.
//
// A logit is moved as an integer of its size, and minus infinity is a bit pattern, so half precision and bfloat16 need no arithmetic.
// Words that allow all 32 tokens are skipped; words that allow none are filled at once.
//
// Cost: linear in the width, bounded by the memory written: about 15 us for 128,000 float32 logits that are all masked.
// Threads: any; a call writes its row alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace psc {

// One row of logits, `width` of them, `stride` elements apart; `words` has the bits, and what lies beyond them is masked.
template <class Bits>
void apply_bitmask_row(Bits* logits, std::size_t width, std::ptrdiff_t stride, std::span<const std::int32_t> words,
                       Bits minus_infinity);

extern template void apply_bitmask_row(std::uint16_t*, std::size_t, std::ptrdiff_t, std::span<const std::int32_t>, std::uint16_t);
extern template void apply_bitmask_row(std::uint32_t*, std::size_t, std::ptrdiff_t, std::span<const std::int32_t>, std::uint32_t);
extern template void apply_bitmask_row(std::uint64_t*, std::size_t, std::ptrdiff_t, std::span<const std::int32_t>, std::uint64_t);

}  // namespace psc
