// Rules that only repeat, written as recursion: `ws ::= [ ] ws | ""` is `[ ]*`.
//
// A rule whose own name stands only at the end or at the beginning of alternatives, `X : A X | X C | B`, derives `A* B C*` (what A,
// B and C derive may depend on X through other rules). As repetition it can be part of a terminal. Recursion at the end, for which
// an LR parser needs an unbounded stack, becomes a list, for which it needs none.
//
// Cost: linear in the rule. Threads: one at a time for each graph.
// Source: D. Arden, "Delayed-logic and finite-state machines" (1961).
#pragma once

#include <optional>

#include "rules/expression_graph.hpp"

namespace psc {

enum class Recursion { at_the_end, at_either_end };

// The body as repetition. None where the rule recurses in a way that `recursion` does not allow, or has no alternative without
// itself. With `at_the_end` it may recurse at the beginning of alternatives too, but not only there.
std::optional<Expression> without_self_reference(ExpressionGraph& graph, Rule rule, Expression body, Recursion recursion);

}  // namespace psc
