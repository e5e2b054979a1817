// The three ways to lex a grammar's text, as lexers over its terminals and LR tables (docs/language.md).
#pragma once

#include "lalr.hpp"
#include "lexer.hpp"

namespace psc {

enum class LexerKind {
    basic,       // maximal munch over all terminals
    contextual,  // maximal munch over the terminals that the LR state at the start of the lexeme can take, and the ignored ones
    any,         // a lexeme ends wherever it matches
};

std::unique_ptr<Lexer> make_lexer(const LrTables& lr, const AllTerminals& terminals, LexerKind kind);

}  // namespace psc
