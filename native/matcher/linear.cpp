// A matcher's path for one configuration whose stack is a line: bytes through the lexer, terminals onto the stack.
//
// Nothing is kept on the side, so a step allocates only the nodes that stay. Where a table cell, a branch of the lexer or a node with
// several parents asks for more than one way, the path ends as `ambiguous`, and matcher/graph.cpp goes on with that byte.
//
// Cost: a lookup for each byte and for each LR action.
#include <algorithm>

#include "matcher/matcher.hpp"

namespace psc {

namespace {
// Reductions before one terminal that are free, and so many for each symbol that is taken off the stack: a right-recursive list of
// a million items ends in one step. What is not free is paid for in lots, so that tables that reduce for ever (they may come from a
// damaged file) come to an end.
constexpr std::size_t kFreeReductions = 16, kLot = 1024;
constexpr std::size_t kStepsForNode = 8;  // that a reduction of nothing leaves on the stack
}  // namespace

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
            if (!base) {
                watched_.bottom_seen = true;
                return Outcome::rejected;
            }
            if (own)
                --own;
            else
                paid += kFreeReductions;
        }
        see(base);
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

Matcher::Outcome Matcher::lex(std::span<const std::uint8_t> bytes, LexerState& state, const Node*& top, std::size_t& n_read) {
    Engine& m = *machine_;
    const bool contextual = m.contextual();
    for (n_read = 0; n_read < bytes.size(); ++n_read) {
        const std::uint8_t byte = bytes[n_read];
        const ByteClass cls = m.byte_class()[byte];
        LexArc arc = m.lex(state, cls, work_);
        if (arc.target.is_restart()) {
            if (arc.output.v)
                if (const Outcome o = emit(arc.output, top); o != Outcome::ok) return o;
            arc = m.lex(m.start_of(top->state), cls, work_);
        }
        if (!arc.target.is_state()) return arc.target.is_fail() ? Outcome::rejected : Outcome::ambiguous;
        if (arc.output.v)
            if (const Outcome o = emit(arc.output, top); o != Outcome::ok) return o;
        state = arc.target.state();
        if (state.v == 0 && contextual) state = m.start_of(top->state);
    }
    return Outcome::ok;
}

}  // namespace psc
