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
#include <unordered_map>
#include <vector>

#include "ids.hpp"
#include "limits.hpp"

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
        Items items;
        Word priority;
    };

    // Keeps a name for a nonterminal made by named().
    void reserve(const std::string& name) { taken_.try_emplace(name, 0); }
    // A nonterminal of exactly this name.
    Nonterminal named(const std::string& name) {
        names_.push_back(name);
        reserve(name);
        return {static_cast<Word>(names_.size()) - 1};
    }
    // A nonterminal of this name, or where it is taken, of one made from it.
    Nonterminal named_like(const std::string& name) { return taken_.contains(name) ? fresh(name) : named(name); }
    // A nonterminal named after `name`: name_1, name_2, ...
    Nonterminal fresh(const std::string& name) {
        Word number = taken_[name];
        std::string made;
        do made = name + "_" + std::to_string(++number);
        while (taken_.contains(made));
        taken_[name] = number;
        return named(made);
    }
    const std::string& name(Nonterminal n) const { return names_[n.index()]; }
    Word size() const { return static_cast<Word>(names_.size()); }

    // Throws LimitExceeded for too many.
    void add(Nonterminal lhs, Items items, Word priority = 0) {
        if (rules_.size() >= kMaxProductions)
            throw LimitExceeded("the grammar needs more than 200,000 productions, the limit; make it smaller");
        rules_.push_back({lhs, std::move(items), priority});
    }
    // In the order in which they were made.
    const std::vector<Rule>& rules() const { return rules_; }

private:
    std::vector<std::string> names_;
    std::unordered_map<std::string, Word> taken_;  // per name the last number that was put behind it
    std::vector<Rule> rules_;
};

}  // namespace psc
