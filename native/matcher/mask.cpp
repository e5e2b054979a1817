// The mask of a matcher: its stacks read down by the classifier, and the row for what was emitted on the way. The order of the caches
// that are asked before is drawn in matcher/matcher.hpp.
//
// Cost: a lookup for each stack symbol that has to be read, and nothing where the stack is the one that was read last.
#include <algorithm>

#include "base/errors.hpp"
#include "base/flat_set.hpp"
#include "base/sorted.hpp"
#include "matcher/graph.hpp"

namespace psc {

MaskRow Matcher::mask_row() {
    if (position_->stopped)
        throw MatcherError("the matcher has terminated: a stop token was accepted; rollback() or reset() it first");
    refresh();
    if (row_) return *row_;
    begin();
    for (const Configuration& configuration : configurations()) machine_->alike(configuration.state);
    set_row(machine_->index() ? affordable_row() : classified_row());
    return *row_;
}

// For a text that has one configuration, as most have.
void Matcher::find_cached_row() {
    if (row_ || position_->stopped || !position_->is_one || cache_->retired.load(std::memory_order_relaxed)) return;
    const auto row = cached_row();
    if (!row) return;
    begin();
    set_row(*row);
}

void Matcher::set_row(MaskRow row) {
    row_ = stops_.in_rows_of_their_own() ? with_stops(row) : row;
    if (row_before_) keep_step();
}

// The row of the only configuration, as far as all that it needs is there; the same questions as mask_row() asks.
Maybe<MaskRow> Matcher::cached_row(Depth* looked_at) const {
    const ReadingPolicy& reading = machine_->reading();
    if (reading.reads_first_masks())
        if (const auto row = cached_read_row(looked_at)) return row;
    return reading.classifies() ? cached_classified_row(looked_at) : Maybe<MaskRow>();
}

template <class Holds>
bool Matcher::all_positions(const Holds& holds) const {
    if (position_->is_one) return holds(Configuration{position_->top, position_->state});
    for (Word i = 0; i < position_->n_several; ++i)
        if (!holds(position_->several[i])) return false;
    return true;
}

// Whether the lexer is in a state in which few masks were asked for. Most grammars serve one text, which is in most states once: to
// read the tokens costs that text less than to find what they do on every stack.
bool Matcher::is_seldom_here() {
    return !all_positions(
        [&](const Configuration& at) { return !machine_->reads_here(cache(), machine_->alike(at.state), at.top->state); });
}

MaskRow Matcher::classified_row() {
    if (position_->is_one) return row_of({position_->top, position_->state});
    MaskRow row = row_of(position_->several[0]);
    for (Word i = 1; i < position_->n_several; ++i) row = machine_->row_union(cache(), row, row_of(position_->several[i]));
    return row;
}

// By the classifier, or by reading tokens: where there were few masks, and what the classifier finds too hard. What the classifier has
// finished stays, so a mask, or a later one, has it whole; and as it is tried again only when reading has cost as much, both cost
// at most twice what the better of them would.
MaskRow Matcher::affordable_row() {
    ReadingPolicy& reading = machine_->reading();
    if (reading.reads_first_masks())
        if (const auto row = cached_read_row()) return *row;
    const bool classifies = reading.classifies() && !(reading.reads_first_masks() && is_seldom_here());
    if (classifies) {
        work_.allow(std::min(reading.steps_to_classify(), max_steps_));
        try {
            return classified_row();
        } catch (const LimitExceeded&) {
            reading.put_off_classifier();
        }
        refresh();
        begin();
    }
    try {
        return read_row();
    } catch (const LimitExceeded&) {
        reading.has_read(max_steps_);
        if (classifies) throw;
    }
    begin();
    return classified_row();
}

// A stack that is read down: states that lie above a node, then the node and what is under it.
class Matcher::StackCursor {
public:
    explicit StackCursor(const Node* top) : node_(top) {}
    explicit StackCursor(const Aside& stack)
        : above_(stack.states.data()), n_above_(stack.n), node_(stack.under), depth_(stack.looked_at.v) {}

