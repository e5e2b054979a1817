// The subset construction over all terminals of a grammar, and over classes of characters, state by state on request.
//
// A state is a set of positions (terminals/positions.hpp), those that read a character and those that match; positions that are not
// live are left out. State 0 is the start. Two starts with one subset are one state, so an arc may lead back to state 0.
//
// Behind the positions a state has the counts of the terminals that count (TerminalPositions::Counted), where they matter: words
// below 0, two for each. So a bound of a thousand characters costs the states that texts come to, not a thousand times those of
// the terminal. Example: after `"ab` of a string of at most three characters, the positions inside of it and the count 2.
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
    std::span<const Word> positions_of(Word state) const { return states_[state].first(n_positions(states_[state])); }
    // The state with a part of another state's positions, ascending, and the counts of these.
    Word part_of(Word state, std::span<const Word> positions);
    // The state without what the counts say further away than tokens of so many bytes look; the state itself where they say nothing.
    // From both states every token does the same, to the bytes that it leaves possible.
    Word alike(Word state, Word longest_token);
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
    // A state's words behind its positions: for each terminal that counts and whose count matters.
    static constexpr Word kCounts = -2;
    static Word counts_word(Word number_or_count) { return kCounts - number_or_count; }
    static Word value_of(Word counts_word) { return kCounts - counts_word; }
    std::size_t n_positions(std::span<const Word> words) const {
        std::size_t n = words.size();
        if (!positions_.counting().empty())
            while (n > 0 && words[n - 1] < 0) n -= 2;
        return n;
    }
    Word state_after(std::span<const Word> nodes);
    Word state_after_counting(std::span<const Word> nodes, std::span<const Word> counts);
    Word count_of(std::span<const Word> counts, Word counted) const;
    bool matches(Word node, std::span<const Word> words) const;
    void keep_counts(std::span<const Word> words, std::vector<Word>& positions) const;

    const TerminalNfa& nfa_;
    const TerminalPositions& positions_;
    std::size_t steps_ = 0;
    SequenceInterner after_;      // entered positions, before splits are followed
    std::vector<Word> state_of_;  // per such sequence
    SequenceInterner states_, outputs_;
    std::vector<Word> state_after_node_;  // per position that is entered alone, or -1
    std::vector<Word> stamp_, stack_, subset_, matched_, excepted_, touched_, counting_;
    std::vector<Word> first_;                // per class, a position that it enters, or -1: there is mostly one
    std::vector<std::vector<Word>> bucket_;  // and the others
};

}  // namespace psc
