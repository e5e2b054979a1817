// The subset construction over all terminals of a grammar, and over classes of characters, state by state on request.
//
// A state is a set of positions (terminals/positions.hpp), those that read a character and those that match; positions that are not
// live are left out. State 0 is the start. Two starts with one subset are one state, so an arc may lead back to state 0.
//
// Cost: of a state, the classes that each of its positions reads; then, for each class, the closure of where it leads. A position
// that is entered alone has its closure cached. Threads: one at a time.
// Source: M. O. Rabin, D. Scott, "Finite Automata and Their Decision Problems" (1959).
#pragma once

#include <span>
#include <vector>

#include "base/intern.hpp"
#include "terminals/nfa.hpp"

namespace psc {

class Subsets {
public:
    struct Arc {
        Word character_class, target;
    };

    // The automaton outlives this.
    explicit Subsets(const TerminalNfa& nfa);

    Word size() const { return states_.size(); }
    // The arcs of a state, by class; their targets exist then, not expanded yet. False when steps() exceeds `max_steps`: the arcs
    // are incomplete.
    bool expand(Word state, std::size_t max_steps, std::vector<Arc>& arcs);
    // The number, in outputs(), of the terminals that match there, ascending.
    Word output(Word state);
    const SequenceInterner& outputs() const { return outputs_; }
    // Whether it reads anything.
    bool is_extensible(Word state) const;
    std::span<const Word> positions_of(Word state) const { return states_[state]; }
    // The state of these positions, ascending, which are a part of another state's.
    Word state_of(std::span<const Word> positions) { return states_.intern(positions).first; }
    // The number of positions and classes visited so far.
    std::size_t steps() const { return steps_; }
    std::size_t bytes() const {
        const std::size_t words = state_of_.capacity() + state_after_node_.capacity() + stamp_.capacity() + stack_.capacity() +
                                  subset_.capacity() + matched_.capacity() + excepted_.capacity() + touched_.capacity() +
                                  first_.capacity();
        return after_.bytes() + states_.bytes() + outputs_.bytes() + words * sizeof(Word) +
               bucket_.capacity() * sizeof(std::vector<Word>);
    }

private:
    Word state_after(std::span<const Word> nodes);

    const TerminalNfa& nfa_;
    const TerminalPositions& positions_;
    std::size_t steps_ = 0;
    SequenceInterner after_;      // entered positions, before splits are followed
    std::vector<Word> state_of_;  // per such sequence
    SequenceInterner states_, outputs_;
    std::vector<Word> state_after_node_;  // per position that is entered alone, or -1
    std::vector<Word> stamp_, stack_, subset_, matched_, excepted_, touched_;
    std::vector<Word> first_;                // per class, a position that it enters, or -1: there is mostly one
    std::vector<std::vector<Word>> bucket_;  // and the others
};

}  // namespace psc