    bool is_over() const { return !n_above_ && !node_; }
    LrState state() const { return n_above_ ? above_[n_above_ - 1] : node_->state; }
    // False where there are several ways down.
    bool down() {
        if (n_above_) {
            --n_above_;
            return true;
        }
        if (node_->n_parents) return false;
        node_ = node_->parent;
        ++depth_;
        return true;
    }
    Depth looked_at() const { return {depth_, is_over()}; }

private:
    const LrState* above_ = nullptr;
    std::size_t n_above_ = 0;
    const Node* node_;
    Word depth_ = 1;
};

MaskRow Matcher::row_of(const Configuration& configuration) {
    const LexerState lexer_state = machine_->alike(configuration.state);
    const auto [start, view] = machine_->start(cache(), lexer_state, configuration.top->state, work_);
    if (read_top_ != configuration.top || read_start_ != start) {
        const auto read_down = read(StackCursor(configuration.top), start);
        read_ = read_down ? *read_down : read_graph(configuration.top, start);
        read_top_ = configuration.top;
        read_start_ = start;
    }
    MaskRow row = machine_->row(cache(), view, read_);
    for (const Engine::StateLead& lead : machine_->leads(lexer_state)) row = with_lead(row, lead, configuration, start);
    return row;
}

// A row with the tokens of a lead: what follows its terminal is read on the stacks after it.
MaskRow Matcher::with_lead(MaskRow row, const Engine::StateLead& lead, const Configuration& at, ClassifierState start) {
    const auto add = [&](Gathered emissions) {
        row = machine_->row_union(cache(), row, machine_->row(cache(), lead.view, emissions));
    };
    work_.spend();
    Aside stack{{}, 0, at.top};
    Outcome outcome = shift_aside(lead.terminal, stack);
    if (outcome == Outcome::ok) {
        if (const auto emissions = read(StackCursor(stack), start))
            add(*emissions);
        else
            outcome = Outcome::ambiguous;
    }
    if (outcome == Outcome::ambiguous) {
        const Arena::Attempt attempt(arena_);
        Graph graph;
        for (const Node* top : shift_all(lead.terminal, {at.top}, graph)) add(read_graph(top, start));
    }
    return row;
}

Matcher::Outcome Matcher::shift_aside(Terminal terminal, Aside& stack) const {
    const LrTables& lr = machine_->lr();
    for (std::size_t steps = 0; steps < Aside::kMax; ++steps) {
        const LrState top = stack.n ? stack.states[stack.n - 1] : stack.under->state;
        const auto cell = lr.cell(top, terminal);
        if (cell.empty()) return Outcome::rejected;
        if (cell.size() > 1) return Outcome::ambiguous;
        const Action action = cell[0];
        if (action.is_shift()) {
            stack.states[stack.n++] = action.state();
            return Outcome::ok;
        }
        for (Word pops = lr.length(action.production()); pops > 0; --pops) {
            if (stack.n) {
                --stack.n;
                continue;
            }
            if (stack.under->n_parents) return Outcome::ambiguous;
            ++stack.looked_at.v;
            stack.under = stack.under->parent;
            if (!stack.under) {
                stack.looked_at.bottom = true;
                return Outcome::rejected;
            }
        }
        const auto to = lr.go_to(stack.n ? stack.states[stack.n - 1] : stack.under->state, lr.lhs(action.production()));
        if (!to) return Outcome::rejected;
        stack.states[stack.n++] = *to;
    }
    return Outcome::ambiguous;
}

// row_of() the only configuration, where nothing has to be built for it.
Maybe<MaskRow> Matcher::cached_classified_row(Depth* looked_at) const {
    const Engine& m = *machine_;
    const auto state_of_masks = m.cached_alike(position_->state);
    if (!state_of_masks) return {};
    const auto start = m.cached_start(cache(), *state_of_masks, position_->top->state);
    if (!start) return {};
    Depth deepest;
    const auto look = [&](Depth depth) {
        deepest.v = std::max(deepest.v, depth.v);
        deepest.bottom = deepest.bottom || depth.bottom;
    };
    const auto row_down = [&](StackCursor at, LexerView view) -> Maybe<MaskRow> {
        Depth depth;
        const auto emissions = cached_read(at, start->state, depth);
        if (!emissions) return {};
        look(depth);
        return cache().row_ids.find(view, *emissions);
    };
    Maybe<MaskRow> row = row_down(StackCursor(position_->top), start->view);
    if (!row) return {};
    for (const Engine::StateLead& lead : m.leads(*state_of_masks)) {
        Aside stack{{}, 0, position_->top};
        const Outcome outcome = shift_aside(lead.terminal, stack);
        look(stack.looked_at);
        if (outcome == Outcome::rejected) continue;
        if (outcome == Outcome::ambiguous) return {};
        const auto more = row_down(StackCursor(stack), lead.view);
        if (!more) return {};
        row = Engine::cached_row_union(cache(), *row, *more);
        if (!row) return {};
    }
    if (looked_at) *looked_at = deepest;
    return row;
}

Maybe<Gathered> Matcher::cached_read(StackCursor at, ClassifierState state, Depth& looked_at) const {
    Gathered emissions{0};
    Transition arc;
    while (state.v != 0 && !at.is_over()) {
        const auto leads = machine_->cached_transition(cache(), state, at.state(), arc);
        if (!leads) return {};
        if (!*leads) break;
        if (arc.emission.v) {
            const auto all = cache().unions.find(emissions, arc.emission);
            if (!all) return {};
            emissions = *all;
        }
        state = arc.next;
        for (Word pops = 0; state.v != 0 && !at.is_over() && pops <= arc.skip; ++pops)
            if (!at.down()) return {};
    }
    looked_at = at.looked_at();
    return emissions;
}

Maybe<Gathered> Matcher::read(StackCursor at, ClassifierState state) {
    Engine& m = *machine_;
    Gathered emissions{0};
    Transition arc;
    while (state.v != 0 && !at.is_over() && m.transition(cache(), state, at.state(), arc, work_)) {
        if (arc.emission.v) emissions = m.with_emission(cache(), emissions, arc.emission);
        state = arc.next;
        for (Word pops = 0; state.v != 0 && !at.is_over() && pops <= arc.skip; ++pops)
            if (!at.down()) return {};
    }
    return emissions;
}

// The same along every path of the graph.
Gathered Matcher::read_graph(const Node* top, ClassifierState start) {
    Engine& m = *machine_;
    struct Reading {
        ClassifierState state;
        Word skip;
        const Node* node;
    };
    std::vector<EmissionSet> emissions;  // those visited
    // What was read where, and what went on from where: many states that read one node go on alike, once for all of its parents.
    FlatSet seen, gone_on;
    std::vector<Reading> todo;
    const auto is_new = [](FlatSet& among, ClassifierState state, Word skip, const Node* node) {
        const auto reading = static_cast<std::uint64_t>(state.v) << 32 | static_cast<std::uint32_t>(skip);
        return among.insert(reading, reinterpret_cast<std::uintptr_t>(node));
    };
    const auto visit = [&](ClassifierState state, Word skip, const Node* node) {
        work_.spend();
        if (!is_new(seen, state, skip, node)) return;
        work_.spend(3);
        todo.push_back({state, skip, node});
    };
    visit(start, 0, top);
    while (!todo.empty()) {
        const Reading at = todo.back();
        todo.pop_back();
        Transition arc{at.state, at.skip - 1, {0}};
        if (at.skip == 0) {
            if (!m.transition(cache(), at.state, at.node->state, arc, work_)) continue;
            if (arc.emission.v) emissions.push_back(arc.emission);
            if (arc.next.v == 0) continue;
        }
        if (at.skip == 0 && at.node->n_parents && !is_new(gone_on, arc.next, arc.skip, at.node)) continue;
        for (const Node* parent : parents_of(*at.node)) visit(arc.next, arc.skip, parent);
    }
    // In one order however the paths lie, so that the unions are known the next time.
    sort_unique(emissions);
    Gathered all{0};
    for (EmissionSet emission : emissions) {
        work_.spend(16);
        all = m.with_emission(cache(), all, emission);
    }
    return all;
}

}  // namespace psc
