#include "matcher.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>
#include <unordered_map>

#include "errors.hpp"
#include "flat_set.hpp"
#include "limits.hpp"
#include "sequence_sets.hpp"
#include "sorted.hpp"

namespace psc {

namespace {
// Edges of the graph under one terminal: what they take in memory.
constexpr std::size_t kMaxEdges = 1 << 20;
// Reductions before one terminal that are free, and so many for each symbol that is taken off the stack: a right-recursive list of
// a million items ends in one step. What is not free is paid for in lots, so that tables that reduce for ever (they may come from a
// damaged file) come to an end.
constexpr std::size_t kFreeReductions = 16, kLot = 1024;
constexpr std::size_t kStepsForNode = 8;  // that a reduction of nothing leaves on the stack
constexpr std::size_t kMaxForced = 1 << 16;
// Pops whose results are shared by paths that meet, which is also how deep that recursion goes.
constexpr Word kMostShared = 64;

template <class T>
void make_set(std::vector<T>& v) {
    std::sort(v.begin(), v.end());
    v.erase(std::unique(v.begin(), v.end()), v.end());
}

// Only damaged tables can disagree with their own mask.
[[noreturn]] void damaged() {
    throw ArtifactError("the artifact's mask and tables disagree: it is damaged; compile the grammar again");
}
}  // namespace

// What was found while a token is read. Nodes never change, so it stays right as long as nothing is given back.
struct Matcher::Graph {
    std::map<std::pair<Terminal, Nodes>, Nodes> shifted;       // (terminal, tops) -> tops
    std::map<std::pair<const Node*, Word>, Nodes> popped;      // (node, pops) -> nodes below
    std::unordered_multimap<std::uint64_t, const Node*> made;  // by what they hold

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

Matcher::Matcher(std::shared_ptr<Machine> machine) : machine_(std::move(machine)), cache_(machine_->cache()) {
    const Node* bottom = node({0}, nullptr);
    auto* p = arena_.make<Position>();
    *p = Position{};
    p->top = bottom;
    p->state = machine_->start_of({0});
    p->n_threads = 1;
    p->before = nullptr;
    p->jump = p;
    p->depth = 0;
    position_ = first_ = p;
}

Matcher::Matcher(const Matcher& other)
    : machine_(other.machine_),
      cache_(other.cache_),
      arena_(other.arena_),
      position_(other.position_),
      first_(other.first_),
      read_top_(other.read_top_),
      read_start_(other.read_start_),
      read_(other.read_),
      row_(other.row_),
      terminates_when_complete_(other.terminates_when_complete_),
      stops_(other.stops_),
      stop_sets_{other.stop_sets_[0], other.stop_sets_[1]} {}

void Matcher::set_stop_tokens(const std::vector<TokenId>& tokens) {
    stops_ = std::make_shared<const std::vector<TokenId>>(tokens);
    for (bool complete : {false, true}) stop_sets_[complete] = machine_->add_stop_set(complete, tokens);
    row_ = {};
}

void Matcher::set_terminates_when_complete() {
    terminates_when_complete_ = true;
    const auto shown = stops_ ? stops_ : std::make_shared<const std::vector<TokenId>>(machine_->stop_tokens());
    // Stop tokens of the matcher's own are still never text.
    stop_sets_[0] = stop_sets_[1] = machine_->add_stop_set(false, *shown);
    stops_ = shown;
    row_ = {};
}

const Matcher::Node* Matcher::node(LrState state, const Node* parent) {
    auto* n = arena_.make<Node>();
    n->parent = parent;
    n->state = state;
    n->n_parents = 0;
    return n;
}

const Matcher::Node* Matcher::node(LrState state, const Nodes& parents) {
    if (parents.size() < 2) return node(state, parents.empty() ? nullptr : parents[0]);
    auto** kept = arena_.make<const Node*>(parents.size());
    std::copy(parents.begin(), parents.end(), kept);
    auto* n = arena_.make<Node>();
    n->parents = kept;
    n->state = state;
    n->n_parents = static_cast<Word>(parents.size());
    return n;
}

void Matcher::push(const Node* top, LexerState state) {
    const Position* b = position_;
    auto* p = arena_.make<Position>();
    p->top = top;
    p->state = state;
    p->n_threads = 1;
    p->stopped = false;
    p->before = b;
    // A jump spans as far as the two before it together, if those are equally long.
    const Position* j = b->jump;
    p->jump = b->depth - j->depth == j->depth - j->jump->depth ? j->jump : b;
    p->depth = b->depth + 1;
    position_ = p;
    row_ = {};
}

void Matcher::push(const Threads& threads, bool stopped) {
    const Thread* kept = nullptr;
    if (threads.size() > 1) {
        auto* copy = arena_.make<Thread>(threads.size());
        std::copy(threads.begin(), threads.end(), copy);
        kept = copy;
    }
    push(threads[0].top, threads[0].state);
    auto* p = const_cast<Position*>(position_);
    if (kept) p->threads = kept;
    p->n_threads = static_cast<Word>(threads.size());
    p->stopped = stopped;
}

Matcher::Threads Matcher::threads() const {
    if (position_->n_threads == 1) return {{position_->top, position_->state}};
    return {position_->threads, position_->threads + position_->n_threads};
}

void Matcher::reset() {
    position_ = first_;
    arena_.rewind_to_end_of(first_);
    read_top_ = nullptr;
    row_ = {};
}

void Matcher::rollback(std::size_t n) {
    if (n == 0) return;
    if (n > position_->depth)
        throw MatcherError("cannot take back " + std::to_string(n) + " steps: only " + std::to_string(position_->depth) +
                           " were made since the start");
    const std::uint32_t depth = position_->depth - static_cast<std::uint32_t>(n);
    const Position* p = position_;
    while (p->depth > depth) p = p->jump->depth >= depth ? p->jump : p->before;
    position_ = p;
    arena_.rewind_to_end_of(p);
    read_top_ = nullptr;  // its memory may be used again
    row_ = {};
}

// Changes over to the machine's cache when ours was given up.
void Matcher::refresh() {
    if (!cache_->retired.load(std::memory_order_relaxed)) return;
    cache_ = machine_->cache();
    read_top_ = nullptr;
    row_ = {};
}

MaskRow Matcher::mask_row() {
    if (position_->stopped)
        throw MatcherError("the matcher has terminated: a stop token was accepted; rollback() or reset() it first");
    refresh();
    if (row_) return *row_;
    begin();
    MaskRow row;
    if (position_->n_threads == 1) {
        row = row_of({position_->top, position_->state});
    } else {
        row = row_of(position_->threads[0]);
        for (Word i = 1; i < position_->n_threads; ++i) row = machine_->row_union(*cache_, row, row_of(position_->threads[i]));
    }
    if (stop_sets_[0]) row = machine_->with_stops(*cache_, row, *stop_sets_[is_complete()]);
    row_ = row;
    return row;
}

MaskRow Matcher::row_of(const Thread& thread) {
    const ClassifierState start = machine_->start(*cache_, thread.state, work_);
    if (read_top_ != thread.top || read_start_ != start) {
        read_ = read(thread.top, start);
        read_top_ = thread.top;
        read_start_ = start;
    }
    return machine_->row(*cache_, thread.state, read_);
}

Gathered Matcher::read(const Node* top, ClassifierState start) {
    Machine& m = *machine_;
    Gathered emissions{0};
    ClassifierState state = start;
    const Node* n = top;
    Transition arc;
    while (state.v != 0 && n && m.transition(*cache_, state, n->state, arc, work_)) {
        if (arc.emission.v) emissions = m.with_emission(*cache_, emissions, arc.emission);
        state = arc.next;
        if (state.v == 0) break;
        if (n->n_parents) return read_graph(top, start);
        n = n->parent;
        for (Word skip = arc.skip; skip > 0 && n; --skip) {
            if (n->n_parents) return read_graph(top, start);
            n = n->parent;
        }
    }
    return emissions;
}

// The same along every path of the graph.
Gathered Matcher::read_graph(const Node* top, ClassifierState start) {
    Machine& m = *machine_;
    struct Place {
        ClassifierState state;
        Word skip;
        const Node* node;
    };
    std::vector<EmissionSet> emissions;  // those met
    FlatSet seen;
    std::vector<Place> todo;
    const auto visit = [&](ClassifierState state, Word skip, const Node* node) {
        work_.spend();
        const auto reading = static_cast<std::uint64_t>(state.v) << 32 | static_cast<std::uint32_t>(skip);
        if (!seen.insert(reading, reinterpret_cast<std::uintptr_t>(node))) return;
        work_.spend(3);
        todo.push_back({state, skip, node});
    };
    visit(start, 0, top);
    while (!todo.empty()) {
        const Place at = todo.back();
        todo.pop_back();
        Transition arc{at.state, at.skip - 1, {0}};
        if (at.skip == 0) {
            if (!m.transition(*cache_, at.state, at.node->state, arc, work_)) continue;
            if (arc.emission.v) emissions.push_back(arc.emission);
            if (arc.next.v == 0) continue;
        }
        for (const Node* parent : parents_of(*at.node)) visit(arc.next, arc.skip, parent);
    }
    // In one order however the paths lie, so that the unions are known the next time.
    sort_unique(emissions);
    Gathered all{0};
    for (EmissionSet emission : emissions) {
        work_.spend(16);
        all = m.with_emission(*cache_, all, emission);
    }
    return all;
}

// Reduces under the lookahead `terminal`, then shifts it. The goto that a reduction ends with is kept aside, as a
// state on top of `base`, until it is known to stay: most are popped again.
Matcher::Outcome Matcher::shift(Terminal terminal, const Node*& top) {
    const LrTables& lr = machine_->lr();
    const Node* base = top;
    LrState state = top->state;
    bool aside = false;   // whether `state` is above `base`, not on it
    std::size_t own = 0;  // nodes of `base` that were made here: taking them off pays for nothing
    std::size_t paid = kFreeReductions;
    work_.spend();
    for (std::size_t steps = 0;; ++steps) {
        if (steps == paid) {
            work_.spend(kLot);
            paid += kLot;
        }
        const auto cell = lr.cell(state, terminal);
        if (cell.empty()) return Outcome::rejected;
        if (cell.size() > 1) return Outcome::ambiguous;
        const Action action = cell[0];
        if (action.is_shift()) {
            if (aside) base = node(state, base);
            top = node(action.state(), base);
            return Outcome::ok;
        }
        Word pops = lr.length(action.production());
        if (aside) {
            if (pops > 0) {
                --pops;
            } else {
                work_.spend(kStepsForNode);
                base = node(state, base);
                ++own;
            }
        }
        for (; pops > 0; --pops) {
            if (base->n_parents) return Outcome::ambiguous;
            base = base->parent;
            if (!base) return Outcome::rejected;
            if (own)
                --own;
            else
                paid += kFreeReductions;
        }
        const auto to = lr.go_to(base->state, lr.lhs(action.production()));
        if (!to) return Outcome::rejected;
        state = *to;
        aside = true;
    }
}

Matcher::Outcome Matcher::emit(LexOutput output, const Node*& top) {
    for (OutputSymbol symbol : machine_->output(output)) {
        if (machine_->is_condition(symbol)) {
            const auto states = machine_->condition(symbol);
            if (!std::binary_search(states.begin(), states.end(), top->state)) return Outcome::rejected;
        } else if (const Outcome o = shift(symbol.terminal(), top); o != Outcome::ok) {
            return o;
        }
    }
    return Outcome::ok;
}

Matcher::Outcome Matcher::lex(std::span<const std::uint8_t> bytes, LexerState& state, const Node*& top) {
    Machine& m = *machine_;
    const bool contextual = m.contextual();
    for (std::uint8_t byte : bytes) {
        const ByteClass cls = m.byte_class()[byte];
        LexArc arc = m.lex(state, cls);
        if (arc.target.is_restart()) {
            if (arc.output.v)
                if (const Outcome o = emit(arc.output, top); o != Outcome::ok) return o;
            arc = m.lex(m.start_of(top->state), cls);
        }
        if (!arc.target.is_state()) return arc.target.is_fail() ? Outcome::rejected : Outcome::ambiguous;
        if (arc.output.v)
            if (const Outcome o = emit(arc.output, top); o != Outcome::ok) return o;
        state = arc.target.state();
        if (state.v == 0 && contextual) state = m.start_of(top->state);
    }
    return Outcome::ok;
}

bool Matcher::lex_all(std::span<const std::uint8_t> bytes, Threads& threads) {
    Threads next;
    Graph graph;
    for (std::uint8_t byte : bytes) {
        const ByteClass cls = machine_->byte_class()[byte];
        next.clear();
        Requests requests;
        for (const Thread& t : threads) step(t, cls, next, requests);
        // What emits the same and goes on in the same state has its stacks shifted together, so that they stay one graph. Those
        // that read the byte again come first: they may ask for more.
        while (!requests.empty()) {
            auto [key, tops] = *requests.begin();
            requests.erase(requests.begin());
            make_set(tops);
            for (const Node* top : emit_all(machine_->output(key.output), std::move(tops), graph))
                go_on(key.target, top, cls, next, requests);
        }
        merge(next);
        threads.swap(next);
        if (threads.empty()) return false;
    }
    return true;
}

// After what was emitted: the byte is read again from a start, or the lexeme goes on.
void Matcher::go_on(LexTarget target, const Node* top, ByteClass byte_class, Threads& out, Requests& requests) {
    const LexerState start = machine_->start_of(top->state);
    if (target.is_restart())
        step({top, start}, byte_class, out, requests);
    else
        out.push_back({top, target.state().v == 0 ? start : target.state()});
}

void Matcher::step(Thread thread, ByteClass byte_class, Threads& out, Requests& requests) {
    const auto go = [&](LexArc arc) {
        if (arc.output.v)
            requests[arc].push_back(thread.top);
        else
            go_on(arc.target, thread.top, byte_class, out, requests);
    };
    work_.spend();
    const LexArc arc = machine_->lex(thread.state, byte_class);
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

// The nodes `pops` below a node, on any path.
Matcher::Nodes Matcher::pop(const Node* from, Word pops, Graph& graph) {
    while (pops > 0 && from->n_parents == 0) {
        from = from->parent;
        --pops;
        if (!from) return {};
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
    if (pops <= kMostShared) {
        // Paths that meet further down share what is below.
        for (const Node* parent : parents_of(*from))
            for (const Node* n : pop(parent, pops - 1, graph)) add(n);
    } else {
        for (const Node* middle : pop_level_by_level(from, pops - kMostShared))
            for (const Node* n : pop(middle, kMostShared, graph)) add(n);
    }
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

// Every reduction under the lookahead, along every path, until nothing new comes: an edge is an LR state on top of a node. Then
// every shift: one node for each LR state, over one for each LR state under it.
Matcher::Nodes Matcher::shift_all(Terminal terminal, const Nodes& tops, Graph& graph) {
    const LrTables& lr = machine_->lr();
    struct Edge {
        LrState state;
        const Node* below;
    };
    struct Shift {
        LrState to;
        Edge from;
        auto key() const { return std::tuple(to, from.state, from.below); }
    };
    FlatSet seen;
    std::vector<Edge> todo;
    std::vector<Shift> shifts;
    const auto add = [&](Edge e) {
        work_.spend();
        if (!seen.insert(static_cast<std::uint64_t>(e.state.v), reinterpret_cast<std::uintptr_t>(e.below))) return;
        work_.spend(3);
        if (seen.size() > kMaxEdges) throw LimitExceeded("stacks under one terminal", kMaxEdges);
        todo.push_back(e);
    };
    // A top is an edge on each of its parents; the bottom is one on nothing.
    for (const Node* top : tops) {
        for (const Node* parent : parents_of(*top)) add({top->state, parent});
        if (parents_of(*top).empty()) add({top->state, nullptr});
        graph.keep(top);
    }
    while (!todo.empty()) {
        const Edge e = todo.back();
        todo.pop_back();
        for (Action action : lr.cell(e.state, terminal)) {
            if (action.is_shift()) {
                shifts.push_back({action.state(), e});
                continue;
            }
            const Word length = lr.length(action.production());
            const auto reduce_to = [&](const Node* base) {
                if (const auto to = lr.go_to(base->state, lr.lhs(action.production()))) add({*to, base});
            };
            if (length == 0)
                reduce_to(node(e.state, e.below));  // an empty production: the edge becomes a node of its own
            else if (length == 1 && e.below)
                reduce_to(e.below);
            else if (e.below)
                for (const Node* base : pop(e.below, length - 1, graph)) reduce_to(base);
        }
    }
    std::sort(shifts.begin(), shifts.end(), [](const Shift& a, const Shift& b) { return a.key() < b.key(); });
    Nodes result, parents, below;
    for (auto it = shifts.begin(); it != shifts.end();) {
        const LrState to = it->to;
        parents.clear();
        while (it != shifts.end() && it->to == to) {
            const LrState state = it->from.state;
            below.clear();
            for (; it != shifts.end() && it->to == to && it->from.state == state; ++it)
                if (it->from.below) below.push_back(it->from.below);
            parents.push_back(shared_node(state, below, graph));
        }
        result.push_back(shared_node(to, parents, graph));
    }
    make_set(result);
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
void Matcher::merge(Threads& threads) {
    if (threads.size() < 2) return;
    std::sort(threads.begin(), threads.end(), [](const Thread& a, const Thread& b) {
        return a.state != b.state ? a.state < b.state : a.top->state != b.top->state ? a.top->state < b.top->state : a.top < b.top;
    });
    // Nodes made apart may be the same all the same.
    const auto order = [](const Node* a, const Node* b) {
        if (a->state != b->state) return a->state < b->state;
        const auto x = parents_of(*a), y = parents_of(*b);
        return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end());
    };
    Threads merged;
    for (std::size_t i = 0, end; i < threads.size(); i = end) {
        for (end = i + 1;
             end < threads.size() && threads[end].state == threads[i].state && threads[end].top->state == threads[i].top->state;)
            ++end;
        const Node* top = threads[i].top;
        if (threads[end - 1].top != top) {
            Nodes all;
            for (std::size_t k = i; k < end; ++k) {
                const auto own = parents_of(*threads[k].top);
                all.insert(all.end(), own.begin(), own.end());
            }
            work_.spend(all.size());
            make_set(all);
            std::stable_sort(all.begin(), all.end(), order);
            all.erase(
                std::unique(all.begin(), all.end(), [&](const Node* a, const Node* b) { return !order(a, b) && !order(b, a); }),
                all.end());
            std::sort(all.begin(), all.end());
            if (all.size() != parents_of(*top).size()) top = node(top->state, all);
        }
        merged.push_back({top, threads[i].state});
    }
    threads.swap(merged);
}

// Reads bytes and keeps the pairs that have a continuation. False, and nothing is allocated, when none has.
bool Matcher::advance(std::span<const std::uint8_t> bytes, Threads& threads) {
    if (threads.size() == 1) {
        Arena::Attempt attempt(arena_);
        Thread only = threads[0];
        if (const Outcome o = lex(bytes, only.state, only.top); o != Outcome::ambiguous) {
            if (o == Outcome::rejected || !alive(only)) return false;
            threads[0] = only;
            attempt.keep();
            return true;
        }
    }
    Arena::Attempt attempt(arena_);
    if (!lex_all(bytes, threads)) return false;
    std::erase_if(threads, [&](const Thread& t) { return !alive(t); });
    if (threads.empty()) return false;
    attempt.keep();
    return true;
}

bool Matcher::accept(TokenId token) {
    if (position_->stopped || token.v < 0 || token.v >= machine_->vocabulary().size) return false;
    const MaskRow row = mask_row();  // before cache_ is looked at: it may change over to another cache
    if (!cache_->rows.allowed(row, token)) return false;
    const bool stops =
        stop_sets_[0] ? std::find(stops_->begin(), stops_->end(), token) != stops_->end() : machine_->vocabulary().is_stop[token.v];
    if (stops) {
        push(threads(), true);
        return true;
    }
    const auto bytes = machine_->vocabulary().text(token);
    begin(bytes.size());
    if (position_->n_threads == 1) {
        Arena::Attempt attempt(arena_);
        LexerState state = position_->state;
        const Node* top = position_->top;
        const Outcome o = lex(bytes, state, top);
        if (o == Outcome::ok) {
            push(top, state);
            attempt.keep();
            return true;
        }
        if (o == Outcome::rejected) damaged();
    }
    Threads all = threads();
    if (!advance(bytes, all)) damaged();
    push(all, false);
    return true;
}

bool Matcher::accept_text(std::span<const std::uint8_t> bytes) {
    if (position_->stopped) return false;
    begin(bytes.size());
    Threads all = threads();
    if (!bytes.empty() && !advance(bytes, all)) return false;
    push(all, false);
    return true;
}

std::size_t Matcher::accept_prefix(std::span<const std::uint8_t> bytes) {
    if (position_->stopped) return 0;
    begin(bytes.size());
    Arena::Attempt attempt(arena_);
    Threads all = threads(), next;
    std::size_t n = 0;
    for (; n < bytes.size(); ++n) {
        next = all;
        if (!advance(bytes.subspan(n, 1), next)) break;
        all.swap(next);
    }
    if (n > 0) {
        push(all, false);
        attempt.keep();
    }
    return n;
}

// Whether the symbols can be read on the stack. Takes back what it allocates.
bool Matcher::viable(std::span<const OutputSymbol> symbols, const Node* top) {
    work_.spend(1 + symbols.size());
    const Arena::Attempt attempt(arena_);
    Outcome o = Outcome::ok;
    const Node* at = top;
    for (OutputSymbol symbol : symbols) {
        if (machine_->is_condition(symbol)) {
            const auto states = machine_->condition(symbol);
            if (!std::binary_search(states.begin(), states.end(), at->state)) o = Outcome::rejected;
        } else {
            o = shift(symbol.terminal(), at);
        }
        if (o != Outcome::ok) break;
    }
    if (o == Outcome::ambiguous) {
        Graph graph;
        o = emit_all(symbols, {top}, graph).empty() ? Outcome::rejected : Outcome::ok;
    }
    return o == Outcome::ok;
}

// Whether some sequence of F(q) can be read on the stack.
bool Matcher::alive(const Thread& thread) {
    const FutureSet set = machine_->futures(thread.state);
    if (set == Machine::kNothingNeeded) return true;
    // Nearly always the lexeme that is open can become one terminal that the parser takes.
    bool longer = false;
    for (const FutureEdge& edge : machine_->future_edges(set)) {
        if (edge.then != Machine::kNothingNeeded)
            longer = true;
        else if (viable({&edge.symbol, 1}, thread.top))
            return true;
    }
    return longer && !viable_ends(set, thread.top).empty();
}

// The last symbols of the sequences of a set that can be read on the stack. Sets come after those that lead to them, each with all
// stacks at once, so that ways that go on alike are followed once.
std::vector<OutputSymbol> Matcher::viable_ends(FutureSet set, const Node* top) {
    const Arena::Attempt attempt(arena_);
    std::vector<OutputSymbol> out;
    Graph graph;
    std::map<FutureSet, Nodes, std::greater<>> stacks{{set, {top}}};
    for (; !stacks.empty(); stacks.erase(stacks.begin())) {
        const Nodes here = stacks.begin()->second;
        for (const FutureEdge& edge : machine_->future_edges(stacks.begin()->first)) {
            const Nodes after = emit_all({&edge.symbol, 1}, here, graph);
            if (after.empty()) continue;
            if (edge.then == Machine::kNothingNeeded) {
                out.push_back(edge.symbol);
                continue;
            }
            auto& there = stacks[edge.then];
            there.insert(there.end(), after.begin(), after.end());
        }
    }
    sort_unique(out);
    return out;
}

bool Matcher::complete(const Threads& threads) {
    std::vector<OutputSymbol> sequence;
    for (const Thread& t : threads)
        for (LexOutput last : machine_->at_end(t.state)) {
            const auto symbols = machine_->output(last);
            sequence.assign(symbols.begin(), symbols.end());
            sequence.push_back(OutputSymbol::of(machine_->lr().end_terminal()));
            if (viable(sequence, t.top)) return true;
        }
    return false;
}

bool Matcher::is_complete() {
    begin();
    return position_->stopped || complete(threads());
}

std::string Matcher::forced_text() {
    if (position_->stopped)
        throw MatcherError("the matcher has terminated: a stop token was accepted; rollback() or reset() it first");
    begin();
    const Arena::Attempt attempt(arena_);
    std::string out;
    Threads here = threads();
    std::array<int, 256> byte_of{};  // the byte of a class, or -1 where it has several
    std::array<int, 256> n_bytes{};
    for (int b = 0; b < 256; ++b) {
        byte_of[machine_->byte_class()[b].v] = b;
        ++n_bytes[machine_->byte_class()[b].v];
    }
    try {
        while (out.size() < kMaxForced && !complete(here)) {
            Threads only;
            int forced = -1;
            bool choice = false;
            for (int c = 0; c < 256 && !choice; ++c) {
                if (n_bytes[c] == 0) continue;
                Threads next = here;
                const auto byte = static_cast<std::uint8_t>(byte_of[c]);
                if (!advance({&byte, 1}, next)) continue;
                choice = forced >= 0 || n_bytes[c] > 1;
                forced = byte_of[c];
                only.swap(next);
            }
            if (choice || forced < 0) break;
            out.push_back(static_cast<char>(forced));
            here.swap(only);
        }
    } catch (const LimitExceeded&) {
        // What was found is forced all the same.
    }
    return out;
}

std::vector<Terminal> Matcher::expected_terminals() {
    begin();
    std::vector<Terminal> out;
    const Threads all = threads();
    for (Terminal t{0}; t.v < machine_->lr().n_terminals; ++t.v) {
        const OutputSymbol symbol = OutputSymbol::of(t);
        if (std::any_of(all.begin(), all.end(), [&](const Thread& thread) { return viable({&symbol, 1}, thread.top); }))
            out.push_back(t);
    }
    return out;
}

std::vector<Terminal> Matcher::continuations() {
    begin();
    std::set<Terminal> out;
    std::vector<OutputSymbol> sequence;
    bool finished = false;
    for (const Thread& t : threads()) {
        for (LexOutput last : machine_->at_end(t.state)) {
            const auto symbols = machine_->output(last);
            sequence.assign(symbols.begin(), symbols.end());
            sequence.push_back({0});
            for (Terminal next{0}; next.v < machine_->lr().n_terminals; ++next.v) {
                sequence.back() = OutputSymbol::of(next);
                if (viable(sequence, t.top)) out.insert(next), finished = true;
            }
        }
    }
    if (!finished)
        for (const Thread& t : threads())
            for (OutputSymbol symbol : viable_ends(machine_->futures(t.state), t.top))
                if (!machine_->is_condition(symbol)) out.insert(symbol.terminal());
    return {out.begin(), out.end()};
}

std::vector<Matcher::Pair> Matcher::pairs() const {
    std::vector<Pair> out;
    for (const Thread& t : threads()) out.push_back({t.state, first_stack(t.top)});
    return out;
}

Matcher::Stack Matcher::first_stack(const Node* top) {
    Stack out;
    for (const Node* n = top; n; n = parents_of(*n).empty() ? nullptr : parents_of(*n)[0]) out.push_back(n->state);
    return out;
}

std::vector<Matcher::Stack> Matcher::stacks_after(std::size_t pair, std::span<const OutputSymbol> symbols) {
    begin();
    const Arena::Attempt attempt(arena_);
    std::vector<Stack> out;
    Graph graph;
    for (const Node* top : emit_all(symbols, {threads().at(pair).top}, graph)) out.push_back(first_stack(top));
    return out;
}

}  // namespace psc
