// The outcomes of the classifier where reductions of nothing may go round in a circle, as they may in an ambiguous grammar. All stacks
// that the LR states decide are followed at once. (Elsewhere an outcome is made of others, which ends.)
//
// An ambiguous grammar makes one stack in many ways and many stacks with one top, so the part of the stack that was read is a graph.
// Under each lookahead every reduction is made along every path (lr/graph.hpp); a path that leaves the graph becomes a thread.
//
// Cost: for each pending symbol at most LR states x nodes x the length of right-hand sides; following the stacks one by one would be
// exponential in the length of the token.
#include <limits>
#include <map>

#include "base/sorted.hpp"
#include "classifier/classifier.hpp"
#include "lr/graph.hpp"

namespace psc {

// The stacks of the outcome being built, as far as they were read.
struct Classifier::KnownGraph {
    using Below = Word;                                                                // a node, or kUnknown
    static constexpr Below kUnknown = -1;                                              // under the lowest symbol that was read
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

    static bool is_covered(LrState, Word) { return false; }

    Word add(LrState state, std::vector<Word> parents) {
        nodes.push_back({state, std::move(parents)});
        return static_cast<Word>(nodes.size()) - 1;
    }
    // The symbol waits for a goto below the graph.
    void wait(Nonterminal go_to, Word pops) {
        if (!alone) {
            std::vector<Pending> one{symbol};
            alone = classifier.bundle(one);
        }
        reading.threads.push_back(classifier.thread(*alone, go_to, pops));
    }

    struct Node {
        LrState state;
        std::vector<Word> parents;
    };
    Classifier& classifier;
    Reading& reading;
    std::vector<Node> nodes{};
    std::vector<SequenceNode> emitted{};
    Pending symbol{0};      // that is read
    Maybe<Bundle> alone{};  // it as a bundle, when that is needed
};

// `tops`: nodes with different LR states. Reads each symbol of the bundle on all of them.
void Classifier::explore(const std::vector<Word>& tops, Bundle whole, KnownGraph& graph, Word depth) {
    if (depth > kMaxSequence) throw LimitExceeded("terminals in one token", kMaxSequence);
    using Shift = LrShift<Word>;
    for (Pending id : bundles_.copy(whole)) {
        const PendingSymbol p = pending_[id];
        work_.spend(4);
        const std::size_t mark = graph.nodes.size();
        graph.symbol = id;
        graph.alone = {};
        const auto edges = [&](auto add) {
            for (Word top : tops)
                for (Word parent : graph.nodes[top].parents) add({graph.state(top), parent});
        };
        const std::vector<Shift> shifts = shifts_under(tables_, p.symbol.terminal(), edges, graph, work_);
        if (!shifts.empty() && p.sequence) graph.emitted.push_back(*p.sequence);
        std::map<Bundle, std::vector<Word>> groups;  // what follows, without its conditions -> tops
        if (p.following != kNothing)
            each_run(
                std::span(shifts), [](const Shift& s) { return s.to; },
                [&](std::span<const Shift> same_target) {
                    const LrState to = same_target[0].to;
                    const Resolved rest = resolve(p.following, to);
                    if (rest.emission != kSilent) graph.reading.emissions.push_back(rest.emission);
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

void Classifier::explore_from(Question of, Reading& reading) {
    KnownGraph graph{*this, reading};
    explore({graph.add(of.top, {KnownGraph::kUnknown})}, of.bundle, graph, 0);
    if (graph.emitted.empty()) return;
    sort_unique(graph.emitted);
    reading.emissions.push_back(emissions_.id_of(graph.emitted));
}

// Whether some stack may grow for ever by reductions of nothing under one lookahead, each on the state that the one before led to.
bool Classifier::may_go_round(const LrTables& tables) {
    if (!tables.is_ambiguous()) return false;  // a parser that does one thing at a time would not end
    if (tables.has_free_order()) return true;
    std::vector<char> empty(static_cast<std::size_t>(tables.n_nonterminals));
    const auto is_empty = [&](Symbol s) {
        return !s.is_terminal(tables.n_terminals) && empty[s.nonterminal(tables.n_terminals).index()];
    };
    for (bool more = true; more;) {
        more = false;
        for (Production p{0}; p.index() < tables.production_lhs.size(); ++p.v) {
            char& known = empty[tables.lhs(p).index()];
            const auto symbols = tables.symbols(p);
            if (known || !std::all_of(symbols.begin(), symbols.end(), is_empty)) continue;
            known = 1;
            more = true;
        }
    }
    // States that no such goto leads to are taken away, until none is left or each has one.
    const auto n = static_cast<std::size_t>(tables.n_lr_states);
    std::vector<std::vector<LrState>> onward(n);
    std::vector<Word> entries(n);
    for (LrState s{0}; s.v < tables.n_lr_states; ++s.v)
        tables.each_arc(s, [&](Symbol symbol, LrState to) {
            if (!is_empty(symbol)) return;
            onward[s.index()].push_back(to);
            ++entries[to.index()];
        });
    std::vector<LrState> todo;
    for (LrState s{0}; s.v < tables.n_lr_states; ++s.v)
        if (entries[s.index()] == 0) todo.push_back(s);
    std::size_t n_taken = 0;
    for (; n_taken < todo.size(); ++n_taken)
        for (LrState to : std::vector<LrState>(onward[todo[n_taken].index()]))
            if (--entries[to.index()] == 0) todo.push_back(to);
    return n_taken < n;
}

}  // namespace psc
