// The trie of realizable terminal sequences, pruned by what the LR tables allow.
//
// A sequence is a node of one trie shared by all lexer states. Each node knows an upper bound of the LR states that can
// be on top of the stack after it; a child whose bound is empty is never made, so that a token that would need it is
// dead at once (most long sequences, `====`, die at their second terminal).
//
// Cost: a child that exists is one lookup; a new one is a union over the states of its bound, remembered per (bound, terminal).
#pragma once

#include <vector>

#include "intern.hpp"
#include "lalr.hpp"

namespace psc {

constexpr Word kNoNode = -1;

// Which LR states can be on top after shifting a terminal, from any of a set of states. Sets of states are interned.
class TopStates {
public:
    explicit TopStates(const LrTables& tables);

    Word everywhere() const { return 0; }  // every state that can be on top when a step starts
    Word after(Word set, Word terminal);  // kNoNode when no state of the set can take the terminal

private:
    const std::vector<Word>& after_state(Word state, Word terminal);

    const LrTables& tables_;
    std::vector<std::vector<Word>> below_;
    SequenceInterner sets_;
    PairMap after_;
    std::vector<std::vector<Word>> after_state_;
    std::vector<char> known_;
};

class SequenceTrie {
public:
    explicit SequenceTrie(const LrTables& tables)
        : tops_(tables), top_{tops_.everywhere()}, parent_{kNoNode}, terminal_{kNoNode} {}

    // The node of `node`'s sequence followed by `terminal`, or kNoNode where no stack allows it.
    Word child(Word node, Word terminal);
    Word extend(Word node, std::span<const Word> terminals);

    Word size() const { return static_cast<Word>(parent_.size()); }
    Word parent(Word node) const { return parent_[node]; }
    Word terminal(Word node) const { return terminal_[node]; }

private:
    TopStates tops_;
    PairMap children_;
    std::vector<Word> top_, parent_, terminal_;
};

}  // namespace psc
