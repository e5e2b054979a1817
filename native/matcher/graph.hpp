// What a matcher knows of its stacks while a token is read: results that paths share where they meet.
//
// Nodes never change, so all of it stays right as long as nothing is given back to the arena.
#pragma once

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/flat_set.hpp"
#include "matcher/matcher.hpp"

namespace psc {

struct Matcher::Comparisons {
    FlatSet including, others;

    static std::uint64_t key(const Node* n) { return reinterpret_cast<std::uintptr_t>(n); }
    std::size_t size() const { return including.size() + others.size(); }
    void keep(const Comparison& c) { (c.includes ? including : others).insert(key(c.whole), key(c.part)); }
    std::optional<bool> find(const Node* whole, const Node* part) const {
        if (including.contains(key(whole), key(part))) return true;
        return others.contains(key(whole), key(part)) ? std::optional(false) : std::nullopt;
    }
};

struct Matcher::Graph {
    std::map<std::pair<Terminal, Nodes>, Nodes> shifted;       // (terminal, tops) -> tops
    std::map<std::pair<const Node*, Word>, Nodes> popped;      // (node, pops) -> nodes below
    std::unordered_multimap<std::uint64_t, const Node*> made;  // by what they hold
    Comparisons compared;
    std::vector<Comparison> comparisons;  // the same, in order
    std::size_t n_compared = 0;           // steps
    void add(const Comparison& c) {
        comparisons.push_back(c);
        compared.keep(c);
    }

    static std::uint64_t hash(LrState state, std::span<const Node* const> parents) {
        std::uint64_t h = mix(static_cast<std::uint64_t>(state.v) + 1);
        for (const Node* p : parents) h = mix(h ^ reinterpret_cast<std::uintptr_t>(p));
        return h;
    }
    void keep(const Node* n) {
        const std::uint64_t h = hash(n->state, parents_of(*n));
        const auto [first, last] = made.equal_range(h);
        if (std::none_of(first, last, [&](const auto& entry) { return entry.second == n; })) made.emplace(h, n);
    }
};

}  // namespace psc
