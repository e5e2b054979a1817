// A closed lexer as stored tables: the outputs, conditions and branches that a matcher can meet, numbered as they are met.
//
// Cost: linear in the tables.
#pragma once

#include "lexer/lexer.hpp"
#include "tables/tables.hpp"

namespace psc {

LexerTables lexer_tables(Lexer& lexer, Word n_terminals);

}  // namespace psc
