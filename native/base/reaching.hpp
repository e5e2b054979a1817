// Which nodes of a directed graph lead to marked ones.
//
// Two passes in descending order of numbers come first. Where most arcs lead to larger numbers and all nodes
// reach a mark, they suffice, and no index of the arcs is built.
//
// Cost: linear in nodes and arcs. Threads: a pure function.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/grouped.hpp"

namespace psc {

// Marks all nodes from which a marked one is reachable, and returns whether these are all nodes. `each_target(node, f)` calls
// f(target) for each arc of a node.
template <class EachTarget>
bool mark_reaching(std::vector<char>& marked, const EachTarget& each_target) {
    const std::size_t n = marked.size();
    for (int round = 0; round < 2; ++round)
        for (std::size_t s = n; s-- > 0;)
            if (!marked[s]) each_target(s, [&](Word to) { marked[s] |= marked[to]; });
    if (std::find(marked.begin(), marked.end(), 0) == marked.end()) return true;
    const Grouped<std::size_t> sources(n, [&](const auto& add) {
        for (std::size_t s = 0; s < n; ++s) each_target(s, [&](Word to) { add(static_cast<std::size_t>(to), s); });
    });
    std::vector<std::size_t> todo;
    for (std::size_t s = 0; s < n; ++s)
        if (marked[s]) todo.push_back(s);
    while (!todo.empty()) {
        const std::size_t s = todo.back();
        todo.pop_back();
        for (std::size_t source : sources[s])
            if (!std::exchange(marked[source], 1)) todo.push_back(source);
    }
    return std::find(marked.begin(), marked.end(), 0) == marked.end();
}

}  // namespace psc
