// How long the texts are that lead from the states of an automaton to acceptance, where some of its arcs count.
//
// A text whose length is bounded can still end from a state if one of these lengths is between the bounds. The lengths of a state
// are a set that is periodic from some length on, since a step from "who accepts after n" to "who accepts after n + 1" knows
// nothing of n. So the table ends where a set of states comes again.
//
// Example: from the start of (ab)*, of which every arc counts, the lengths are the even ones; the table is {start}, {after a}, and
// begins again.
//
// Cost: a step for each arc and each length before the sets come again. Threads: immutable once made.
#pragma once

#include <cstdint>
#include <vector>

#include "base/intern.hpp"

namespace psc {

class CompletionLengths {
public:
    struct Arc {
        Word from, to;
        bool counts;
    };
    static constexpr std::int64_t kNever = -1, kUnlimited = -2;

    // Throws LimitExceeded where the sets do not come again within a limit.
    CompletionLengths(Word n_states, const std::vector<Arc>& arcs, const std::vector<char>& accepts);

    // Whether a text of that many from the state leads to acceptance; most = -1: or of more.
    bool can_end(Word state, std::int64_t least, std::int64_t most) const {
        const std::int64_t length = next(state, least);
        return length >= 0 && (most < 0 || length <= most);
    }
    // Of a state: kNever, or kUnlimited for the longest.
    std::int64_t shortest(Word state) const { return next(state, 0); }
    std::int64_t longest(Word state) const { return longest_[static_cast<std::size_t>(state)]; }
    // What must be known of a count in a state, where it is to end between the bounds: kAny where all that may follow fits, kNone where
    // nothing does, else the count.
    static constexpr Word kAny = -1, kNone = -2;
    Word needed(Word state, Word count, std::int64_t least, std::int64_t most) const {
        if (count == kAny) return shortest(state) < 0 ? kNone : kAny;
        const std::int64_t n = count;
        if ((most >= 0 && n > most) || !can_end(state, least - n, most < 0 ? -1 : most - n)) return kNone;
        const bool short_enough = most < 0 || (longest(state) != kUnlimited && n + longest(state) <= most);
        return short_enough && n + shortest(state) >= least ? kAny : count;
    }
    // Of all states: the greatest shortest length, the greatest of those that are limited, and the greatest difference between a
    // length and the next one of the same state.
    std::int64_t max_shortest() const { return max_shortest_; }
    std::int64_t max_limited() const { return max_limited_; }
    std::int64_t max_step() const { return max_step_; }
    std::size_t bytes() const { return next_.capacity() * sizeof(Word) + longest_.capacity() * sizeof(std::int64_t); }

private:
    // The first length from `least` on, or kNever.
    std::int64_t next(Word state, std::int64_t least) const;

    std::int64_t n_lengths_ = 0, period_ = 1;  // lengths from n_lengths_ - period_ on come again
    std::vector<Word> next_;                   // per state and length: the first length from there on, or -1
    std::vector<std::int64_t> longest_;        // per state
    std::int64_t max_shortest_ = 0, max_limited_ = 0, max_step_ = 1;
};

}  // namespace psc
