// The trie of realizable terminal sequences, pruned by what the LR tables allow.
//
// A sequence is a node of one trie shared by all lexer states. Each node knows an upper bound of the LR states that can
// be on top of the stack after it; a child whose bound is empty is never made, so that a token that would need it is
// dead at once (most long sequences, `====`, die at their second terminal).
//
// A condition of the lexer (a set of LR states, one of which must be on top) is a node as well, which narrows the bound. One that
// narrows nothing is the node itself, and one that the next terminal implies is left out, so that few remain.
//
// Where a lexeme can fail in very many ways, what then must be viable is not spelled out: a leaf stands for a set of sequences, one of
// which must be viable after its parent's.
//
// Cost: a child that exists is one lookup; a new one is a union over the states of its bound, remembered per (bound, terminal).
#pragma once

#include <vector>

#include "intern.hpp"
#include "lalr.hpp"
#include "sequence_sets.hpp"
#include "work.hpp"

namespace psc {

constexpr Word kNoNode = -1;

// Which LR states can be on top after shifting a terminal, from any of a set of states. Sets of states are interned.
class TopStates {
public:
    // `below`: the tables' stack predecessors. All must outlive this.
    TopStates(const LrTables& tables, const std::vector<std::vector<Word>>& below, Work& work);

    Word everywhere() const { return 0; }                   // every state that can be on top when a step starts
    Word after(Word set, Word terminal);                    // kNoNode when no state of the set can take the terminal
    Word narrowed(Word set, std::span<const Word> states);  // the states of the set among `states`; kNoNode when there are none
    Word takers(Word set, Word terminal);                   // the states of the set that can take the terminal
    std::span<const Word> states(Word set) const { return sets_[set]; }
    Word intern(std::span<const Word> sorted_states) { return sets_.intern(sorted_states).first; }
    bool contains(Word set, Word state) const;
    bool is_subset(Word set, Word of) const;

private:
    const std::vector<Word>& after_state(Word state, Word terminal);
    const std::vector<Word>& reduced(Word state, Production production);

    const LrTables& tables_;
    const std::vector<std::vector<Word>>& below_;
    Work& work_;
    PairMap reduced_;
    std::vector<std::vector<Word>> reduced_to_;  // of a state and a production: the states on top after the reduction
    SequenceInterner sets_;
    PairMap after_, takers_, after_state_;
    std::vector<std::vector<Word>> after_states_;
};

class SequenceTrie {
public:
    // What building it costs is spent from `work`.
    SequenceTrie(const LrTables& tables, const std::vector<std::vector<Word>>& below, Work& work)
        : work_(work), tops_(tables, below, work), top_{tops_.everywhere()}, parent_{kNoNode}, terminal_{kNoNode} {}

    // To be classified in another process; what it makes of them has all nodes, but child() and where() may not be called.
    std::vector<Word> to_words() const;
    SequenceTrie(const LrTables& tables, const std::vector<std::vector<Word>>& below, std::span<const Word> words, Work& work);

    // The node of `node`'s sequence followed by `terminal`, or kNoNode where no stack allows it.
    Word child(Word node, Word terminal);
    // The node of `node`'s sequence where one of these LR states is on top after it.
    Word where(Word node, std::span<const Word> states);

    // Sets of what may follow, as this trie has them: a symbol is a terminal or, below kOpen, a condition (see condition_of()).
    SequenceSets& sets() { return sets_; }
    Word condition_symbol(std::span<const Word> states) { return kFirstCondition - tops_.intern(states); }
    // Adds the nodes of which one must be viable for one sequence of the set to be after `node`'s.
    void add_any_of(Word node, Word set, std::vector<Word>& out);

    Word size() const { return static_cast<Word>(parent_.size()); }
    Word parent(Word node) const { return parent_[node]; }
    // The last terminal; kCondition for a node that a condition made.
    Word terminal(Word node) const { return terminal_[node]; }
    static constexpr Word kCondition = -2;
    static constexpr Word kOpen = -3;  // of a leaf that stands for a set
    Word set_of(Word leaf) const { return top_[leaf]; }
    std::span<const Word> edges(Word set) const { return sets_.edges(set); }
    // The leaf's set after another node, as a leaf; kNoNode where none is viable.
    Word any_of_after(Word node, Word leaf);
    // The last symbol: a terminal, or a condition as edges() has it.
    Word symbol(Word node) const { return terminal_[node] == kCondition ? kFirstCondition - top_[node] : terminal_[node]; }
    static bool is_condition(Word symbol) { return symbol <= kFirstCondition; }
    // Of a condition: whether it holds with this LR state on top.
    bool holds(Word symbol, Word state) const { return tops_.contains(kFirstCondition - symbol, state); }
    std::span<const Word> condition(Word node) const { return tops_.states(top_[node]); }
    std::size_t bytes() const { return parent_.size() * 32; }

private:
    static constexpr Word kFirstCondition = -4;
    // Sets of so many sequences are spelled out, so that lexer states share what they share of them.
    static constexpr std::uint32_t kFew = 64;

    Word add(Word parent, Word terminal, Word top);
    Word viable_part(Word top, Word set);
    Word open(Word node, Word set);

    Work& work_;
    TopStates tops_;
    SequenceSets sets_;
    PairMap children_, conditions_, open_, viable_parts_;
    std::vector<Word> top_, parent_, terminal_;
};

}  // namespace psc
