// A matcher's path for any number of configurations: what emits the same is shifted together, so that the stacks stay one graph.
//
// Cost: for each byte, the configurations; for each terminal, the LR states x nodes of the graph that reductions reach (lr/graph.hpp).
#include "matcher/graph.hpp"

#include <algorithm>
#include <optional>

#include "base/flat_set.hpp"
#include "base/limits.hpp"
#include "base/sorted.hpp"
#include "lr/graph.hpp"

namespace psc {

namespace {
// Pops whose results are shared by paths that meet, which is also how deep that recursion goes.
constexpr Word kMaxShared = 64;
// Steps of comparing nodes while a token is read, beyond which none are compared; nodes of one LR state that one is compared with; nodes of
// a list of which each is compared with each; and results that are kept for the next tokens.
constexpr std::size_t kMaxCompared = 1 << 15, kMaxSame = 8, kMaxInList = 8, kMaxKept = 1 << 13;
}  // namespace

bool Matcher::lex_all(std::span<const std::uint8_t> bytes, Configurations& configurations) {
    Configurations next;
    std::optional<Graph> graph;
    while (!bytes.empty()) {
        if (configurations.size() == 1) {
            const Outcome o = lex_alone(bytes, configurations[0]);
            if (o != Outcome::ambiguous) return o == Outcome::ok;
        }
        if (!graph) graph.emplace();
        lex_byte(machine_->byte_class()[bytes[0]], configurations, next, *graph);
        if (configurations.empty()) return false;
        bytes = bytes.subspan(1);
    }
    if (graph) new_comparisons_.insert(new_comparisons_.end(), graph->comparisons.begin(), graph->comparisons.end());
    return true;
}

// Takes off `bytes` what one configuration reads. `ambiguous`: the first byte that is left needs the graph; nothing is kept of what was
// tried with it, which the graph does not know.
Matcher::Outcome Matcher::lex_alone(std::span<const std::uint8_t>& bytes, Configuration& only) {
    std::size_t n_read = 0;
    Outcome outcome;
    {
        Arena::Attempt attempt(arena_);
        Configuration tried = only;
        outcome = lex(bytes, tried.state, tried.top, n_read);
        if (outcome == Outcome::ok) {
            attempt.keep();
            only = tried;
        }
    }
    if (outcome != Outcome::ambiguous) return outcome;
    const auto clear = bytes.first(n_read);
    lex(clear, only.state, only.top, n_read);
    bytes = bytes.subspan(clear.size());
    return outcome;
}

void Matcher::lex_byte(ByteClass byte_class, Configurations& configurations, Configurations& next, Graph& graph) {
    next.clear();
    Requests requests;
    for (const Configuration& t : configurations) step(t, byte_class, next, requests);
    // What emits the same and goes on in the same state has its stacks shifted together, so that they stay one graph. Those
    // that read the byte again come first: they may ask for more.
    while (!requests.empty()) {
        auto [key, tops] = *requests.begin();
        requests.erase(requests.begin());
        sort_unique(tops);
        for (const Node* top : emit_all(machine_->output(key.output), std::move(tops), graph))
            go_on(key.target, top, byte_class, next, requests);
    }
    merge(next, graph);
    configurations.swap(next);
}

// After what was emitted: the byte is read again from a start, or the lexeme goes on.
void Matcher::go_on(LexTarget target, const Node* top, ByteClass byte_class, Configurations& out, Requests& requests) {
    const LexerState start = machine_->start_of(top->state);
    if (target.is_restart())
        step({top, start}, byte_class, out, requests);
    else
        out.push_back({top, target.state().v == 0 ? start : target.state()});
}

void Matcher::step(Configuration configuration, ByteClass byte_class, Configurations& out, Requests& requests) {
    const auto go = [&](LexArc arc) {
        if (arc.output.v)
            requests[arc].push_back(configuration.top);
        else
            go_on(arc.target, configuration.top, byte_class, out, requests);
    };
    work_.spend();
    const LexArc arc = machine_->lex(configuration.state, byte_class, work_);
    if (arc.target.is_fail()) return;
    if (!arc.target.is_branch()) return go(arc);
    const auto ways = machine_->ways(arc.target.branch());
    work_.spend(2 * ways.size());
    for (const LexWay& way : ways) go({LexTarget::to(way.next), way.output});
}

Matcher::Nodes Matcher::emit_all(std::span<const OutputSymbol> symbols, Nodes tops, Graph& graph) {
    for (OutputSymbol symbol : symbols) {
        if (machine_->is_condition(symbol)) {
            const auto states = machine_->condition(symbol);
            std::erase_if(tops, [&](const Node* n) { return !std::binary_search(states.begin(), states.end(), n->state); });
        } else {
            std::pair key{symbol.terminal(), std::move(tops)};
            auto known = graph.shifted.find(key);
            if (known == graph.shifted.end()) {
                Nodes after = shift_all(key.first, key.second, graph);
                known = graph.shifted.emplace(std::move(key), std::move(after)).first;
            }
            tops = known->second;
        }
        if (tops.empty()) break;
    }
    return tops;
}

// The nodes `pops` below a node, on any path, but those whose stacks are those of another one.
Matcher::Nodes Matcher::pop(const Node* from, Word pops, Graph& graph) {
    while (pops > 0 && from->n_parents == 0) {
        from = from->parent;
        --pops;
        if (!from) {
            watched_.bottom_seen = true;
            return {};
        }
    }
    if (pops == 0) return {from};
    const std::pair key{from, pops};
    if (const auto known = graph.popped.find(key); known != graph.popped.end()) return known->second;
    Nodes below;
    FlatSet seen;
    const auto add = [&](const Node* n) {
        work_.spend();
        if (seen.insert(0, reinterpret_cast<std::uintptr_t>(n))) below.push_back(n);
    };
    if (pops <= kMaxShared) {
        // Paths that meet further down share what is below.
        for (const Node* parent : parents_of(*from))
            for (const Node* n : pop(parent, pops - 1, graph)) add(n);
    } else {
        for (const Node* middle : pop_level_by_level(from, pops - kMaxShared))
            for (const Node* n : pop(middle, kMaxShared, graph)) add(n);
    }
    drop_included(below, graph);
    graph.popped.emplace(key, below);
    return below;
}

// The same without recursion, for right-hand sides of hundreds of symbols.
Matcher::Nodes Matcher::pop_level_by_level(const Node* from, Word pops) {
    Nodes level{from}, below;
    for (; pops > 0 && !level.empty(); --pops) {
        FlatSet seen;
        below.clear();
        for (const Node* n : level)
            for (const Node* parent : parents_of(*n)) {
                work_.spend();
                if (seen.insert(0, reinterpret_cast<std::uintptr_t>(parent))) below.push_back(parent);
            }
        level.swap(below);
    }
    return level;
}

// Whether all stacks of `part` are found to be stacks of `whole`, so that what can be read on them can be read on those. It is, where the
// states are equal and each parent of `part` is included in one of `whole`. While a text goes on that is ambiguous again and again, its
// stacks include those of before: `e ::= e "+" e | "1"` has e, e + e, e + e + e and so on. What was found then is known, so one step down
// decides. Without that, each token would cost as much as the text is long.
bool Matcher::includes(const Node* whole, const Node* part, Graph& graph) {
    if (whole == part) return true;
    // A row that is read is cached by what was looked at, and that is looked at by each stack that is left out.
    if (whole->state != part->state || !watched_.seen.empty() || ++graph.n_compared >= kMaxCompared) return false;
    struct Compared {
        const Node *whole, *part;
        std::size_t at, with;  // the parent of `part` that is compared with one of `whole`
    };
    auto known = compared(whole, part, graph);
    std::vector<Compared> open;
    if (!known) open.push_back({whole, part, 0, 0});
    while (!open.empty()) {
        work_.spend();
        if (++graph.n_compared >= kMaxCompared) return false;
        Compared& last = open.back();
        const auto theirs = parents_of(*last.whole), own = parents_of(*last.part);
        const bool is_bottom = own.empty() || theirs.empty();
        if (is_bottom || last.at == own.size() || last.with == theirs.size()) {
            known = is_bottom ? own.empty() && theirs.empty() : last.at == own.size();
            graph.add({last.whole, last.part, *known});
            open.pop_back();
            continue;
        }
        const Node *a = theirs[last.with], *b = own[last.at];
        const auto decided = a == b ? std::optional(true) : a->state != b->state ? std::optional(false) : compared(a, b, graph);
        if (!decided) {
            open.push_back({a, b, 0, 0});
        } else if (*decided) {
            ++last.at, last.with = 0;
        } else {
            ++last.with;
        }
    }
    left_out_ = left_out_ || *known;
    return *known;
}

std::optional<bool> Matcher::compared(const Node* whole, const Node* part, Graph& graph) const {
    if (const auto known = graph.compared.find(whole, part)) return known;
    if (const auto known = comparisons_ ? comparisons_->find(whole, part) : std::nullopt) return known;
    const auto known = older_comparisons_ ? older_comparisons_->find(whole, part) : std::nullopt;
    if (known) graph.add({whole, part, *known});
    return known;
}

// What was found while a token was read that is accepted: its nodes stay until a token is taken back. What was not needed for long is
// forgotten.
void Matcher::keep_comparisons() {
    if (!comparisons_ || comparisons_->size() + new_comparisons_.size() > kMaxKept) {
        older_comparisons_ = std::move(comparisons_);
        comparisons_ = std::make_shared<Comparisons>();
    }
    for (const Comparison& one : new_comparisons_) comparisons_->keep(one);
    new_comparisons_.clear();
}

// Leaves out the nodes whose stacks are those of another one in the list.
void Matcher::drop_included(Nodes& nodes, Graph& graph) {
    if (nodes.size() < 2 || nodes.size() > kMaxInList) return;
    for (std::size_t i = 0; i < nodes.size();) {
        const bool is_in_another =
            std::any_of(nodes.begin(), nodes.end(), [&](const Node* n) { return n != nodes[i] && includes(n, nodes[i], graph); });
        if (is_in_another)
            nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(i));
        else
            ++i;
    }
}

