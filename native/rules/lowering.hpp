// Rules of expressions to terminals and productions.
//
// What is regular becomes a terminal, as large as is useful: a named rule that is not recursive and not long is one, and so is what
// a rule writes out without naming a rule. So a JSON string, a number and white space are one terminal each. A terminal never
// matches the empty text: where its expression may, it is an optional symbol. High counts, and expressions whose automata grow when
// they are made deterministic, are left to productions. So is every recursion, but one that only repeats (`ws ::= [ ] ws | ""`) is
// a repetition.
//
// The passes, in order:
//   rules/rule_programs.hpp       the input, from front ends
//   rules/expression_graph.hpp    expressions, simplified as they are made
//   rules/grammar_analysis.hpp    which rules are terminals, which may be empty
//   rules/lowering.hpp            productions of all others
//   rules/repetition.hpp          counted repetition and lists
//   rules/normal_form.hpp         optional symbols, useless symbols, cycles
//
// Cost: linear in the grammar, for JSON a tenth of a millisecond. Threads: a pure function.
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

// A terminal; they are in the order of their making.
struct LoweredTerminal {
    Expression expression;
    std::optional<Rule> named;  // the rule that it is named after; none: it is written out in a rule
    Rule written_in;
    std::optional<Terminal> number;  // none: no useful production has it
};

// Why rules are no grammar: a rule that is needed is not defined, or the root derives no text.
struct Refusal {
    std::string undefined;              // the name, or empty
    std::vector<std::string> way;       // nonterminals from the root, each needed by all derivations of the one before
    std::optional<std::size_t> circle;  // the index in the way of the one that repeats
};

struct LoweredRules {
    std::optional<Refusal> refusal;  // all else but the graph is empty then
    std::vector<LoweredTerminal> terminals;
    ExpressionGraph graph;  // of the terminals' expressions
    Productions productions;
    TextList nonterminals;
    TextList rules;                           // by number: those of the input, then those cut out of them
    std::vector<LabelledAutomaton> labelled;  // those of the input
    struct Label {
        std::size_t automaton;
        Rule rule;  // of that automaton
    };
    std::vector<std::optional<Label>> labels;  // per terminal, if it is a rule of such an automaton
    std::vector<FreeOrderSymbols> free_orders;
    std::vector<Rule> left_out;  // rules that derive nothing, not even the empty text

    // The terminals that are used, in the order of their numbers.
    TerminalPrograms programs() const;
};

// The grammar of rules, in normal form. Throws LimitExceeded.
LoweredRules lower(const RulePrograms& rules, const TerminalLimits& limits);

// Its LALR(1) tables with every action, and its members in any order. Throws LimitExceeded.
LalrTables lalr_tables_of(const LoweredRules& lowered);

}  // namespace psc
