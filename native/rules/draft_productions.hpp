// Productions while a grammar is being made: nonterminals that are never empty, and items that may be left out.
//
// Terminals are numbers from 0, nonterminals the complements ~0, ~1, ..., so that both can still be added. A nonterminal stands for the
// nonempty texts of what it is made from; where that may be empty, the item that uses it is optional. So there are no empty
// productions to remove later, only optional items to expand.
//
// Cost: constant per production.
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

// A symbol of a right-hand side.
struct Item {
    DraftSymbol symbol;
    bool optional;
};
using Items = std::vector<Item>;

class DraftProductions {
public:
    static constexpr std::size_t kMaxProductions = 200'000;

    struct Rule {
        Nonterminal lhs;
        std::span<const Item> items;  // until the next add()
        Word priority;
    };

    // Keeps a name for a nonterminal made by named().
    void reserve(std::string_view name) { taken_.add(name, 0); }
    // A nonterminal of exactly this name.
    Nonterminal named(std::string_view name) {
        names_.push_back(taken_.add(name, 0));
        return {static_cast<Word>(names_.size()) - 1};
    }
    // A nonterminal of this name, or where it is taken, of one made from it.
    Nonterminal named_like(std::string_view name) { return taken_.contains(name) ? fresh(name) : named(name); }
    // A nonterminal named after `name`: name_1, name_2, ...
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
    // Until the next one is named.
    std::string_view name(Nonterminal n) const { return taken_[names_[n.index()]]; }
    Word size() const { return static_cast<Word>(names_.size()); }

    // Throws LimitExceeded for too many.
    void add(Nonterminal lhs, std::span<const Item> items, Word priority = 0) {
        if (rules_.size() >= kMaxProductions)
            throw LimitExceeded("the grammar needs more than 200,000 productions, the limit; make it smaller");
        items_.insert(items_.end(), items.begin(), items.end());
        rules_.push_back({lhs, items_.size(), priority});
    }
    // In the order in which they were made.
    std::size_t n_rules() const { return rules_.size(); }
    Rule rule(std::size_t i) const {
        const std::size_t begin = i > 0 ? rules_[i - 1].end : 0;
        return {rules_[i].lhs, std::span(items_).subspan(begin, rules_[i].end - begin), rules_[i].priority};
    }
    // Of all rules.
    std::span<const Item> items() const { return items_; }

private:
    std::vector<Word> names_;  // per nonterminal, in the table
    NameTable taken_;
    struct Kept {
        Nonterminal lhs;
        std::size_t end;  // in the items of all
        Word priority;
    };
    std::vector<Kept> rules_;
    std::vector<Item> items_;
};

}  // namespace psc
