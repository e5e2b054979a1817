// LALR(1) tables: the LR(0) automaton with lookaheads by DeRemer and Pennello's relations (TOPLAS 4(4), 1982).
//
// A cell may hold several actions. `ConflictPolicy::lark` resolves as Lark does (a shift wins over reductions; among
// reductions the one of strictly highest rule priority wins) and reports what stays ambiguous; `keep_all` leaves every
// action in its cell.
//
// Cost: LR(0) construction is linear in the size of the automaton, lookaheads in the size of the relations times
// terminals / 64.
#pragma once

#include <cstdint>
#include <vector>

#include "intern.hpp"

namespace psc {

// Symbols: 0 .. n_terminals-1 are terminals, the last of which is the end of text; then come the nonterminals.
struct GrammarTables {
    Word n_terminals = 0;
    Word n_nonterminals = 0;
    Word start = 0;  // a nonterminal, counted from 0
    std::vector<Word> lhs;  // per production, nonterminal counted from 0
    std::vector<std::vector<Word>> rhs;
    std::vector<Word> priority;  // per production

    Word end_terminal() const { return n_terminals - 1; }
};

enum class ConflictPolicy { lark, keep_all };

struct Conflict {
    Word state;
    Word terminal;
    std::vector<Word> productions;  // the reductions that clash
};

// An action: twice the state for a shift, twice the production plus one for a reduction.
inline Word shift_action(Word state) { return state * 2; }
inline Word reduce_action(Word production) { return production * 2 + 1; }
inline bool is_reduce(Word action) { return action & 1; }

struct LrTables {
    Word n_states = 0;
    Word n_terminals = 0;
    Word n_nonterminals = 0;
    Word start_state = 0;
    Word end_state = 0;  // reached by shifting the end of text: the text is accepted
    std::vector<Word> action_offsets;  // cell (state, terminal) is state * n_terminals + terminal; size cells + 1
    std::vector<Word> actions;
    std::vector<Word> gotos;  // state * n_nonterminals + nonterminal, or -1
    std::vector<Word> lhs;  // per production
    std::vector<Word> length;  // per production
    std::vector<Word> accessing;  // per state, the symbol that leads into it; -1 for the start state
    std::vector<Conflict> conflicts;
    Word shift_reduce_resolved = 0;  // cells in which a shift silently won

    std::span<const Word> cell(Word state, Word terminal) const {
        const std::size_t i = static_cast<std::size_t>(state) * n_terminals + terminal;
        return {actions.data() + action_offsets[i],
                static_cast<std::size_t>(action_offsets[i + 1] - action_offsets[i])};
    }
    Word go_to(Word state, Word nonterminal) const {
        return gotos[static_cast<std::size_t>(state) * n_nonterminals + nonterminal];
    }
    std::vector<Word> to_words() const;
    static LrTables from_words(std::span<const Word> words);
};

LrTables build_lalr(const GrammarTables& grammar, ConflictPolicy policy);

// The states that can be on top of a stack between two terminals: the start, and those that a shift leads into; not the
// accepting one.
std::vector<Word> resting_states(const LrTables& tables);

// For every state, the states that can lie directly under it on a stack (sorted).
std::vector<std::vector<Word>> stack_predecessors(const LrTables& tables);

}  // namespace psc
