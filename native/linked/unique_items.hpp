// What came already in an array of strings that must differ (`uniqueItems`): a register beside the stacks of a text.
//
// The text of such an array is a part, and so is that of each item (rules/unique_rules.hpp). The position in the array has the values of
// its earlier items, decoded: "a" and "\u0061" are one. The position in an item has the value as far as it was read. An item that ends
// joins the values, unless it is there already: then that way leads nowhere. Nor does a beginning that only values which are there can
// end, as `"ab` where `maxLength` is 2 and "ab" came.
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
#include <vector>

#include "vocabulary/index.hpp"

namespace psc {

// Distinct values, in UTF-16.
class UniqueValues {
public:
    using Value = std::u16string;
    struct Range {
        std::size_t first, last;  // positions in their order
        bool empty() const { return first == last; }
    };

    // With one more, which is none of them. `before`: null stands for no value.
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

// Reads a JSON string byte by byte. The text is one: others have checked that.
class JsonStringDecoder {
public:
    struct Units {
        std::uint8_t n = 0;
        char16_t unit[2] = {};
    };
    // The units that the byte completes.
    Units read(std::uint8_t byte);
    bool has_ended() const { return state_ == State::ended; }
    // Whether a character has begun and not ended.
    bool is_within() const { return left_ > 0 || state_ == State::escape; }
    // Characters, if the one that has begun is one, of a text that has come to so many units; at least as many as there are.
    std::size_t characters(std::size_t n_units) const { return n_units + is_within(); }
    auto operator<=>(const JsonStringDecoder&) const = default;

private:
    enum class State : std::uint8_t { before, inside, escape, ended };
    State state_ = State::before;
    bool is_hex_ = false;
    std::uint8_t left_ = 0;  // bytes of the character, or digits
    std::uint32_t character_ = 0;
};

// What a position knows.
struct UniqueState {
    std::shared_ptr<const UniqueValues> values;  // of an array, those of the items before; null: none
    bool is_item = false;
    JsonStringDecoder decoder;  // of an item
    UniqueValues::Value value;  // likewise

    void read(std::span<const std::uint8_t> bytes);
};

// Tokens with a whole item, or the beginning of one, after another item within them.
class RepeatingTokens {
public:
    explicit RepeatingTokens(const VocabularyIndex& index);
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
    // Whether a token repeats a value, of those before or of its own.
    bool may_repeat(std::span<const std::uint8_t> token) const;

private:
    struct Place;
    enum class Outcome { off, on, hit };
    Outcome step(Place& place, std::uint8_t byte) const;

    const VocabularyIndex& index_;
    const UniqueValues* values_;
    const UniqueState* item_;
    std::size_t runs_out_at_;
};

}  // namespace psc
