// The mask of a matcher: its stacks read down by the classifier, and the row for what was emitted on the way. The order of the caches
// that are asked before is drawn in matcher/matcher.hpp.
//
// Cost: a lookup for each stack symbol that has to be read, and nothing where the stack is the one that was read last.
#include <algorithm>

#include "base/errors.hpp"
#include "base/flat_set.hpp"
#include "base/sorted.hpp"
#include "matcher/matcher.hpp"

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

MaskRow Matcher::row_of(const Configuration& configuration) {
    const auto [start, view] = machine_->start(cache(), machine_->alike(configuration.state), configuration.top->state, work_);
    if (read_top_ != configuration.top || read_start_ != start) {
        read_ = read(configuration.top, start);
        read_top_ = configuration.top;
        read_start_ = start;
    }
    return machine_->row(cache(), view, read_);
}

// row_of() the only configuration, where nothing has to be built for it.
Maybe<MaskRow> Matcher::cached_classified_row(Depth* looked_at) const {
    const Engine& m = *machine_;
    Depth depth{1};
    const auto state_of_masks = m.cached_alike(position_->state);
    if (!state_of_masks) return {};
    const auto start = m.cached_start(cache(), *state_of_masks, position_->top->state);
    if (!start) return {};
    Gathered emissions{0};
    ClassifierState state = start->state;
    Transition arc;
    const Node* n = position_->top;
    while (state.v != 0 && n) {
        const auto leads = m.cached_transition(cache(), state, n->state, arc);
        if (!leads) return {};
        if (!*leads) break;
        if (arc.emission.v) {
            const auto all = cache().unions.find(emissions, arc.emission);
            if (!all) return {};
            emissions = *all;
        }
        state = arc.next;
        for (Word pops = 0; state.v != 0 && n && pops <= arc.skip; ++pops) {
            if (n->n_parents) return {};
            n = n->parent;
            ++depth.v;
        }
    }
    depth.bottom = !n;
    if (looked_at) *looked_at = depth;
    return cache().row_ids.find(start->view, emissions);
}

Gathered Matcher::read(const Node* top, ClassifierState start) {
    Engine& m = *machine_;
    Gathered emissions{0};
    ClassifierState state = start;
    const Node* n = top;
    Transition arc;
    while (state.v != 0 && n && m.transition(cache(), state, n->state, arc, work_)) {
        if (arc.emission.v) emissions = m.with_emission(cache(), emissions, arc.emission);
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