struct Matcher::Driven {
    using Below = const Node*;  // null under the bottom
    // Edges under one terminal: what they take in memory.
    static constexpr std::size_t kMaxEdges = limit("stack_edges");

    static std::uint64_t key(Below below) { return reinterpret_cast<std::uintptr_t>(below); }
    static LrState state(Below node) { return node->state; }
    Below node(LrState state, Below below) { return matcher.node(state, below); }
    // Whether what the state can do there it does on a node before.
    bool is_covered(LrState state, Below below) {
        if (!below) return false;
        Nodes& same = under[state];
        if (std::any_of(same.begin(), same.end(), [&](const Node* n) { return matcher.includes(n, below, graph); })) return true;
        if (same.size() < kMaxSame) same.push_back(below);
        return false;
    }
    template <class F>
    void each_after(Below below, Word pops, Nonterminal, F f) {
        if (!below) matcher.watched_.bottom_seen = true;
        if (below && pops == 0) return matcher.see(below), f(below);
        if (below)
            for (const Node* base : matcher.pop(below, pops, graph)) matcher.see(base), f(base);
    }

    Matcher& matcher;
    Graph& graph;
    std::map<LrState, Nodes> under = {};  // of the first edges of a state
};

// Reads a terminal on all stacks with these tops: one node for each LR state that it leads to, over one for each LR state under it.
Matcher::Nodes Matcher::shift_all(Terminal terminal, const Nodes& tops, Graph& graph) {
    using Shift = LrShift<const Node*>;
    // A top is an edge on each of its parents; the bottom is one on nothing.
    const auto edges = [&](auto add) {
        for (const Node* top : tops) {
            for (const Node* parent : parents_of(*top)) add({top->state, parent});
            if (parents_of(*top).empty()) add({top->state, nullptr});
            graph.keep(top);
        }
    };
    Driven driven{*this, graph};
    const std::vector<Shift> shifts = shifts_under(machine_->lr(), terminal, edges, driven, work_);
    Nodes result, parents, below;
    each_run(
        std::span(shifts), [](const Shift& s) { return s.to; },
        [&](std::span<const Shift> same_target) {
            parents.clear();
            each_run(
                same_target, [](const Shift& s) { return s.from.state; },
                [&](std::span<const Shift> same_state) {
                    below.clear();
                    for (const Shift& s : same_state)
                        if (s.from.below) below.push_back(s.from.below);
                    drop_included(below, graph);
                    parents.push_back(shared_node(same_state[0].from.state, below, graph));
                });
            result.push_back(shared_node(same_target[0].to, parents, graph));
        });
    sort_unique(result);
    return result;
}

