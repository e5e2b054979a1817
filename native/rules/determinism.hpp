// Whether an expression's automaton stays small when it is made deterministic.
//
// Every terminal becomes part of one deterministic automaton, and `[ab]*a[ab]{20}` alone has a million states there. An expression
// is safe when no state of its position automaton (Glushkov 1961; Brueggemann-Klein and Wood's one-unambiguity, 1998) has two
// successors with a character in common: then the automaton is deterministic already. Where that fails, subsets are built up to a
// limit.
//
// Cost: the positions times the successors of each; for the second, states times distinct sets of characters.
#pragma once

#include <memory>

#include "rules/expression_graph.hpp"

namespace psc {

// Looks at one expression after the other, in the same storage: most grammars have dozens of small ones.
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

// Literals in a row or side by side: a row of states, or a tree of them.
bool is_plain(const ExpressionGraph& graph, Expression node);

}  // namespace psc
