// Which nodes of a directed graph lead to marked ones.
//
// Cost: linear in nodes and arcs; two passes without memory of their own where most arcs lead to larger numbers and all nodes are found.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/intern.hpp"

namespace psc {

// Marks all nodes from which a marked one can be reached, and says whether these are all nodes. `each_target(node, f)` calls f(target)
// for the arcs of a node.
template <class EachTarget>
bool mark_reaching(std::vector<char>& marked, const EachTarget& each_target) {
    const std::size_t n = marked.size();
    for (int round = 0; round < 2; ++round)
        for (std::size_t s = n; s-- > 0;)
            if (!marked[s]) each_target(s, [&](Word to) { marked[s] |= marked[to]; });
    if (std::find(marked.begin(), marked.end(), 0) == marked.end()) return true;
    // Against the arcs.
    std::vector<std::size_t> offsets(n + 1);
    for (std::size_t s = 0; s < n; ++s) each_target(s, [&](Word to) { ++offsets[static_cast<std::size_t>(to) + 1]; });
    for (std::size_t s = 0; s < n; ++s) offsets[s + 1] += offsets[s];
    std::vector<std::size_t> sources(offsets[n]), at(offsets.begin(), offsets.end() - 1), todo;
    for (std::size_t s = 0; s < n; ++s) each_target(s, [&](Word to) { sources[at[to]++] = s; });
    for (std::size_t s = 0; s < n; ++s)
        if (marked[s]) todo.push_back(s);
    while (!todo.empty()) {
        const std::size_t s = todo.back();
        todo.pop_back();
        for (std::size_t i = offsets[s]; i < offsets[s + 1]; ++i)
            if (!std::exchange(marked[sources[i]], 1)) todo.push_back(sources[i]);
    }
    return std::find(marked.begin(), marked.end(), 0) == marked.end();
}

}  // namespace psc
