// The classifier where LR cells hold several actions: what the LR states alone decide, with all known stacks at once.
//
// Ambiguity makes one stack in many ways and many stacks of one top, so the part of the stack that is known is a graph
// (graph-structured, Tomita 1985): an edge is an LR state on top of a node. Under each lookahead every reduction is made along
// every path until no new edge comes; a path that leaves the known part becomes a thread.
//
// Cost: for each item, LR states x nodes x the length of right-hand sides at most, where following the stacks one by one would be
// exponential in the length of the token.
#include <algorithm>
#include <map>

#include "classifier.hpp"
#include "flat_set.hpp"
#include "limits.hpp"
#include "sorted.hpp"

namespace psc {

namespace {
constexpr Word kBelow = -1;  // the parent of the lowest known symbol: what is not known
}  // namespace

// `tops`: nodes of graph_, with different LR states. Reads each item of the bundle on all of them.
void Classifier::explore(const std::vector<Word>& tops, Word whole, std::vector<Word>& emitted, std::vector<Word>& threads,
                         Word depth) {
    if (depth > kMaxSequence) throw LimitExceeded("terminals in one token", kMaxSequence);
    const std::vector<Word> items(bundles_[whole].begin(), bundles_[whole].end());
    using Edge = std::pair<Word, Word>;  // LR state, the node under it or kBelow
    FlatSet seen;
    std::vector<Edge> todo;
    const auto add = [&](Word state, Word parent) {
        work_.spend();
        if (!seen.insert(static_cast<std::uint64_t>(state), static_cast<std::uint64_t>(parent + 1))) return;
        work_.spend(3);
        todo.emplace_back(state, parent);
    };
    for (Word i : items) {
        work_.spend(4);
        const std::size_t mark = graph_.size();
        const Word terminal = symbol_of(i);
        std::map<Word, std::map<Word, std::vector<Word>>> shifts;  // LR state shifted to -> LR state below -> its parents
        seen = FlatSet();
        for (Word top : tops)
            for (Word parent : graph_[top].parents) add(graph_[top].state, parent);
        Word alone = 0;  // the item as a bundle, when it is needed
        const auto wait = [&](Word nonterminal, Word pops) {
            if (alone == 0) {
                std::vector<Word> one{i};
                alone = bundle(one);
            }
            threads.push_back(thread(alone, nonterminal, pops));
        };
        while (!todo.empty()) {
            const auto [state, parent] = todo.back();
            todo.pop_back();
            for (Action action : tables_.cell({state}, {terminal})) {
                if (action.is_shift()) {
                    shifts[action.state().v][state].push_back(parent);
                    continue;
                }
                const Word length = tables_.length(action.production());
                const Nonterminal lhs = tables_.lhs(action.production());
                std::vector<Word> bases;
                if (length == 0) {
                    bases.push_back(add_node(state, {parent}));
                } else if (parent == kBelow) {
                    wait(lhs.v, length - 1);
                    continue;
                } else {
                    bases.push_back(parent);
                }
                for (Word pops = length - 1; pops > 0 && !bases.empty(); --pops) {
                    std::vector<Word> lower;
                    for (Word b : bases) lower.insert(lower.end(), graph_[b].parents.begin(), graph_[b].parents.end());
                    work_.spend(bases.size() + lower.size());
                    sort_unique(lower);
                    if (!lower.empty() && lower[0] == kBelow) {
                        wait(lhs.v, pops - 1);
                        lower.erase(lower.begin());
                    }
                    bases.swap(lower);
                }
                for (Word base : bases)
                    if (const auto to = tables_.go_to({graph_[base].state}, lhs)) add(to.v, base);
            }
        }
        if (!shifts.empty()) {
            if (sequence_of(i) != kNoNode) emitted.push_back(sequence_of(i));
            std::map<Word, std::vector<Word>> groups;  // what follows, without its conditions -> tops
            if (children_of(i) != 0)
                for (auto& [to, below] : shifts) {
                    const Resolved rest = resolve(children_of(i), to);
                    if (rest.emission)
                        emitted.insert(emitted.end(), leaf_emissions_[rest.emission].begin(), leaf_emissions_[rest.emission].end());
                    if (rest.bundle == 0) continue;
                    std::vector<Word> parents;
                    for (auto& [state, under] : below) parents.push_back(add_node(state, std::move(under)));
                    groups[rest.bundle].push_back(add_node(to, std::move(parents)));
                }
            for (const auto& [rest, after] : groups) explore(after, rest, emitted, threads, depth + 1);
        }
        graph_.resize(mark);
    }
}

Word Classifier::add_node(Word state, std::vector<Word> parents) {
    graph_.push_back({state, std::move(parents)});
    return static_cast<Word>(graph_.size()) - 1;
}

void Classifier::explore_from(Word bundle, Word top, std::vector<Word>& emitted, std::vector<Word>& threads) {
    graph_.clear();
    explore({add_node(top, {kBelow})}, bundle, emitted, threads, 0);
}

}  // namespace psc