// The one node with this state and these parents, if one was made while this token was read: what is reduced in the same way under
// different terminals is one stack.
const Matcher::Node* Matcher::shared_node(LrState state, Nodes& parents, Graph& graph) {
    std::sort(parents.begin(), parents.end());
    work_.spend(parents.size());
    const auto [first, last] = graph.made.equal_range(Graph::hash(state, parents));
    for (auto it = first; it != last; ++it) {
        const auto own = parents_of(*it->second);
        if (it->second->state == state && std::equal(own.begin(), own.end(), parents.begin(), parents.end())) return it->second;
    }
    const Node* made = node(state, parents);
    graph.keep(made);
    return made;
}

// Pairs that agree in the lexer state and the top of the stack become one, with the parents of all.
void Matcher::merge(Configurations& configurations, Graph& graph) {
    if (configurations.size() < 2) return;
    std::sort(configurations.begin(), configurations.end(), [](const Configuration& a, const Configuration& b) {
        return a.state != b.state ? a.state < b.state : a.top->state != b.top->state ? a.top->state < b.top->state : a.top < b.top;
    });
    // Nodes made apart may be the same all the same.
    const auto order = [](const Node* a, const Node* b) {
        if (a->state != b->state) return a->state < b->state;
        const auto x = parents_of(*a), y = parents_of(*b);
        return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end());
    };
    Configurations merged;
    for (std::size_t i = 0, end; i < configurations.size(); i = end) {
        for (end = i + 1; end < configurations.size() && configurations[end].state == configurations[i].state &&
                          configurations[end].top->state == configurations[i].top->state;)
            ++end;
        const Node* top = configurations[i].top;
        if (configurations[end - 1].top != top) {
            Nodes all;
            for (std::size_t k = i; k < end; ++k) {
                const auto own = parents_of(*configurations[k].top);
                all.insert(all.end(), own.begin(), own.end());
            }
            work_.spend(all.size());
            sort_unique(all);
            std::stable_sort(all.begin(), all.end(), order);
            all.erase(
                std::unique(all.begin(), all.end(), [&](const Node* a, const Node* b) { return !order(a, b) && !order(b, a); }),
                all.end());
            drop_included(all, graph);
            std::sort(all.begin(), all.end());
            const auto own = parents_of(*top);
            if (!std::is_permutation(all.begin(), all.end(), own.begin(), own.end())) top = shared_node(top->state, all, graph);
        }
        merged.push_back({top, configurations[i].state});
    }
    configurations.swap(merged);
}

void Matcher::narrow(Configurations& configurations, Graph& graph) {
    bool changed = false;
    for (Configuration& configuration : configurations) {
        const LexerState to = machine_->narrowed(configuration.state, configuration.top->state, work_);
        changed = changed || to != configuration.state;
        configuration.state = to;
    }
    if (changed) merge(configurations, graph);
}

}  // namespace psc
