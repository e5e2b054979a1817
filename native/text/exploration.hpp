// Deterministic automata over texts, explored from a start along a rule. A state is a pair of integers whose meaning the caller
// chooses.
//
// Cost: a step for each arc that the rule gives; LimitExceeded as in text/automaton.hpp. Threads: a pure function.
#pragma once

#include <utility>
#include <vector>

#include "base/cancellation.hpp"
#include "base/errors.hpp"
#include "text/automaton.hpp"

namespace psc {

inline void check_text_size(const TextAutomaton& draft, std::size_t states, std::size_t max_states) {
    stop_if_cancelled();
    if (states > max_states) throw LimitExceeded("states of an automaton over texts", max_states);
    if (draft.arcs.size() > max_states * kArcsPerState)
        throw LimitExceeded("ranges of characters in an automaton over texts", max_states * kArcsPerState);
}

// `expand(state, arc)` calls arc(first, last, to) for the ranges that leave a state, ascending, and returns whether the state
// accepts.
template <class Expand>
TextAutomaton explored(std::pair<Word, Word> start, std::size_t max_states, Expand expand) {
    TextAutomaton draft = TextAutomaton::drafted();
    PairMap numbers;
    std::vector<std::pair<Word, Word>> states{start};
    numbers.insert(start.first, start.second, 0);
    const auto arc = [&](Word first, Word last, std::pair<Word, Word> to) {
        Word number = numbers.find(to.first, to.second);
        if (number < 0) {
            number = static_cast<Word>(states.size());
            numbers.insert(to.first, to.second, number);
            states.push_back(to);
        }
        draft.add_arc(first, last, number);
    };
    for (std::size_t i = 0; i < states.size(); ++i) {
        const std::pair<Word, Word> state = states[i];
        const bool accepts_here = expand(state, arc);
        draft.add_state(accepts_here);
        check_text_size(draft, states.size(), max_states);
    }
    return minimal(draft);
}

}  // namespace psc
