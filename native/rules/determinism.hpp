// Whether an expression's automaton stays small when it is made deterministic.
//
// Every terminal becomes part of one deterministic automaton, and `[ab]*a[ab]{20}` alone has a million states there. An expression
// is safe when no state of its position automaton has two successors with a character in common: then that automaton is
// deterministic already. Where this fails, the check builds subsets up to a limit.
//
// Cost: the positions times the successors of each; for the second, states times distinct sets of characters.
// Threads: one at a time for each check.
// Source: V. Glushkov, "The Abstract Theory of Automata" (1961), for positions; A. Brueggemann-Klein, D. Wood, "One-Unambiguous
// Regular Languages" (1998).
// Tried and dropped: storage of its own for each expression. Most grammars have dozens of small ones, which now share one storage:
// fewer allocations for each request.
#pragma once

#include <memory>

#include "rules/expression_graph.hpp"

namespace psc {

// Checks one expression after the other in the same storage.
class DeterminismCheck {
public:
    // The graph, to which more may be added, must outlive this.
    explicit DeterminismCheck(const ExpressionGraph& graph);
    ~DeterminismCheck();

    // Whether the node, without references and with bounds worth unrolling, has a deterministic automaton of at most 1,000 states
    // or so.
    bool stays_small(Expression node);

private:
    const ExpressionGraph& graph_;
    struct Storage;
    std::unique_ptr<Storage> storage_;
};

// Whether the node is a sequence or a choice of literals: its automaton is a row or a tree of states.
bool is_plain(const ExpressionGraph& graph, Expression node);

}  // namespace psc
