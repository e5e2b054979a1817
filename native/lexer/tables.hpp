// A closed lexer as stored tables: the outputs, conditions and branches that a matcher can reach, numbered as they are first used.
//
// Cost: linear in the tables. Threads: a pure function of a lexer that is not being built.
#pragma once

#include "lexer/lexer.hpp"
#include "tables/tables.hpp"

namespace psc {

LexerTables lexer_tables(Lexer& lexer, Word n_terminals);

}  // namespace psc
