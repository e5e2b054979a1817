// The automaton of all terminals as stored tables, and back.
//
// Consecutive bytes that lead to one state are a run, so a state of a character class has a few runs, not 256 arcs.
//
// Example: a state that reads [0-9] alone has the runs 0x00 -> none, 0x30 -> state, 0x3a -> none.
//
// Cost: linear in the automaton, 256 steps for each of its states. Threads: pure functions.
#pragma once

#include "tables/tables.hpp"
#include "terminals/contexts.hpp"

namespace psc {

TerminalTables terminal_tables(const AllTerminals& all);

// `n_terminals`: with the end of the text. The tables are untrusted, but TableCheck has found each id in range. Throws
// std::invalid_argument, which names the array, where they describe no automaton.
AllTerminals all_terminals(const TerminalTables& tables, Word n_terminals);

}  // namespace psc
