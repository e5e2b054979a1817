// The LR automaton of a grammar in memory: cells of few actions, found by state and terminal.
//
// Example: lr.cell(state, terminal) is {shift 7}, or {shift 7, reduce 3} where the grammar is ambiguous.
//
// Cost: a lookup in a row each for an action and a goto, and one comparison for states that are not stored. stored() is linear in
// the cells. Threads: any number may read.
// Tried and dropped: the matrices of an artifact (LrCells) in memory. One cell in a hundred is used, so they took a hundred times
// the memory; large grammars were made in ten times the time, and some were refused for their cells. Now the matrices are made
// where an artifact is written, and read where one is opened.
#pragma once

#include <memory>

#include "tables/sparse_rows.hpp"
#include "tables/tables.hpp"

namespace psc {

class FreeOrderStates;

class LrTables : public LrProductions {
public:
    // One action, or the range of several in `actions_`.
    struct Cell {
        Word n;
        Word action_or_first;

        static Cell of(std::span<const Action> all, Range<Id<Space::action>> range) {
            const auto n = static_cast<Word>(range.size());
            return {n, n == 1 ? all[static_cast<std::size_t>(range.begin)].v : range.begin};
        }
    };
    using Cells = SparseRows<Cell>;
    using Gotos = SparseRows<LrState>;

    LrTables() = default;
    // Every action belongs to one cell.
    LrTables(LrProductions productions, Cells cells, Column<Id<Space::action>, Action> actions, Gotos gotos)
        : LrProductions(std::move(productions)), cells_(std::move(cells)), actions_(std::move(actions)), gotos_(std::move(gotos)) {}
    // From stored tables that were checked.
    LrTables(LrProductions productions, const LrCells& stored);
    // Its declaration is in two parts, LrProductions and LrCells.
    template <class F>
    static void fields(F&&) = delete;

    std::span<const Action> cell(LrState state, Terminal terminal) const {
        if (state.v >= n_lr_states.n) return cell_with_set(state, terminal);
        const Cell* entry = cells_.find(state.index(), terminal.v);
        return entry ? actions_of(*entry) : std::span<const Action>();
    }
    Maybe<LrState> go_to(LrState state, Nonterminal nonterminal) const {
        return free_order_ ? go_to_with_set(state, nonterminal) : plain_go_to(state, nonterminal);
    }
    Word length(Production p) const { return p.index() < production_lhs.size() ? LrProductions::length(p) : length_with_set(p); }
    Nonterminal lhs(Production p) const { return p.index() < production_lhs.size() ? LrProductions::lhs(p) : lhs_with_set(p); }

    // With members in any order there are states, productions and nonterminals beyond these, which know the members that came:
    // lr/free_order_states.hpp. Functions over all states visit the plain ones, those of the tables, alone.
    void set_free_order(std::shared_ptr<const FreeOrderStates> states) { free_order_ = std::move(states); }
    bool has_free_order() const { return free_order_ != nullptr; }
    LrState plain(LrState state) const { return state.v < n_lr_states.n ? state : without_set(state); }
    // A lower bound of the members missing before the object of this state can end; each open object is counted once. 0 for plain
    // states.
    Word n_missing_members(LrState state) const { return state.v < n_lr_states.n ? 0 : missing_with_set(state); }
    // From a plain state to one.
    Maybe<LrState> plain_go_to(LrState state, Nonterminal nonterminal) const {
        const LrState* entry = gotos_.find(state.index(), nonterminal.v);
        return entry ? Maybe<LrState>(*entry) : Maybe<LrState>();
    }
    std::span<const Action> actions() const { return actions_.all(); }
    // Calls f(symbol, target) for each shift and goto of a state, in no order.
    template <class F>
    void each_arc(LrState state, const F& f) const {
        cells_.each(state.index(), [&](Word terminal, const Cell& cell) {
            for (Action action : actions_of(cell))
                if (action.is_shift()) f(Symbol::of(Terminal{terminal}), action.state());
        });
        gotos_.each(state.index(), [&](Word nonterminal, LrState to) { f(Symbol::of(Nonterminal{nonterminal}, n_terminals), to); });
    }
    // Whether some cell holds more than one action.
    bool is_ambiguous() const;

    // The matrices of an artifact. Throws LimitExceeded where they would be too large.
    LrCells stored() const;
    void check_can_be_stored() const;
    std::size_t bytes() const;

private:
    std::span<const Action> actions_of(const Cell& cell) const {
        if (cell.n == 1) return ids_of<Action>({&cell.action_or_first, 1});
        return {actions_.data() + cell.action_or_first, static_cast<std::size_t>(cell.n)};
    }

    std::span<const Action> cell_with_set(LrState state, Terminal terminal) const;
    Maybe<LrState> go_to_with_set(LrState state, Nonterminal nonterminal) const;
    Word length_with_set(Production production) const;
    Nonterminal lhs_with_set(Production production) const;
    LrState without_set(LrState state) const;
    Word missing_with_set(LrState state) const;

    Cells cells_;
    Column<Id<Space::action>, Action> actions_;  // by state, then by terminal
    Gotos gotos_;
    std::shared_ptr<const FreeOrderStates> free_order_;
};

}  // namespace psc
