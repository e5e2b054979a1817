// LALR(1) tables: the LR(0) automaton with lookaheads by DeRemer and Pennello's relations.
//
// A cell may hold several actions. `ConflictPolicy::lark` resolves conflicts as Lark does (a shift wins over reductions; among
// reductions the one of strictly highest rule priority wins) and reports what stays ambiguous; `keep_all` leaves every action in
// its cell, but for productions of the priority `kGivesWay`.
//
// Cost: LR(0) construction is linear in the size of the automaton, lookaheads in the size of the relations times terminals / 64.
// Threads: pure functions; the tables are immutable.
// Source: F. DeRemer, T. Pennello, "Efficient Computation of LALR(1) Look-Ahead Sets", TOPLAS 4(4), 1982.
// Tried and dropped: a map or vector for each kernel, relation and set of terminals. Flat arrays make the tables of a new grammar in a
// quarter of the time.
#pragma once

#include <cstdint>
#include <vector>

#include "base/grouped.hpp"
#include "lr/lr0_automaton.hpp"
#include "lr/tables.hpp"

namespace psc {

enum class ConflictPolicy { lark, keep_all };

// The priority of a production that is not reduced where something can be shifted, though every action is kept: the front end has
// seen that Lark decides so wherever it meets the two. No grammar's text can give it (limit lark_priority).
constexpr Word kGivesWay = -2'000'000'000;

struct Conflict {
    LrState state;
    Terminal terminal;
    std::vector<Production> productions;  // the reductions
};

struct LalrTables {
    LrTables tables;
    std::vector<Conflict> conflicts;  // reductions of which none wins
    Word shift_reduce_resolved = 0;   // the number of cells in which a shift won over reductions
    std::vector<Conflict> dropped;    // the first of these cells; empty in tables that were stored

    std::vector<Word> to_words() const;
    static LalrTables from_words(std::span<const Word> words);
};

constexpr std::size_t kMaxDropped = 1000;  // which is more than a message has

LalrTables build_lalr(const Productions& grammar, ConflictPolicy policy);

// The states that can be on top of a stack between two terminals: the start, and the targets of shifts but the accepting one.
// Sorted.
std::vector<LrState> resting_states(const LrTables& tables);

// Per state the symbol that leads into it; none for the start.
std::vector<Maybe<Symbol>> accessing_symbols(const LrTables& tables);

// For every state, the states that can lie directly under it on a stack, sorted.
class StackPredecessors {
public:
    explicit StackPredecessors(const LrTables& tables);
    std::span<const LrState> operator[](LrState state) const { return states_[state.index()]; }
    std::size_t bytes() const { return states_.bytes(); }

private:
    Grouped<LrState> states_;
};

// All shifts and gotos: state, symbol, and the state that it leads to.
std::vector<Word> arcs_of(const LrTables& tables);

}  // namespace psc
