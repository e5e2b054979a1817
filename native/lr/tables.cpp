#include "lr/tables.hpp"

#include <numeric>

#include "base/limits.hpp"
#include "lr/free_order_states.hpp"

namespace psc {
namespace {

constexpr std::size_t kMaxStoredCells = limit("stored_cells");

// Calls f(state) for each.
template <class F>
void each_lr_state(const LrProductions& lr, const F& f) {
    for (LrState s{0}; s.v < lr.n_lr_states; ++s.v) f(s);
}

}  // namespace

LrTables::LrTables(LrProductions productions, const LrCells& stored)
    : LrProductions(std::move(productions)), actions_(stored.actions) {
    Cells::Builder cells(static_cast<std::size_t>(n_lr_states.n));
    Gotos::Builder gotos(static_cast<std::size_t>(n_lr_states.n));
    std::vector<Cells::Entry> of_terminals;
    std::vector<Gotos::Entry> of_nonterminals;
    std::size_t cell = 0, goto_cell = 0;
    each_lr_state(*this, [&](LrState) {
        of_terminals.clear();
        for (Word a = 0; a < n_terminals; ++a, ++cell)
            if (const auto range = stored.action_offsets.range(cell); range.size())
                of_terminals.push_back({a, Cell::of(actions_.all(), range)});
        cells.add(of_terminals);
        of_nonterminals.clear();
        for (Word n = 0; n < n_nonterminals; ++n, ++goto_cell)
            if (const auto to = stored.gotos.at(goto_cell)) of_nonterminals.push_back({n, *to});
        gotos.add(of_nonterminals);
    });
    cells_ = cells.take();
    gotos_ = gotos.take();
}

bool LrTables::is_ambiguous() const {
    bool found = false;
    each_lr_state(*this, [&](LrState s) { cells_.each(s.index(), [&](Word, const Cell& cell) { found |= cell.n > 1; }); });
    return found;
}

std::span<const Action> LrTables::cell_with_set(LrState state, Terminal terminal) const {
    return free_order_->cell(state, terminal);
}

Maybe<LrState> LrTables::go_to_with_set(LrState state, Nonterminal nonterminal) const {
    return free_order_->go_to(state, nonterminal);
}

Word LrTables::length_with_set(Production production) const { return free_order_->length(production); }

Nonterminal LrTables::lhs_with_set(Production production) const { return free_order_->lhs(production); }

LrState LrTables::without_set(LrState state) const { return free_order_->plain(state); }

Word LrTables::missing_with_set(LrState state) const { return free_order_->n_missing(state); }

void LrTables::check_can_be_stored() const {
    if (free_order_) throw LimitExceeded("members in any order of an object that declares more than can be stored");
    if (static_cast<std::size_t>(n_lr_states.n) * static_cast<std::size_t>(n_terminals.n + n_nonterminals.n) > kMaxStoredCells)
        throw LimitExceeded("cells of stored LR tables", kMaxStoredCells);
}

LrCells LrTables::stored() const {
    check_can_be_stored();
    const auto n = static_cast<std::size_t>(n_lr_states.n);
    const auto n_columns = static_cast<std::size_t>(n_terminals.n), n_goto_columns = static_cast<std::size_t>(n_nonterminals.n);
    std::vector<Word> offsets(n * n_columns + 1);
    std::vector<Maybe<LrState>> gotos(n * n_goto_columns);
    each_lr_state(*this, [&](LrState s) {
        cells_.each(s.index(), [&](Word terminal, const Cell& cell) {
            offsets[s.index() * n_columns + static_cast<std::size_t>(terminal) + 1] = cell.n;
        });
        gotos_.each(s.index(), [&](Word nonterminal, LrState to) {
            gotos[s.index() * n_goto_columns + static_cast<std::size_t>(nonterminal)] = to;
        });
    });
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    return {std::move(offsets), actions_, std::move(gotos)};
}

std::size_t LrTables::bytes() const {
    return bytes_of_tables(static_cast<const LrProductions&>(*this)) + cells_.bytes() + actions_.all().size_bytes() +
           gotos_.bytes() + (free_order_ ? free_order_->bytes() : 0);
}

}  // namespace psc
