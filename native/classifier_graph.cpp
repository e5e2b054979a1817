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

// `tops`: nodes of graph_, with different LR states. Reads each symbol of the bundle on all of them.
void Classifier::explore(const std::vector<Word>& tops, Bundle whole, Found& found, Word depth) {
    if (depth > kMaxSequence) throw LimitExceeded("terminals in one token", kMaxSequence);
    struct Edge {
        LrState state;
        Word below;  // the node under it, or kBelow
    };
    FlatSet seen;
    std::vector<Edge> todo;
    const auto add = [&](LrState state, Word parent) {
        work_.spend();
        if (!seen.insert(static_cast<std::uint64_t>(state.v), static_cast<std::uint64_t>(parent + 1))) return;
        work_.spend(3);
        todo.push_back({state, parent});
    };
    for (Pending id : bundles_.copy(whole)) {
        const PendingSymbol p = pending_[id];
        work_.spend(4);
        const std::size_t mark = graph_.size();
        std::map<LrState, std::map<LrState, std::vector<Word>>> shifts;  // LR state shifted to -> LR state below -> its parents
        seen = FlatSet();
        for (Word top : tops)
            for (Word parent : graph_[top].parents) add(graph_[top].state, parent);
        Maybe<Bundle> alone;  // the symbol as a bundle, when it is needed
        const auto wait = [&](Nonterminal go_to, Word pops) {
            if (!alone) {
                std::vector<Pending> one{id};
                alone = bundle(one);
            }
            found.threads.push_back(thread(*alone, go_to, pops));
        };
        while (!todo.empty()) {
            const auto [state, parent] = todo.back();
            todo.pop_back();
            for (Action action : tables_.cell(state, p.symbol.terminal())) {
                if (action.is_shift()) {
                    shifts[action.state()][state].push_back(parent);
                    continue;
                }
                const Word length = tables_.length(action.production());
                const Nonterminal lhs = tables_.lhs(action.production());
                std::vector<Word> bases;
                if (length == 0) {
                    bases.push_back(add_node(state, {parent}));
                } else if (parent == kBelow) {
                    wait(lhs, length - 1);
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
                        wait(lhs, pops - 1);
                        lower.erase(lower.begin());
                    }
                    bases.swap(lower);
                }
                for (Word base : bases)
                    if (const auto to = tables_.go_to(graph_[base].state, lhs)) add(*to, base);
            }
        }
        if (!shifts.empty()) {
            if (p.sequence) found.emitted.push_back(*p.sequence);
            std::map<Bundle, std::vector<Word>> groups;  // what follows, without its conditions -> tops
            if (p.following != kNothing)
                for (auto& [to, below] : shifts) {
                    const Resolved rest = resolve(p.following, to);
                    if (rest.emission != kSilent) emit(rest.emission, found);
                    if (rest.bundle == kNothing) continue;
                    std::vector<Word> parents;
                    for (auto& [state, under] : below) parents.push_back(add_node(state, std::move(under)));
                    groups[rest.bundle].push_back(add_node(to, std::move(parents)));
                }
            for (const auto& [rest, after] : groups) explore(after, rest, found, depth + 1);
        }
        graph_.resize(mark);
    }
}

Word Classifier::add_node(LrState state, std::vector<Word> parents) {
    graph_.push_back({state, std::move(parents)});
    return static_cast<Word>(graph_.size()) - 1;
}

void Classifier::explore_from(Bundle bundle, LrState top, Found& found) {
    graph_.clear();
    explore({add_node(top, {kBelow})}, bundle, found, 0);
}

}  // namespace psc
