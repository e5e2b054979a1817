// Rules of expressions to terminals and productions.
//
// What is regular becomes a terminal, as large as is good: a named rule that is not recursive and not long is one, as is what is
// written in place without naming a rule; so a JSON string, a number and white space are one terminal each. A terminal never matches
// the empty text: where its expression may, it is an optional item. What counts high, or has an automaton that grows when it is made
// deterministic, is left to productions; so is every recursion, but one that only repeats (`ws ::= [ ] ws | ""`) is a repetition.
//
//   rules/rule_programs.hpp       what front ends hand over
//   rules/expression_graph.hpp    expressions, simplified as they are made
//   rules/grammar_analysis.hpp    which rules are terminals, which may be empty
//   rules/lowering.hpp            productions of all others
//   rules/repetition.hpp          counted repetition and lists
//   rules/normal_form.hpp         optional items, useless symbols, cycles
//
// Cost: linear in the grammar, for JSON a tenth of a millisecond.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lr/free_order_states.hpp"
#include "lr/lalr.hpp"
#include "rules/grammar_analysis.hpp"
#include "rules/rule_programs.hpp"
#include "rules/terminal_programs.hpp"

namespace psc {

// A terminal, in the order in which they were made.
struct LoweredTerminal {
    Expression expression;
    std::optional<Rule> named;  // the rule that it is named after; else it is written in a rule
    Rule written_in;
    std::optional<Terminal> number;  // none: productions that are of use do not have it
};

// Why rules are no grammar: a rule that is needed is not defined, or the root derives no text.
struct Refusal {
    std::string undefined;              // the name, or empty
    std::vector<std::string> way;       // nonterminals from the root, each needed by all that the one before can derive
    std::optional<std::size_t> circle;  // where in the way the one begins that comes again
};

struct LoweredRules {
    std::optional<Refusal> refusal;  // nothing else is filled in then but the graph
    std::vector<LoweredTerminal> terminals;
    ExpressionGraph graph;  // of the terminals' expressions
    Productions productions;
    TextList nonterminals;
    TextList rules;                           // by number: those that were handed over, and those cut out of them
    std::vector<LabelledAutomaton> labelled;  // as they were handed over
    struct Label {
        std::size_t automaton;
        Rule rule;  // of that automaton
    };
    std::vector<std::optional<Label>> labels;  // per terminal, where it is a rule of such an automaton
    std::vector<FreeOrderSymbols> free_orders;
    std::vector<Rule> left_out;  // rules that derive nothing, not even the empty text

    // The terminals that are used, in the order of their numbers.
    TerminalPrograms programs() const;
};

// The grammar of rules, in normal form. Throws LimitExceeded.
LoweredRules lower(const RulePrograms& rules, const TerminalLimits& limits);

// Its LALR(1) tables with every action kept, and what there is in any order. Throws LimitExceeded.
LalrTables lalr_tables_of(const LoweredRules& lowered);

}  // namespace psc
