// What came already in an array of strings, numbers, true, false and null that must differ (`uniqueItems`): a register beside the
// stacks of a text.
//
// The text of such an array is a part, and so is that of each item (rules/unique_rules.hpp). The position in the array has the values of
// its earlier items: "a" and "\u0061" are one, and so are 1 and 1.0. The position in an item has the value as far as it was read. An item
// that ends joins the values, unless it is there already: then that way leads nowhere. Nor does a beginning that only values which are
// there can end, as `"ab` where `maxLength` is 2 and "ab" came.
//
// Registers are immutable and shared: by forks, and by the stages that rollback() goes back to.
//
// Example: after `["a","ab` the array has {a} and the item ab. The tokens `"` and `c"` go on, and after `["a","a` the token `"` does not.
//
// A mask is that of the same place in an array of which nothing is known, whose rows are cached, without the few tokens that repeat a
// value. Only these tokens can: those that spell the rest of an earlier value, of which UniqueWalk finds the vocabulary's, and those
// with a whole item after another one, as `","a","`, which RepeatingTokens has.
//
// Cost: adding a value copies a pointer for each earlier one. A walk visits the beginnings of tokens that spell an earlier value on.
// Threads: immutable.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linked/scalar_decoder.hpp"
#include "vocabulary/index.hpp"

namespace psc {

// Distinct values.
class UniqueValues {
public:
    using Value = ScalarDecoder::Units;
    struct Range {
        std::size_t first, last;  // positions in their order
        bool empty() const { return first == last; }
    };

    // With one more, which is none of them, of an item that has ended. `before`: null stands for no value.
    UniqueValues(std::shared_ptr<const UniqueValues> before, Value value);
    ~UniqueValues();

    std::size_t size() const { return sorted_.size(); }
    Range all() const { return {0, sorted_.size()}; }
    // Those of a range, which begin alike, whose unit at `depth` is this one.
    Range narrowed(Range range, std::size_t depth, char16_t unit) const;
    // Those that begin so.
    Range beginning(const Value& value) const;
    bool contains(const Value& value) const { return has_end(beginning(value), value.size()); }
    // Whether one of a range, which agree in so many units, has no more.
    bool has_end(Range range, std::size_t depth) const { return !range.empty() && sorted_[range.first]->size() == depth; }
    bool operator==(const UniqueValues& other) const;

private:
    std::shared_ptr<const UniqueValues> before_;
    Value last_;
    std::vector<const Value*> sorted_;  // theirs and its own
};

// What a position knows.
struct UniqueState {
    std::shared_ptr<const UniqueValues> values;  // of an array, those of the items before; null: none
    bool is_item = false;
    ScalarDecoder decoder;      // of an item
    UniqueValues::Value value;  // likewise

    void read(std::span<const std::uint8_t> bytes);
    // The value, if the item ends here.
    UniqueValues::Value ended_value() const;
};

// Tokens with a whole item, or the beginning of one, after another item within them.
class RepeatingTokens {
public:
    RepeatingTokens(const VocabularyIndex& index, bool only_strings);
    std::span<const TokenId> tokens() const { return tokens_; }

private:
    std::vector<TokenId> tokens_;
};

// Finds the tokens that may repeat one of some values, from a position on; what else is wrong with a token is not asked.
class UniqueWalk {
public:
    static constexpr Word kNever = std::numeric_limits<Word>::max();
    // `values`: of the items before; null: none. `item`: of a position within one that has not ended, else null. `runs_out_at`: of how
    // many characters beginnings of items count, too.
    UniqueWalk(const VocabularyIndex& index, const UniqueValues* values, const UniqueState* item, Word runs_out_at);
    // Appends those that have the value within the first item that they end.
    void add_tokens(std::vector<TokenId>& out) const;
    // Whether a token in which an item ends repeats a value, of those before or of its own.
    bool may_repeat(std::span<const std::uint8_t> token) const;

private:
    // Where a token's bytes lead: between items, or in one.
    struct Place {
        bool in_item = false;
        ScalarDecoder decoder;
        UniqueValues::Range range{};  // of the values that begin like the item
        std::size_t depth = 0;        // units of it
    };
    enum class Outcome { off, on, hit };
    // Whether the item may be one of those that have few ends.
    bool may_run_out(const ScalarDecoder& decoder, std::size_t n_units) const {
        return !decoder.is_string() || decoder.characters(n_units) >= runs_out_at_;
    }
    Outcome step(Place& place, std::uint8_t byte) const;
    void narrow(Place& place, std::u16string_view units) const;

    const VocabularyIndex& index_;
    const UniqueValues* values_;
    const UniqueState* item_;
    Place first_;  // what tokens begin at
    std::size_t runs_out_at_;
};

}  // namespace psc
