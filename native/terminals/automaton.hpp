// All terminals of a grammar as one minimal deterministic byte automaton.
//
// The subset construction runs over all terminals together and over classes of characters. A state is a set of positions; its
// matches are the terminals of which a text that leads there is a lexeme. The result is minimized while its arcs are still
// characters. Then it is spelled in UTF-8 by a diagram whose equal nodes are one node, and stays minimal over bytes: a state
// between characters reads no continuation byte, and one inside a character reads nothing else.
//
// Cost: for each state, the classes that each of its positions reads; then O(arcs log states). 1 to 10 ms for a programming
// language.
// Threads: a pure function.
// Source: M. O. Rabin, D. Scott, "Finite Automata and Their Decision Problems" (1959).
#pragma once

#include <span>
#include <vector>

#include "base/intern.hpp"
#include "text/byte_classes.hpp"

namespace psc {

struct ByteAutomaton {
    enum class Limit { none, states, positions, steps };

    ByteClasses classes;     // bytes that lead from each state to the same one
    std::vector<Word> next;  // (states, classes): the next state, or -1; numbered breadth-first by bytes, no arc leads into state 0
    std::vector<Word> match_offsets{0}, matches;  // per state, the terminals that match there, ascending
    std::vector<Word> empty;                      // terminals that match the empty text
    std::vector<Word> unmatched;                  // terminals that match no text
    Limit exceeded = Limit::none;
    std::vector<Word> involved;  // the terminals of the state that exceeded the limit; all else is empty then

    Word n_states() const { return static_cast<Word>(match_offsets.size()) - 1; }
};

// Programs as in terminals/positions.hpp, over sets as in text/code_point_classes.hpp. `max_positions` bounds the nondeterministic
// automaton and `max_steps` the work and memory of making it deterministic.
ByteAutomaton build_terminal_automaton(std::span<const Word> programs, std::span<const Word> offsets, std::span<const Word> ranges,
                                       std::span<const Word> range_offsets, std::size_t max_states, std::size_t max_positions,
                                       std::size_t max_steps);

}  // namespace psc
