// The eight ways to lex a grammar's text, as lexers over its terminals and LR tables (docs/language.md).
//
// Cost: basic and any: minimization of the terminals' automaton; the others: contexts times its states
// (terminals/contexts.hpp).
// Threads: pure functions.
#pragma once

#include "lexer/lexer.hpp"
#include "lr/lalr.hpp"
#include "terminals/open_lexemes.hpp"

namespace psc {

enum class LexerKind {
    basic,       // maximal munch over all terminals
    flush,       // basic, but a text does not begin with what is ignored
    contextual,  // maximal munch over the terminals that the LR state at the start of the lexeme can take, and the ignored ones
    // Contextual, but a text does not begin with what is ignored; and a terminal that no rule has is lexed where the one before it in
    // rank is, and so refused there.
    flush_contextual,
    // Contextual, and terminals that no rule has are lexed everywhere: one that is not ignored is refused so. An ignored terminal
    // that rules have is lexed, and ignored, where the parser could take it; everywhere else the parts of what is refused are lexed,
    // which changes no text and makes fewer contexts.
    indented,
    // Terminals that win over every ignored terminal are lexed only where the parser can take one, and there only terminals that it
    // can take, and those of them that no rule has. Elsewhere maximal munch over all the others.
    modal,
    flush_modal,  // modal, but a text does not begin with what is ignored
    any,          // a lexeme ends wherever it matches
};

std::unique_ptr<Lexer> make_lexer(const LrTables& lr, const AllTerminals& terminals, LexerKind kind);
// The lexer `any`, over an automaton of the terminals that is made as it is visited.
std::unique_ptr<Lexer> make_lexer(const LrTables& lr, std::shared_ptr<const TerminalNfa> terminals);

}  // namespace psc
