// The automaton of all terminals as stored tables, and back.
//
// Bytes that follow each other and lead to one state are a run, so that a state of a character class has a few runs, not 256 arcs.
//
// Cost: linear in the automaton, 256 steps for each of its states.
#pragma once

#include "tables/tables.hpp"
#include "terminals/contexts.hpp"

namespace psc {

TerminalTables terminal_tables(const AllTerminals& all);

// `n_terminals`: with the end of the text. The tables are untrusted, but each id is in range (TableCheck): throws std::invalid_argument,
// which names the array, where they are the tables of no automaton.
AllTerminals all_terminals(const TerminalTables& tables, Word n_terminals);

}  // namespace psc
