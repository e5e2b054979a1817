// Unions of sets of token classes, and the bits of their tokens.
//
// The classes of an artifact are a partition of its tokens: a vocabulary of 150,000 has some 4,000 classes, and twenty of them hold nine
// tokens in ten. So sets are first united as classes, one bit each, in half a kilobyte. The bits of the tokens are then made from those
// of another union with mostly the same classes: the tokens of each class that is in only one of the two are flipped.
//
// Example: from {a, b, c} to {a, c, d} the tokens of b and d change; those of a and c do not.
//
// Cost: unite() takes a nanosecond for one or two words. flip() takes a pass over vocab_size / 32 words for each large class, whose
// tokens are stored as bits, and one or two nanoseconds for each other token and class.
// Memory: vocab_size / 8 bytes for each large class, and at most twice the lists of the sets. Threads: immutable once made.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/grouped.hpp"
#include "tables/tables.hpp"

namespace psc {

class ClassRows {
public:
    // Classes as bits: class c is there when bit c % 64 of word c / 64 is set. The stop tokens are one more class behind the others.
    using Classes = std::span<std::uint64_t>;
    using ConstClasses = std::span<const std::uint64_t>;

    // Of checked tables.
    ClassRows(const TokenTables& tokens, const ClassifierTables& sets, const GivenTokens& given);

    std::size_t n_class_words() const { return n_class_words_; }
    // Adds the classes of a set.
    void unite(ClassSet set, Classes classes) const;
    // No class; and every class but the stop tokens, with the bits of their tokens.
    ConstClasses no_classes() const { return no_classes_; }
    ConstClasses all_classes() const { return all_classes_; }
    const std::uint32_t* all_tokens() const { return all_tokens_.get(); }
    std::size_t n_tokens() const { return members_.values().size(); }

    // About what flip() would cost, in small classes; of one union, from no class.
    std::size_t distance(ConstClasses a, ConstClasses b) const;
    std::size_t weight(ConstClasses classes) const { return distance(classes, no_classes_); }
    // Makes the bits of the tokens of `before`, stop tokens aside, those of `after`. The number of tokens: `n_tokens` before.
    std::size_t flip(ConstClasses before, ConstClasses after, std::size_t n_tokens, std::uint32_t* words) const;
    // Sets or clears the bits of the stop tokens, which may be text as well. The number of those that no class has.
    std::size_t put_stops(ConstClasses classes, std::uint32_t* words) const;

private:
    using Words = std::unique_ptr<std::uint32_t[]>;
    struct Large {
        Word token_class;
        std::size_t n_tokens;
        Words tokens;
    };
    struct Stop {
        TokenId token;
        Maybe<TokenClass> token_class;
    };
    static bool has(ConstClasses classes, Word c) { return classes[c / 64] >> c % 64 & 1; }
    static void add(Classes classes, Word c) { classes[c / 64] |= std::uint64_t{1} << c % 64; }
    std::span<const TokenId> members(Word c) const { return members_[static_cast<std::size_t>(c)]; }

    const ClassifierTables& sets_;
    std::size_t n_words_;
    Word n_classes_;  // without the stop tokens
    std::size_t n_class_words_;
    Grouped<TokenId> members_;  // per class
    std::vector<Stop> stops_;
    std::vector<Large> large_;
    std::vector<std::uint64_t> small_, all_classes_, no_classes_;
    Words all_tokens_;
    // Of sets with many classes, these as bits.
    std::vector<Word> many_;  // per set, where in `many_classes_`; -1: in the table
    std::vector<std::uint64_t> many_classes_;
};

}  // namespace psc
