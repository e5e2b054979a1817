// The classifier where LR cells hold several actions: what the LR states alone decide, with all known stacks at once.
//
// Ambiguity makes one stack in many ways and many stacks of one top, so the part of the stack that is known is a graph. Under each
// lookahead every reduction is made along every path (lr_graph.hpp); a path that leaves the known part becomes a thread.
//
// Cost: for each pending symbol, LR states x nodes x the length of right-hand sides at most, where following the stacks one by one
// would be exponential in the length of the token.
#include <limits>
#include <map>

#include "classifier.hpp"
#include "lr_graph.hpp"
#include "sorted.hpp"

namespace psc {

// The known stacks of the outcome being built.
struct Classifier::KnownGraph {
    using Below = Word;                                                                // a node, or what is not known
    static constexpr Below kUnknown = -1;                                              // under the lowest known symbol
    static constexpr std::size_t kMaxEdges = std::numeric_limits<std::size_t>::max();  // the work is limited

    static std::uint64_t key(Below below) { return static_cast<std::uint64_t>(below + 1); }
    LrState state(Below node) const { return nodes[node].state; }
    Below node(LrState state, Below below) { return add(state, {below}); }
    template <class F>
    void each_after(Below below, Word pops, Nonterminal lhs, F f) {
        if (below == kUnknown) return wait(lhs, pops);
        std::vector<Word> here{below}, lower;
        for (; pops > 0 && !here.empty(); --pops) {
            lower.clear();
            for (Word n : here) lower.insert(lower.end(), nodes[n].parents.begin(), nodes[n].parents.end());
            classifier.work_.spend(here.size() + lower.size());
            sort_unique(lower);
            if (!lower.empty() && lower[0] == kUnknown) {
                wait(lhs, pops - 1);
                lower.erase(lower.begin());
            }
            here.swap(lower);
        }
        for (Word base : here) f(base);
    }

    Word add(LrState state, std::vector<Word> parents) {
        nodes.push_back({state, std::move(parents)});
        return static_cast<Word>(nodes.size()) - 1;
    }
    // The symbol that is read waits for a goto under what is known.
    void wait(Nonterminal go_to, Word pops) {
        if (!alone) {
            std::vector<Pending> one{reading};
            alone = classifier.bundle(one);
        }
        found.threads.push_back(classifier.thread(*alone, go_to, pops));
    }

    struct Node {
        LrState state;
        std::vector<Word> parents;
    };
    Classifier& classifier;
    Found& found;
    std::vector<Node> nodes{};
    Pending reading{0};
    Maybe<Bundle> alone{};  // `reading` as a bundle, when it is needed
};

// `tops`: nodes with different LR states. Reads each symbol of the bundle on all of them.
void Classifier::explore(const std::vector<Word>& tops, Bundle whole, KnownGraph& graph, Word depth) {
    if (depth > kMaxSequence) throw LimitExceeded("terminals in one token", kMaxSequence);
    using Shift = LrShift<Word>;
    for (Pending id : bundles_.copy(whole)) {
        const PendingSymbol p = pending_[id];
        work_.spend(4);
        const std::size_t mark = graph.nodes.size();
        graph.reading = id;
        graph.alone = {};
        const auto edges = [&](auto add) {
            for (Word top : tops)
                for (Word parent : graph.nodes[top].parents) add({graph.state(top), parent});
        };
        const std::vector<Shift> shifts = shifts_under(tables_, p.symbol.terminal(), edges, graph, work_);
        if (!shifts.empty() && p.sequence) graph.found.emitted.push_back(*p.sequence);
        std::map<Bundle, std::vector<Word>> groups;  // what follows, without its conditions -> tops
        if (p.following != kNothing)
            each_run(
                std::span(shifts), [](const Shift& s) { return s.to; },
                [&](std::span<const Shift> same_target) {
                    const LrState to = same_target[0].to;
                    const Resolved rest = resolve(p.following, to);
                    if (rest.emission != kSilent) emit(rest.emission, graph.found);
                    if (rest.bundle == kNothing) return;
                    std::vector<Word> parents;
                    each_run(
                        same_target, [](const Shift& s) { return s.from.state; },
                        [&](std::span<const Shift> same_state) {
                            std::vector<Word> under;
                            for (const Shift& s : same_state) under.push_back(s.from.below);
                            parents.push_back(graph.add(same_state[0].from.state, std::move(under)));
                        });
                    groups[rest.bundle].push_back(graph.add(to, std::move(parents)));
                });
        for (const auto& [rest, after] : groups) explore(after, rest, graph, depth + 1);
        graph.nodes.resize(mark);
    }
}

void Classifier::explore_from(Bundle bundle, LrState top, Found& found) {
    KnownGraph graph{*this, found};
    explore({graph.add(top, {KnownGraph::kUnknown})}, bundle, graph, 0);
}

}  // namespace psc
