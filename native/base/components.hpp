// Strongly connected components of a directed graph, callees first, without recursion.
//
// Cost: linear in nodes and edges. Threads: a pure function.
// Source: R. Tarjan, "Depth-First Search and Linear Graph Algorithms", SIAM J. Comput. 1(2), 1972.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/intern.hpp"

namespace psc {

// The components that are reachable from `nodes`, each after those that it leads to. Nodes are numbers below `n`;
// `successors(node)` is a span of them that stays valid.
template <class Successors>
std::vector<std::vector<Word>> components(Word n, std::span<const Word> nodes, Successors successors) {
    struct Visit {
        Word node;
        std::size_t next;  // successor to look at
    };
    std::vector<Word> index(n, -1), low(n, -1), stack;
    std::vector<char> on_stack(n, 0);
    std::vector<std::vector<Word>> groups;
    std::vector<Visit> walk;
    Word visited = 0;
    const auto enter = [&](Word node) {
        index[node] = low[node] = visited++;
        stack.push_back(node);
        on_stack[node] = 1;
        walk.push_back({node, 0});
    };
    for (Word root : nodes) {
        if (index[root] >= 0) continue;
        enter(root);
        while (!walk.empty()) {
            const Word node = walk.back().node;
            const std::span<const Word> out = successors(node);
            if (walk.back().next < out.size()) {
                const Word to = out[walk.back().next++];
                if (index[to] < 0) {
                    enter(to);
                } else if (on_stack[to]) {
                    low[node] = std::min(low[node], index[to]);
                }
                continue;
            }
            walk.pop_back();
            if (!walk.empty()) low[walk.back().node] = std::min(low[walk.back().node], low[node]);
            if (low[node] != index[node]) continue;
            std::vector<Word>& group = groups.emplace_back();
            do {
                group.push_back(stack.back());
                on_stack[stack.back()] = 0;
                stack.pop_back();
            } while (group.back() != node);
        }
    }
    return groups;
}

}  // namespace psc
