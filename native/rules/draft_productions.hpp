// Productions while a grammar is being made: nonterminals that are never empty, and symbols that may be left out.
//
// Terminals are numbers from 0, nonterminals the complements ~0, ~1, ..., so that both can still be added. A nonterminal stands for
// the nonempty texts of what it is made from; where that may be empty, its uses are optional symbols. So there are no empty
// productions to remove later, only optional symbols to expand.
//
// Example: `list: item*` is the nonterminal list with `list: item` and `list: list item`, used as an optional symbol.
//
// Cost: constant per production; right-hand sides lie one after the other in one array. Threads: one at a time.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/limits.hpp"
#include "base/text_list.hpp"

namespace psc {

struct DraftSymbol {
    Word v;

    auto operator<=>(const DraftSymbol&) const = default;
    static constexpr DraftSymbol of(Terminal t) { return {t.v}; }
    static constexpr DraftSymbol of(Nonterminal n) { return {~n.v}; }
    constexpr bool is_terminal() const { return v >= 0; }
    constexpr Terminal terminal() const { return {v}; }
    constexpr Nonterminal nonterminal() const { return {~v}; }
};

// A symbol of a right-hand side, which may be left out where it is optional.
struct OptionalSymbol {
    DraftSymbol symbol;
    bool optional;
};
using OptionalSymbols = std::vector<OptionalSymbol>;

class DraftProductions {
public:
    static constexpr std::size_t kMaxProductions = limit("productions");

    struct Rule {
        Nonterminal lhs;
        std::span<const OptionalSymbol> symbols;  // valid until the next add()
        Word priority;
    };

    // Reserves a name for a later named().
    void reserve(std::string_view name) { taken_.add(name, 0); }
    // A new nonterminal of exactly this name.
    Nonterminal named(std::string_view name) {
        names_.push_back(taken_.add(name, 0));
        return {static_cast<Word>(names_.size()) - 1};
    }
    // A new nonterminal of this name, or of one derived from it where the name is taken.
    Nonterminal named_like(std::string_view name) { return taken_.contains(name) ? fresh(name) : named(name); }
    // A new nonterminal named after `name`: name_1, name_2, ...
    Nonterminal fresh(std::string_view name) {
        const Word from = taken_.add(name, 0);
        Word number = taken_.last(from);
        const std::string prefix = std::string(taken_[from]) + "_";
        std::string made;
        do made = prefix + std::to_string(++number);
        while (taken_.contains(made));
        taken_.last(from) = number;
        return named(made);
    }
    // Valid until the next one is named.
    std::string_view name(Nonterminal n) const { return taken_[names_[n.index()]]; }
    Word size() const { return static_cast<Word>(names_.size()); }

    // Throws LimitExceeded beyond kMaxProductions.
    void add(Nonterminal lhs, std::span<const OptionalSymbol> symbols, Word priority = 0) {
        if (rules_.size() >= kMaxProductions)
            throw LimitExceeded("the grammar needs more than " + readable(kMaxProductions) +
                                " productions, the limit; make it smaller");
        symbols_.insert(symbols_.end(), symbols.begin(), symbols.end());
        rules_.push_back({lhs, symbols_.size(), priority});
    }
    // The number of productions, which are in the order of their making.
    std::size_t n_rules() const { return rules_.size(); }
    Rule rule(std::size_t i) const {
        const std::size_t begin = i > 0 ? rules_[i - 1].end : 0;
        return {rules_[i].lhs, std::span(symbols_).subspan(begin, rules_[i].end - begin), rules_[i].priority};
    }
    // The symbols of all right-hand sides.
    std::span<const OptionalSymbol> symbols() const { return symbols_; }

private:
    std::vector<Word> names_;  // per nonterminal, in the table
    NameTable taken_;
    struct Stored {
        Nonterminal lhs;
        std::size_t end;  // in the symbols of all
        Word priority;
    };
    std::vector<Stored> rules_;
    std::vector<OptionalSymbol> symbols_;
};

}  // namespace psc
