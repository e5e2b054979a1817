#include "machine/reading_policy.hpp"

#include <algorithm>

namespace psc {

bool ReadingPolicy::reads_here(Counts& counts, LexerState state) {
    const std::lock_guard lock(counts.lock_);
    if (counts.n_.size() <= state.index()) counts.n_.resize(state.index() + 1);
    return counts.n_[state.index()]++ < max_reads();
}

void ReadingPolicy::has_read(std::size_t steps) {
    std::size_t before = put_off_.load(std::memory_order_relaxed);
    while (before && !put_off_.compare_exchange_weak(before, before - std::min(before, steps), std::memory_order_relaxed)) {
    }
}

void ReadingPolicy::has_read_here(Counts& counts, LexerState state, std::size_t steps, bool is_cached) {
    constexpr std::size_t kStepsOfOne = 1 << 14, kMax = 1 << 10;
    constexpr Word kNotCached = 8;
    const std::lock_guard lock(counts.lock_);
    if (state.index() < counts.n_.size())
        counts.n_[state.index()] += static_cast<Word>(std::min(steps / kStepsOfOne, kMax)) + (is_cached ? 0 : kNotCached);
}

}  // namespace psc
