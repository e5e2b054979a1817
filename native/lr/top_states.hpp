// Which LR states can be on top of the stack after shifting a terminal, from any of a set of states.
//
// States are plain ones (LrTables::plain): what a state does with any set of members is a part of what it does. What lies under a
// popped state is taken to be any of its predecessors in the LR automaton, so the answer is an upper bound. Sets of states are
// interned.
//
// Cost: after() is a lookup where the answer is cached; else a union over the states of the set, each a search over the reductions
// under the terminal, which is cached too. Rare masks of schemas spend 5 to 100 ms here, on thousands of pairs of a set and a
// terminal.
// Threads: one at a time.
// Tried and dropped: states listed by terminal, and one search from any set of states instead of one for each: 94 to 38 ms for one
// mask, 41 to 110 ms for another. Sharing what follows equal sets of reductions made no difference.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/interned.hpp"
#include "base/work.hpp"
#include "lr/lalr.hpp"

namespace psc {

class TopStates {
public:
    // `below`: the tables' stack predecessors. All must outlive this.
    TopStates(const LrTables& tables, const StackPredecessors& below, Work& work);

    // Every state that can be on top when a step starts.
    TopSet everywhere() const { return {0}; }
    // None when no state of the set can take the terminal.
    Maybe<TopSet> after(TopSet set, Terminal terminal);
    // The states of the set among `states`; none if there are none.
    Maybe<TopSet> narrowed(TopSet set, std::span<const LrState> states);
    // The states of the set that can take the terminal.
    TopSet takers(TopSet set, Terminal terminal);
    // Per terminal: whether a state of the set has an action under it. None does where there is no set.
    std::vector<char> looked_at(Maybe<TopSet> set) const;
    std::span<const LrState> states(TopSet set) const { return sets_[set]; }
    TopSet intern(std::span<const LrState> sorted_states) { return sets_.id_of(sorted_states); }
    bool contains(TopSet set, LrState state) const;
    bool is_subset(TopSet set, TopSet of) const;

private:
    // A set of LR states that clear() empties in O(1).
    class Seen {
    public:
        explicit Seen(std::size_t n) : round_of_(n) {}
        void clear() { ++round_; }
        bool insert(LrState state) { return std::exchange(round_of_[state.index()], round_) != round_; }

    private:
        std::vector<std::uint64_t> round_of_;
        std::uint64_t round_ = 0;
    };

    // From as many states that reduce, one search for all takes less than one for each: PostgreSQL's 4,600 states look at 467 terminals.
    static constexpr std::size_t kManyStates = 64;

    std::vector<LrState> shifted(std::vector<LrState> todo, Terminal terminal);
    const std::vector<LrState>& after_state(LrState state, Terminal terminal);
    const std::vector<LrState>& reduced(LrState state, Production production);

    const LrTables& tables_;
    const StackPredecessors& below_;
    Work& work_;
    Interned<TopSet, LrState> sets_;
    IdMap<TopSet, Terminal, Maybe<TopSet>> after_;
    IdMap<TopSet, Terminal, TopSet> takers_;
    // Numbers of lists: by state and terminal, the states on top after the shift; by state and production, after the reduction.
    IdMap<LrState, Terminal, Word> after_state_;
    std::vector<std::vector<LrState>> after_states_;
    IdMap<LrState, Production, Word> reduced_;
    std::vector<std::vector<LrState>> reduced_to_;
    Seen on_top_, under_;  // scratch
};

}  // namespace psc
