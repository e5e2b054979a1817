// Unions of sets of token classes, as mask rows.
//
// The classes of an artifact are a partition of its tokens: of a vocabulary of 150,000 some 4,000 classes, twenty of which hold nine
// tokens in ten. So sets are first united as classes, which says nothing twice. Then the large classes, whose tokens are kept as bits,
// are merged, and the tokens of the small ones, which lie one after the other, are set one by one. What is nearly everything begins
// with everything, and loses what it lacks.
//
// Cost: a pass over vocab_size / 32 words for each large class in the union, or for each that is not, and a nanosecond or two for each
// other token and class: some microseconds. Memory: vocab_size / 8 bytes for each large class.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tables.hpp"

namespace psc {

class ClassRows {
public:
    // Of checked tables. The stop tokens are one more class behind the others; they may be text as well.
    ClassRows(const TokenTables& tokens, const ClassifierTables& sets, const GivenTokens& given);

    // Sets the bits of the tokens of these sets in `words`, which are zero. Not for several threads at once.
    void unite(std::span<const ClassSet> sets, std::uint32_t* words);

private:
    using Words = std::unique_ptr<std::uint32_t[]>;
    struct Large {
        Word token_class;
        Words tokens;
    };
    std::span<const TokenId> members(Word c) const {
        return {members_.data() + offsets_[c], static_cast<std::size_t>(offsets_[c + 1] - offsets_[c])};
    }

    const ClassifierTables& sets_;
    std::size_t n_words_;
    Word n_classes_;             // without the stop tokens
    std::vector<Word> offsets_;  // of `members_`, per class
    std::vector<TokenId> members_;
    std::vector<Large> large_;
    Words all_large_, all_small_;       // all tokens of the one and of the other
    std::vector<std::uint64_t> small_;  // which classes, as bits
    std::size_t n_small_tokens_ = 0;
    std::vector<std::uint64_t> wanted_;  // scratch: classes, as bits
};

}  // namespace psc
