// Rules of arrays whose items must differ, cut for linked machines: which values came already is no matter of rules.
//
// The text of such an array is a part, and so is that of an item (linked/unique_items.hpp). What refers to one of them calls it:
//
//   before   value ::= A | "null"     A ::= "[" I ("," I)* "]"     I ::= string
//   frame    value ::= call(0) | "null"     part 0 ::= "[" call(1) ("," call(1))* "]"     part 1 ::= string
//
// Cost: a copy of the words for the frame, and for each part of those that it needs. Threads: a pure function.
#pragma once

#include "rules/rule_programs.hpp"

namespace psc {

struct CutUniqueRules {
    RulePrograms frame;
    std::vector<RulePrograms> arrays, items;  // called by the numbers from the first call on
    std::vector<Word> runs_out_at;            // per array, the least of its items, then per item; see UniqueRules
};

// `first_call`: how many parts other rules call.
CutUniqueRules cut_unique_rules(const RulePrograms& rules, Word first_call);

}  // namespace psc
