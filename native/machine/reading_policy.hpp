// When a mask is found by the classifier, and when by reading every token on the stacks of its text.
//
// What the classifier builds holds for every stack, so all later masks of the grammar use it; it costs much where it is built, and
// seconds where a grammar is very ambiguous. Reading costs one walk over the vocabulary, and is used again only where the top of the
// stack is the same (machine/read_rows.hpp). So tokens are read
//   * for the first mask of an engine: nothing would be used again before there are others;
//   * for the first max_reads() masks in a lexer state, of which most texts visit each once. A reading that is expensive, or whose row
//     could not be cached, counts as several masks;
//   * after the classifier has cost more than steps_to_classify() for one mask, until reading has cost as much. Both together then
//     cost at most twice what the better of them would (ski rental).
// The order in which a matcher asks is drawn in matcher/matcher.hpp.
//
// Example: JSON schemas over 128,000 tokens, max_reads() 64: a request's only text reads its 30 masks, in 40 us each; a grammar that a
// server uses all day has classified every state of its lexer after some requests.
//
// Any number of threads. Cost: a few instructions; reads_here() takes a lock that nobody holds for long.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <vector>

#include "base/ids.hpp"
#include "base/limits.hpp"

namespace psc {

class ReadingPolicy {
public:
    // Masks for which tokens were read, per lexer state. A cache has them, as it has what the classifier builds instead.
    class Counts {
    public:
        std::size_t bytes() const {
            const std::lock_guard lock(lock_);
            return n_.capacity() * sizeof(Word);
        }

    private:
        friend class ReadingPolicy;
        mutable std::mutex lock_;
        std::vector<Word> n_;
    };

    bool classifies() const { return put_off_.load(std::memory_order_relaxed) == 0; }
    // What the classifier may cost for one mask, 0.2 s; a test wants other steps.
    std::size_t steps_to_classify() const { return steps_to_classify_.load(std::memory_order_relaxed); }
    void set_steps_to_classify(std::size_t steps) { steps_to_classify_.store(steps, std::memory_order_relaxed); }
    // Of how many masks in a lexer state tokens are read; 0: of none.
    Word max_reads() const { return max_reads_.load(std::memory_order_relaxed); }
    void set_max_reads(Word n) { max_reads_.store(n, std::memory_order_relaxed); }
    bool reads_first_masks() const { return max_reads() > 0; }
    void read_first_mask() { put_off_.store(1, std::memory_order_relaxed); }

    // Whether tokens are read for one more mask in this lexer state, of which nothing is classified.
    bool reads_here(Counts& counts, LexerState state);
    // The classifier has cost steps_to_classify().
    void put_off_classifier() { put_off_.store(steps_to_classify(), std::memory_order_relaxed); }
    // Reading a mask has cost this.
    void has_read(std::size_t steps);
    void has_read_here(Counts& counts, LexerState state, std::size_t steps, bool is_cached);

private:
    std::atomic<std::size_t> steps_to_classify_{limit("steps_to_classify")};
    std::atomic<std::size_t> put_off_{0};  // steps that are still to be read
    std::atomic<Word> max_reads_{0};
};

}  // namespace psc
