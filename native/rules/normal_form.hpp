// A grammar without empty productions, unit cycles, and symbols that are of no use, so that a generalized LR parser always ends.
//
// In this order: right-hand sides are expanded over the items that may be left out (long ones are cut in two, `A : X Y Z R` and
// `R : ...`, so that expansion stays linear); nonterminals that derive nothing are removed, then those that the start does not reach;
// nonterminals that derive each other (`a : b`, `b : a`) become one; duplicates go. Only a start symbol of its own may be empty:
// `S' : S` and `S' :`.
//
// Cost: linear in the size of the grammar.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lr/lalr.hpp"
#include "rules/draft_productions.hpp"

namespace psc {

struct NormalForm {
    Productions grammar;                  // its terminals are those that the draft uses, and the end
    std::vector<Nonterminal> draft;       // per nonterminal of `grammar`, what it was in the draft
    std::vector<Nonterminal> unfinished;  // of the draft, those that derive nothing, not even the empty text; ascending
    // Where the start derives nothing: nonterminals of the draft, each needed by all that the one before can derive, until one comes
    // again or one has no production at all. The rest is not filled in then.
    struct Dead {
        std::vector<Nonterminal> way;
        std::optional<std::size_t> circle;  // where in the way the one begins that comes again
    };
    std::optional<Dead> dead;
};

// The normal form of productions, which are added to on the way. Right-hand sides of optional items only do not mean the empty text;
// `may_be_empty`: the start also derives that.
NormalForm normal_form(DraftProductions& productions, Word n_terminals, Nonterminal start, bool may_be_empty);

// A draft of productions that may be empty. Its nonterminals are those of the grammar; second is whether the start may be empty.
std::pair<DraftProductions, bool> draft_of(const Productions& grammar, const std::vector<std::string>& nonterminals);

}  // namespace psc
