#include "terminals/subsets.hpp"

#include <algorithm>
#include <utility>

#include "base/sorted.hpp"

namespace psc {

using PositionKind = TerminalPositions::Kind;

Subsets::Subsets(const TerminalNfa& nfa)
    : nfa_(nfa),
      positions_(nfa.positions()),
      state_after_node_(positions_.nodes().size(), -1),
      stamp_(positions_.nodes().size(), -1),
      first_(nfa.classes().size(), -1),
      bucket_(nfa.classes().size()) {
    std::vector<Word> entries(positions_.entries().begin(), positions_.entries().end());
    sort_unique(entries);
    state_after(entries);
}

// The state of all positions that read or match, reachable from these without a character.
Word Subsets::state_after(std::span<const Word> nodes) {
    const auto [id, fresh] = after_.intern(nodes);
    if (!fresh) return state_of_[id];
    const auto& all = positions_.nodes();
    subset_.clear();
    stack_.assign(nodes.begin(), nodes.end());
    while (!stack_.empty()) {
        const Word n = stack_.back();
        stack_.pop_back();
        if (n < 0 || stamp_[n] == id || !nfa_.is_live(n)) continue;
        stamp_[n] = id;
        ++steps_;
        if (all[n].kind == PositionKind::split) {
            stack_.push_back(all[n].b);
            stack_.push_back(all[n].a);
        } else {
            subset_.push_back(n);
        }
    }
    std::sort(subset_.begin(), subset_.end());
    const Word state = states_.intern(subset_).first;
    state_of_.push_back(state);
    return state;
}

bool Subsets::is_extensible(Word state) const {
    const auto subset = states_[state];
    return std::any_of(subset.begin(), subset.end(), [&](Word n) { return positions_.nodes()[n].kind == PositionKind::character; });
}

Word Subsets::output(Word state) {
    matched_.clear();
    excepted_.clear();
    for (Word n : states_[state]) {
        const auto& node = positions_.nodes()[n];
        if (node.kind == PositionKind::match) {
            (node.a < positions_.terminals() ? matched_ : excepted_).push_back(node.a);
        } else if (node.kind == PositionKind::match_all) {
            const auto list = positions_.list(node.a);
            matched_.insert(matched_.end(), list.begin(), list.end());
        }
    }
    sort_unique(matched_);
    for (Word e : excepted_) std::erase(matched_, e - positions_.terminals());
    return outputs_.intern(matched_).first;
}

bool Subsets::expand(Word state, std::size_t max_steps, std::vector<Arc>& arcs) {
    const auto& all = positions_.nodes();
    const std::vector<Word> subset(states_[state].begin(), states_[state].end());
    arcs.clear();
    touched_.clear();
    for (Word n : subset) {
        const auto& node = all[n];
        if (node.kind != PositionKind::character) continue;
        const auto members = nfa_.classes().members(node.a);
        for (Word c : members) {
            if (first_[c] < 0) {
                first_[c] = node.b;
                touched_.push_back(c);
            } else if (first_[c] != node.b) {
                bucket_[c].push_back(node.b);
            }
        }
        steps_ += members.size();
        if (steps_ <= max_steps) continue;
        for (Word c : touched_) first_[c] = -1, bucket_[c].clear();
        return false;
    }
    if (!std::is_sorted(touched_.begin(), touched_.end())) std::sort(touched_.begin(), touched_.end());
    for (Word c : touched_) {
        const Word first = std::exchange(first_[c], -1);
        if (bucket_[c].empty()) {
            if (state_after_node_[first] < 0) state_after_node_[first] = state_after({&first, 1});
            arcs.push_back({c, state_after_node_[first]});
            continue;
        }
        bucket_[c].push_back(first);
        sort_unique(bucket_[c]);
        arcs.push_back({c, state_after(bucket_[c])});
        bucket_[c].clear();
    }
    return steps_ <= max_steps;
}

}  // namespace psc
