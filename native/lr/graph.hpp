// One lookahead over a graph of stacks (Tomita 1985): every reduction under it, along every path, until none is new; then the
// shifts.
//
// Two machines use it: the matcher where the text is ambiguous, which has its stacks whole (matcher/graph.cpp), and the classifier
// where LR cells hold several actions, which has their upper part (classifier/classifier_graph.cpp). They differ in what lies under
// an LR state, and in what happens at the end of the known part. A `Graph` provides
//
//     Below                            what an LR state lies on: a node, or the end of the known part
//     key(below)                       the same as a number, which is not FlatSet::kFree
//     state(below)                     the LR state of a node
//     is_covered(state, below)         whether all that comes of the edge comes of one that was asked about before
//     node(state, below)               a node for a state on which an empty production is reduced
//     each_after(below, pops, lhs, f)  f(node) for each node left when `pops` symbols are popped; `below` itself for 0
//     kMaxEdges                        of one search
//
// Both have simpler ways for simpler cases. The matcher's single stack (Matcher::shift) needs no set of visited edges, and holds
// the state that a reduction ends in aside until it stays, which is most of what the common step saves. The classifier reads the
// known part state by state, unless empty reductions may form a cycle.
//
// Cost: for each lookahead, LR states x nodes x the length of right-hand sides at most; following stacks one by one would be
// exponential in their number. Threads: one at a time for each graph.
// Source: M. Tomita, "Efficient Parsing for Natural Language" (1985).
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/flat_set.hpp"
#include "base/errors.hpp"
#include "base/work.hpp"
#include "lr/tables.hpp"

namespace psc {

template <class Below>
struct LrEdge {
    LrState state;
    Below below;
};

template <class Below>
struct LrShift {
    LrState to;
    LrEdge<Below> from;
};

// The shifts under the lookahead, sorted by target and then by the state that they leave. `tops(add)` calls add(edge) for each edge
// at the top.
template <class Graph, class Tops, class Below = typename Graph::Below>
std::vector<LrShift<Below>> shifts_under(const LrTables& lr, Terminal lookahead, Tops tops, Graph& graph, Work& work) {
    FlatSet seen;
    std::vector<LrEdge<Below>> todo;
    std::vector<LrShift<Below>> shifts;
    const auto add = [&](LrEdge<Below> e) {
        work.spend();
        if (!seen.insert(static_cast<std::uint64_t>(e.state.v), graph.key(e.below))) return;
        work.spend(3);
        if (graph.is_covered(e.state, e.below)) return;
        if (seen.size() > Graph::kMaxEdges) throw LimitExceeded("stacks under one terminal", Graph::kMaxEdges);
        todo.push_back(e);
    };
    tops(add);
    while (!todo.empty()) {
        const LrEdge<Below> e = todo.back();
        todo.pop_back();
        for (Action action : lr.cell(e.state, lookahead)) {
            if (action.is_shift()) {
                shifts.push_back({action.state(), e});
                continue;
            }
            const Word length = lr.length(action.production());
            const Nonterminal lhs = lr.lhs(action.production());
            const auto go_to = [&](Below base) {
                if (const auto to = lr.go_to(graph.state(base), lhs)) add({*to, base});
            };
            if (length == 0)
                go_to(graph.node(e.state, e.below));
            else
                graph.each_after(e.below, length - 1, lhs, go_to);
        }
    }
    if (shifts.size() > 1)
        std::sort(shifts.begin(), shifts.end(),
                  [](const auto& a, const auto& b) { return a.to != b.to ? a.to < b.to : a.from.state < b.from.state; });
    return shifts;
}

// Calls f(run) for each run of elements with the same key.
template <class T, class Key, class F>
void each_run(std::span<T> sorted, Key key, F f) {
    for (std::size_t i = 0, end; i < sorted.size(); i = end) {
        for (end = i + 1; end < sorted.size() && key(sorted[end]) == key(sorted[i]);) ++end;
        f(sorted.subspan(i, end - i));
    }
}

}  // namespace psc
