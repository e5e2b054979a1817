// Rule sets put into one, each as a named rule of the whole: words are copied, and only what refers to a rule is written anew.
//
// The rules of a part keep to themselves. They are called by the part's name, a point and their own name, and refer to each other as
// before. In the outer rules a reference to the part's name is a reference to the part's root:
//
//   outer  call ::= "<f>" f "</f>"      part f  root ::= "{" member "}"     joined  call ::= "<f>" f.root "</f>"
//                                               member ::= ...                      f.root ::= "{" f.member "}" ...
//
// Cost: linear in the words, 2 ns each, and in the names, half a microsecond each; no object for any part of an expression.
#pragma once

#include <span>
#include <string>

#include "rules/rule_programs.hpp"

namespace psc {

struct NamedRules {
    std::string name;
    const RulePrograms* rules;
};

// The outer rules with the parts; the root is the outer root. All of them are sound (RulePrograms::check), and no two parts have one
// name, nor has a defined outer rule. A rule that a part refers to and does not define is not defined in the whole.
RulePrograms joined_rules(const RulePrograms& outer, std::span<const NamedRules> parts);

}  // namespace psc
