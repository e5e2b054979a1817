// Expressions over characters, written as programs, to one nondeterministic automaton with an entry for each terminal.
//
// A program is a list of words, read once from left to right; consecutive items are a sequence:
//
//   characters n, s1 .. sn           a character of each of these sets
//   choice k, a next b next .. end   one of k options; choice 0 stands alone and matches nothing
//   repeat l m, body end             l to m times; m = -1: without limit
//   automaton n k, f1 .. fn, (source set target) x k
//                                    a deterministic automaton over sets, from state 0; fi: whether state i is final
//   labelled n k, (l t1 .. tl) x n, (source set target) x k
//                                    the whole program: one automaton of many terminals; a state lists those that match there
//   elsewhere                        the whole program: another terminal's labelled automaton matches this one
//   counted l m, automaton ..        the whole program: the texts of the automaton that arrive l to m times in a state that counts;
//                                    m = -1: without limit. fi: 1 where state i is final, and 2 more where it counts
//   except                           at the outermost level: the language so far, less all texts of what follows
//
// Example: with the sets 0 = [0-9] and 1 = [.], the program `repeat 1 -1 characters 1 0 end characters 1 1` is [0-9]+ followed by a
// dot.
//
// The automaton is Thompson's, laid out so that each piece falls through to what comes after it. Counted repetitions are copies.
//
// Cost: linear in the programs with their repetitions written out, 12 bytes a node; nesting costs no C stack.
// Threads: immutable once made.
// Source: K. Thompson, "Regular Expression Search Algorithm" (1968).
// Tried and dropped: an automaton for each set of other names (`additionalProperties`). One labelled automaton for all of them is
// made deterministic faster.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/intern.hpp"
#include "text/completion_lengths.hpp"

namespace psc {

class TerminalPositions {
public:
    enum class Kind : std::uint8_t {
        character,  // reads one of set a, then continues at b
        split,      // continues at a and at b, where they are not -1
        match,      // part a matches
        match_all,  // the terminals of list a match
    };
    struct Node {
        Kind kind;
        Word a, b;
    };

    // Calls f(position) for each successor of a position.
    template <class F>
    static void each_target(const Node& node, const F& f) {
        if (node.kind == Kind::split && node.a >= 0) f(node.a);
        if ((node.kind == Kind::split || node.kind == Kind::character) && node.b >= 0) f(node.b);
    }

    enum Code : Word { characters, choice, next, end, repeat, automaton, except, labelled, elsewhere, counted };

    // A terminal whose program is `counted`.
    struct Counted {
        Word terminal, first, end;  // its nodes: those of the automaton, then the match
        Word least, most;
        std::vector<Word> start;   // per state its first node
        std::vector<char> counts;  // per state
        CompletionLengths lengths;

        Word state_of(Word node) const {
            return static_cast<Word>(std::upper_bound(start.begin(), start.end(), node) - start.begin()) - 1;
        }
        static constexpr Word kAny = CompletionLengths::kAny, kNone = CompletionLengths::kNone;
        Word count_at(Word state, Word count) const { return lengths.needed(state, count, least, most); }
        bool fits(Word count) const { return count == kAny || (count >= least && (most < 0 || count <= most)); }
        // A count with which tokens of so many bytes do the same from any state; it itself where there is none.
        Word alike(Word count, Word longest_token) const;
    };

    // Reads one program for each terminal. Stops at the first that makes more than `limit` nodes, which failed() then is; else -1.
    // Throws std::invalid_argument for words that are no program.
    TerminalPositions(std::span<const Word> words, std::span<const Word> offsets, Word n_sets, std::size_t limit);

    const std::vector<Node>& nodes() const { return nodes_; }
    std::span<const Word> entries() const { return entries_; }
    // Part t < terminals() is the language of terminal t, part terminals() + t its exceptions.
    Word terminals() const { return terminals_; }
    Word failed() const { return failed_; }
    std::span<const Word> list(Word number) const { return lists_[number]; }
    // The terminal whose program a node is from.
    Word terminal_of(Word node) const;
    // The nodes of a terminal's program: from its first one up to the next terminal's.
    Word first_node(Word terminal) const { return terminal < terminals_ ? first_[terminal] : static_cast<Word>(nodes_.size()); }
    // Whether a terminal's program is an automaton of many terminals.
    bool is_labelled(Word terminal) const { return labelled_[terminal]; }
    // Those that count, ascending by terminal.
    const std::vector<Counted>& counting() const { return counted_; }
    // The number among these of the one that has a node, or -1.
    Word counted_of(Word node) const {
        const auto after =
            std::upper_bound(counted_.begin(), counted_.end(), node, [](Word n, const Counted& c) { return n < c.first; });
        return after != counted_.begin() && node < std::prev(after)->end ? static_cast<Word>(after - counted_.begin()) - 1 : -1;
    }
    // Whether a program has exceptions.
    bool has_exceptions() const { return has_exceptions_; }

    std::size_t bytes() const {
        return nodes_.capacity() * sizeof(Node) + (entries_.capacity() + first_.capacity()) * sizeof(Word) + lists_.bytes();
    }

private:
    std::vector<Node> nodes_;
    std::vector<Word> entries_;
    SequenceInterner lists_;
    std::vector<Counted> counted_;
    std::vector<Word> first_;     // per terminal, its first node
    std::vector<char> labelled_;  // per terminal
    bool has_exceptions_ = false;
    Word terminals_ = 0, failed_ = -1;
};

}  // namespace psc
