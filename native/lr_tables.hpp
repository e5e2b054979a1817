// The LR automaton of a grammar, as what reads it has it in memory: cells of few actions, found by state and terminal.
//
// One cell in a hundred holds something, so that the matrices of an artifact (LrCells) would take a hundred times the memory, and
// making them would take longer than finding what is in them. They are made where an artifact is written, and read where one is opened.
//
// Cost: a lookup in a row each for an action and a goto. stored() is linear in the cells.
#pragma once

#include "sparse_rows.hpp"
#include "tables.hpp"

namespace psc {

class LrTables : public LrProductions {
public:
    // One action, or several of all, from the first on.
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
    // Of tables that were checked together.
    LrTables(LrProductions productions, const LrCells& stored);
    // Only both parts are all of it.
    template <class F>
    static void fields(F&&) = delete;

    std::span<const Action> cell(LrState state, Terminal terminal) const {
        const Cell* found = cells_.find(state.index(), terminal.v);
        return found ? actions_of(*found) : std::span<const Action>();
    }
    Maybe<LrState> go_to(LrState state, Nonterminal nonterminal) const {
        const LrState* found = gotos_.find(state.index(), nonterminal.v);
        return found ? Maybe<LrState>(*found) : Maybe<LrState>();
    }
    std::span<const Action> actions() const { return actions_.all(); }
    // Calls f(symbol, state that it leads to) for each shift and goto of a state, in no order.
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

    Cells cells_;
    Column<Id<Space::action>, Action> actions_;  // by state, then by terminal
    Gotos gotos_;
};

}  // namespace psc
