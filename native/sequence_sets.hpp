// Sets of sequences of which none is a prefix of another, each stored once, with the ends that they share (a minimal acyclic automaton).
//
// A set is what may come first and, after each such symbol, a set again; equal sets have one id. So the sequences that two symbols
// may alternate in for eight steps, 256 of them, are eight sets. A sequence that extends another is dropped: whoever asks whether
// one of the sequences is possible needs the shorter only.
//
// Example: {a b, a c, d} is {a -> {b -> one, c -> one}, d -> one}; united with {a} it is {a -> one, d -> one}.
//
// One thread at a time may add; the edges of a set that is known can be read meanwhile without a lock.
//
// Cost: unite() is a step for each first symbol of each set, and so on for what follows it; lists that were united are remembered.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "concurrent.hpp"
#include "intern.hpp"

namespace psc {

class SequenceSets {
public:
    static constexpr Word kNone = 0;  // no sequence
    static constexpr Word kOne = 1;   // the empty sequence alone

    SequenceSets();

    Word unite(std::vector<Word> sets);
    // The set of `symbol` followed by each sequence of `then`.
    Word before(Word symbol, Word then);
    // What may come first, and the set of what follows: (symbol, set), by symbol.
    std::span<const Word> edges(Word set) const { return set == kOne ? std::span<const Word>() : sets_[set]; }
    // How many sequences; not more than kMany.
    static constexpr std::uint32_t kMany = 1u << 30;
    std::uint32_t count(Word set) const { return counts_[set]; }
    Word size() const { return sets_.size(); }
    // By symbol, no symbol twice; sets that are none may be among them.
    Word intern(std::span<const Word> edges);

private:
    StableSequences sets_;
    SequenceInterner lists_;    // of sets that were united
    std::vector<Word> united_;  // per list
    std::size_t n_merged_ = 0;
    std::vector<std::uint32_t> counts_;
};

}  // namespace psc
