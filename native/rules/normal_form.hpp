// A grammar without empty productions, unit cycles, and useless symbols, so that a generalized LR parser always ends.
//
// In this order: right-hand sides are expanded over their optional symbols (long ones are cut in two, `A : X Y Z R` and `R : ...`,
// so that expansion stays linear); nonterminals that derive nothing are removed, then those that the start does not reach;
// nonterminals that derive each other (`a : b`, `b : a`) become one; duplicates are removed. Only a start symbol of its own may be
// empty: `S' : S` and `S' :`.
//
// Example: `A : x? y` becomes `A : x y` and `A : y`.
//
// Cost: linear in the size of the grammar. Threads: a pure function, but for the draft, which it extends.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lr/lalr.hpp"
#include "rules/draft_productions.hpp"

namespace psc {

struct NormalForm {
    Productions grammar;                  // its terminals are those that the draft uses, and the end
    std::vector<Nonterminal> draft;       // per nonterminal of `grammar`, its number in the draft
    std::vector<Nonterminal> unfinished;  // of the draft, those that derive nothing, not even the empty text; ascending
    // Where the start derives nothing: nonterminals of the draft, each needed by all derivations of the one before, until one
    // repeats or one has no production. All else is empty then.
    struct Dead {
        std::vector<Nonterminal> way;
        std::optional<std::size_t> circle;  // the index in the way of the one that repeats
    };
    std::optional<Dead> dead;
};

// The normal form of productions, to which it adds some. A right-hand side of optional symbols alone does not derive the empty
// text; `may_be_empty`: the start does.
NormalForm normal_form(DraftProductions& productions, Word n_terminals, Nonterminal start, bool may_be_empty);

// A draft of a grammar whose productions may be empty, with the same nonterminals; second: whether the start may be empty.
std::pair<DraftProductions, bool> draft_of(const Productions& grammar, const std::vector<std::string>& nonterminals);

}  // namespace psc
