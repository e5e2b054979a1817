#include "sequences.hpp"

#include <algorithm>

#include "sorted.hpp"

namespace psc {

TopStates::TopStates(const LrTables& tables) : tables_(tables), below_(stack_predecessors(tables)) {
    sets_.intern(resting_states(tables));
    after_state_.resize(static_cast<std::size_t>(tables.n_states) * tables.n_terminals);
    known_.resize(after_state_.size());
}

const std::vector<Word>& TopStates::after_state(Word state, Word terminal) {
    const std::size_t cell = static_cast<std::size_t>(state) * tables_.n_terminals + terminal;
    if (known_[cell]) return after_state_[cell];
    // States on top while the reductions under `terminal` go on; what lies under a popped state is any of its predecessors.
    std::vector<Word> found, todo{state};
    std::vector<char> seen(tables_.n_states);
    seen[state] = 1;
    while (!todo.empty()) {
        const Word top = todo.back();
        todo.pop_back();
        for (Word action : tables_.cell(top, terminal)) {
            if (!is_reduce(action)) {
                found.push_back(action / 2);
                continue;
            }
            std::vector<Word> bases{top};
            for (Word popped = 0; popped < tables_.length[action / 2]; ++popped) {
                std::vector<Word> lower;
                for (Word s : bases) lower.insert(lower.end(), below_[s].begin(), below_[s].end());
                sort_unique(lower);
                bases.swap(lower);
            }
            for (Word base : bases) {
                const Word to = tables_.go_to(base, tables_.lhs[action / 2]);
                if (to >= 0 && !std::exchange(seen[to], 1)) todo.push_back(to);
            }
        }
    }
    sort_unique(found);
    known_[cell] = 1;
    return after_state_[cell] = std::move(found);
}

Word TopStates::after(Word set, Word terminal) {
    constexpr Word unknown = -2;
    if (const Word known = after_.find(set, terminal, unknown); known != unknown) return known;
    std::vector<Word> all;
    const auto span = sets_[set];
    const std::vector<Word> states(span.begin(), span.end());
    for (Word s : states) {
        const auto& more = after_state(s, terminal);
        all.insert(all.end(), more.begin(), more.end());
    }
    sort_unique(all);
    const Word result = all.empty() ? kNoNode : sets_.intern(all).first;
    after_.insert(set, terminal, result);
    return result;
}

Word SequenceTrie::child(Word node, Word terminal) {
    constexpr Word unknown = -2;
    if (const Word known = children_.find(node, terminal, unknown); known != unknown) return known;
    const Word top = tops_.after(top_[node], terminal);
    Word made = kNoNode;
    if (top != kNoNode) {
        made = size();
        top_.push_back(top);
        parent_.push_back(node);
        terminal_.push_back(terminal);
    }
    children_.insert(node, terminal, made);
    return made;
}

Word SequenceTrie::extend(Word node, std::span<const Word> terminals) {
    for (Word t : terminals) {
        if (node == kNoNode) break;
        node = child(node, t);
    }
    return node;
}

}  // namespace psc
