// What lowering needs to know of rules: which of them can be terminals, and which rules and expressions may be empty.
//
// Rules are visited in the order in which they refer to each other (strongly connected components, callees first), so everything
// that a rule refers to is decided before the rule. Only rules that the root needs are visited. Deeply nested expressions are cut
// into rules, which bounds recursion over them.
//
// Cost: linear in the grammar, but for nullability within mutually recursive rules, which is iterated. Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"
#include "base/limits.hpp"
#include "rules/determinism.hpp"
#include "rules/expression_graph.hpp"
#include "rules/rule_programs.hpp"

namespace psc {

// How large a terminal may be; what is larger is made of several, and counts are left to the parser.
struct TerminalLimits {
    std::int64_t size;              // characters and classes in its expression, with counted repetitions written out
    std::int64_t named_size;        // the same for a rule that refers to others
    std::int64_t around_free_text;  // how much a rule may add to a rule of free text that it refers to, and still be one terminal
    std::int64_t literals;          // characters, of literals side by side
    std::int64_t counted;           // the size of one counted repetition, written out
};

class GrammarAnalysis {
public:
    static constexpr std::int64_t kMaxAutomatonArcs = limit("automaton_arcs");  // of an automaton that is a terminal

    // Throws LimitExceeded. Where a needed rule is not defined, undefined() returns it and all else is empty.
    GrammarAnalysis(const RulePrograms& programs, const TerminalLimits& limits);

    ExpressionGraph graph;

    std::optional<Rule> undefined() const { return undefined_; }
    const TerminalLimits& limits() const { return limits_; }
    // The rules that the root needs, those cut out of others among them.
    const std::vector<Rule>& rules() const { return rules_; }
    const TextList& names() const { return names_; }
    std::string_view name(Rule rule) const { return names_[rule.index()]; }
    Expression body(Rule rule) const { return *bodies_[rule.index()]; }
    // For a rule that is a terminal, is empty or matches nothing: its node without references.
    Maybe<Expression> inlined(Rule rule) const { return inlined_[rule.index()]; }
    // The same for any rule; none for a rule that the root does not need.
    Maybe<Expression> inlined_if_needed(Rule rule) const {
        return bodies_[rule.index()] ? inlined_[rule.index()] : Maybe<Expression>();
    }
    // Whether the node matches the empty text.
    bool nullable(Expression node);
    // Whether the node is to be one terminal: nothing in it is a rule, and its automaton is of limited size.
    bool is_terminal(Expression node) { return is_terminal(node, 0); }

private:
    void add_rules();
    Expression read(Rule rule);
    Expression cut(Rule rule, Expression node);
    void decide();
    void make_inline(Rule rule);
    std::optional<Expression> expanded(Expression node);
    bool is_terminal(Expression node, std::size_t limit);
    bool fits(Expression node, std::int64_t limit);

    const RulePrograms& programs_;
    TerminalLimits limits_;
    TextList names_;
    std::optional<NameTable> taken_;          // the names, once one was made
    std::vector<Word> cuts_;                  // per rule, how many were cut out of it
    std::vector<Maybe<Expression>> bodies_;   // per rule
    std::vector<Maybe<Expression>> inlined_;  // per rule
    std::vector<char> empty_rules_;           // per rule, whether it may be empty
    std::vector<char> stays_;                 // per rule, whether it is never a terminal
    std::vector<char> alone_;                 // per rule, whether it is a terminal that is no part of another
    std::vector<Rule> rules_, to_read_;
    std::vector<Expression> stack_;  // of read(), as are the words
    std::vector<Word> words_;
    std::optional<Rule> undefined_;
    enum class Answer : signed char { no, yes, unknown };
    DeterminismCheck determinism_{graph};
    std::vector<Answer> terminal_[2];  // per node, for each limit
    // Per node: 0 if nullable() was not computed, kNullable, or the number of empty rules for which it was false.
    static constexpr Word kNullable = -1;
    std::vector<Word> nullable_;
    Word n_empty_ = 1;
    // The cached results of expanded(), by node.
    std::unordered_map<Word, std::optional<Expression>> expanded_;
    std::size_t n_expanded_ = 0;
};

}  // namespace psc
