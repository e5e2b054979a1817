// The trie of realizable terminal sequences, pruned by the LR tables.
//
// A sequence is a node of one trie that all lexer states share. Each node has an upper bound of the LR states that can be on top of the
// stack after it. A child whose bound is empty is never made, so a token that would need it is dead at once: most long sequences, such
// as that of `====`, die at their second terminal.
//
// A condition of the lexer (a set of LR states, one of which must be on top) is a node as well, which narrows the bound. A condition
// that narrows nothing is the node itself, and one that the next terminal implies is left out, so few remain.
//
// Where a lexeme can fail in very many ways, the sequences that must then be viable are not written out: a leaf stands for a set of
// them, one of which must be viable after the leaf's parent.
//
// Cost: a child that exists is one look-up; a new one is a union over the states of its bound, cached by (bound, terminal).
// Threads: one at a time.
#pragma once

#include <vector>

#include "base/interned.hpp"
#include "lexer/sequence_sets.hpp"
#include "lr/top_states.hpp"
#include "tables/tables.hpp"

namespace psc {

// What may follow in a sequence: a terminal, or a condition that one of a set of LR states is on top.
class TrieSymbol {
public:
    static constexpr TrieSymbol of(Terminal t) { return {t.v}; }
    static constexpr TrieSymbol of(TopSet tops) { return {kFirstCondition - tops.v}; }
    constexpr bool is_condition() const { return v <= kFirstCondition; }
    constexpr Terminal terminal() const { return {v}; }
    constexpr TopSet tops() const { return {kFirstCondition - v}; }
    auto operator<=>(const TrieSymbol&) const = default;

    Word v;

private:
    static constexpr Word kFirstCondition = -4;
};

// What a node adds to its parent's sequence: a terminal, a condition, or, in a leaf, one of a set of sequences.
class NodeLabel {
public:
    static constexpr NodeLabel of(Terminal t) { return {t.v}; }
    static constexpr NodeLabel root() { return {-1}; }
    static constexpr NodeLabel condition() { return {-2}; }
    static constexpr NodeLabel open() { return {-3}; }
    constexpr bool is_terminal() const { return v >= 0; }
    constexpr bool is_condition() const { return v == -2; }
    constexpr bool is_open() const { return v == -3; }
    constexpr Terminal terminal() const { return {v}; }

    Word v;
};

class SequenceTrie {
public:
    static constexpr SequenceNode kRoot{0};  // the empty sequence
    using Sets = SetsOf<TrieSet, TrieSymbol>;
    using Edge = Sets::Edge;

    // `work` pays for building it.
    SequenceTrie(const LrTables& tables, const StackPredecessors& below, Work& work)
        : work_(work), tops_(tables, below, work), tail_{tops_.everywhere().v}, parent_{{}}, label_{NodeLabel::root()} {}

    // To be classified elsewhere. What is made of the tables has all nodes, but child() and where() may not be called.
    SequenceTables stored(Word n_terminals) const;
    // `stored`: each element is in range. Throws std::invalid_argument, which names the array, unless they are a trie.
    SequenceTrie(const LrTables& tables, const StackPredecessors& below, const SequenceTables& stored, Work& work);
    std::vector<Word> to_words(Word n_terminals) const;
    SequenceTrie(const LrTables& tables, const StackPredecessors& below, std::span<const Word> words, Work& work);

    // The node of `node`'s sequence followed by `terminal`; none where no stack allows it.
    Maybe<SequenceNode> child(SequenceNode node, Terminal terminal);
    // The node of `node`'s sequence where one of these LR states is on top after it.
    Maybe<SequenceNode> where(SequenceNode node, std::span<const LrState> states);

    // The empty sequence where this LR state is on top. Nodes below it are bounded by that state alone, though other states could take
    // them too.
    // None for a state that is never on top when a step starts.
    Maybe<SequenceNode> under(LrState top);

    // Whether an LR state on top after `first` has an action under the sequence's first terminal. That is cheap, and so where some stack
    // allows both.
    bool may_follow(Terminal first, SequenceNode rest);

    Sets& sets() { return sets_; }
    TrieSymbol condition_symbol(std::span<const LrState> states) { return TrieSymbol::of(tops_.intern(states)); }
    // Adds the nodes of which one must be viable for one sequence of the set to be after `node`'s.
    void add_any_of(SequenceNode node, TrieSet set, std::vector<SequenceNode>& out);

    Word size() const { return static_cast<Word>(parent_.size()); }
    SequenceNode parent(SequenceNode node) const { return *parent_[node.index()]; }
    NodeLabel label(SequenceNode node) const { return label_[node.index()]; }
    TrieSet set_of(SequenceNode leaf) const { return {tail_[leaf.index()]}; }
    std::span<const Edge> edges(TrieSet set) const { return sets_.edges(set); }
    // The leaf's set after another node, as a leaf; none where none is viable.
    Maybe<SequenceNode> any_of_after(SequenceNode node, SequenceNode leaf);
    // The last symbol of a node that is no leaf of a set.
    TrieSymbol symbol(SequenceNode node) const {
        return label(node).is_condition() ? TrieSymbol::of(tops_of(node)) : TrieSymbol::of(label(node).terminal());
    }
    // The terminals of sequences, without their conditions and without what leaves of sets stand for; sorted, each once.
    std::vector<std::vector<Terminal>> terminals_of(std::span<const SequenceNode> nodes) const;
    // Of a condition: whether it holds with this LR state on top.
    bool holds(TrieSymbol condition, LrState top) const { return tops_.contains(condition.tops(), top); }
    std::span<const LrState> condition(SequenceNode node) const { return tops_.states(tops_of(node)); }
    std::size_t bytes() const { return parent_.size() * 32; }

private:
    // Sets of at most this many sequences are written out, so lexer states share the sequences that they have in common.
    static constexpr std::uint32_t kFew = 64;

    bool is_under_one(SequenceNode node) const { return node.index() < under_one_.size() && under_one_[node.index()]; }
    TopSet tops_of(SequenceNode node) const { return {tail_[node.index()]}; }
    SequenceNode add(SequenceNode parent, NodeLabel label, Word tail);
    TrieSet viable_part(TopSet top, TrieSet set);
    SequenceNode open(SequenceNode node, TrieSet set);

    Work& work_;
    TopStates tops_;
    Sets sets_;
    IdMap<SequenceNode, Terminal, Maybe<SequenceNode>> children_;
    IdMap<SequenceNode, TopSet, SequenceNode> conditions_;
    IdMap<SequenceNode, TrieSet, SequenceNode> open_;
    IdMap<TopSet, TrieSet, TrieSet> viable_parts_;
    std::vector<Maybe<Terminal>> first_;        // per node, as far as it was asked for: the first terminal of its sequence
    std::vector<std::vector<char>> followers_;  // per terminal, likewise: per terminal whether it may follow
    std::vector<Word> tail_;  // per node: the LR states that can be on top after it; of a leaf that stands for a set, that set
    std::vector<Maybe<SequenceNode>> parent_;
    std::vector<NodeLabel> label_;
    std::vector<char> under_one_;  // per node, as far as there are any: whether under() has made it
};

}  // namespace psc
