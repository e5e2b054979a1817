// Sets of sequences of which none is a prefix of another, each stored once, with shared ends (a minimal acyclic automaton).
//
// A set is what may come first and, after each such symbol, a set again; equal sets have one id. So the 256 sequences of two
// symbols that alternate freely for eight steps are eight sets. A sequence that extends another one is dropped: users ask whether
// one of the sequences is possible, and the shorter one decides that.
//
// Example: {a b, a c, d} is {a -> {b -> one, c -> one}, d -> one}; united with {a} it is {a -> one, d -> one}.
//
// SequenceSets has symbols and sets as words; SetsOf is the same for one space of sets over one kind of symbols.
//
// Cost: unite() is a step for each first symbol of each set, and so on for what follows it; unions of lists are cached.
// Threads: one at a time may add; the edges of a published set can be read meanwhile without a lock.
// Tried and dropped: lists of sequences. They double with every terminal that may fail, so small grammars exceeded limits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/concurrent.hpp"
#include "base/ids.hpp"

namespace psc {

class SequenceSets {
public:
    static constexpr Word kNone = 0;  // no sequence
    static constexpr Word kOne = 1;   // the empty sequence alone

    SequenceSets();

    Word unite(std::span<const Word> sets);
    // The set of `symbol` followed by each sequence of `then`.
    Word before(Word symbol, Word then);
    // What may come first, and the set of what follows: (symbol, set), by symbol.
    std::span<const Word> edges(Word set) const { return set == kOne ? std::span<const Word>() : sets_[set]; }
    // The number of sequences, up to kMany.
    static constexpr std::uint32_t kMany = 1u << 30;
    std::uint32_t count(Word set) const { return counts_[set]; }
    Word size() const { return sets_.size(); }
    std::size_t bytes() const { return sets_.bytes() + lists_.bytes() + (united_.capacity() + counts_.capacity()) * sizeof(Word); }
    // `edges`: by symbol, no symbol twice; edges to kNone are dropped.
    Word intern(std::span<const Word> edges);

private:
    StableSequences sets_;
    SequenceInterner lists_;    // of sets that were united
    std::vector<Word> united_;  // per list
    std::size_t n_merged_ = 0;
    std::vector<std::uint32_t> counts_;
};

template <class Set, WordLike S>
class SetsOf {
public:
    struct Edge {  // what may come first, and the set of what follows
        S symbol;
        Set then;
        auto operator<=>(const Edge&) const = default;
    };
    static constexpr Set kNone{SequenceSets::kNone};
    static constexpr Set kOne{SequenceSets::kOne};

    Set unite(std::span<const Set> sets) { return {sets_.unite(words_of(sets))}; }
    Set unite(const std::vector<Set>& sets) { return unite(std::span<const Set>(sets)); }
    Set before(S symbol, Set then) { return {sets_.before(symbol.v, then.v)}; }
    std::span<const Edge> edges(Set set) const { return ids_of<Edge>(sets_.edges(set.v)); }
    std::uint32_t count(Set set) const { return sets_.count(set.v); }
    Word size() const { return sets_.size(); }
    std::size_t bytes() const { return sets_.bytes(); }
    Set intern(const std::vector<Edge>& edges) { return {sets_.intern(words_of(std::span<const Edge>(edges)))}; }

private:
    SequenceSets sets_;
};

}  // namespace psc
