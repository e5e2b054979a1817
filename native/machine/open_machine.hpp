// A machine over the tables of an artifact that is not closed: built on first visit, from what a grammar and a vocabulary come to.
//
// Such an artifact is what a compilation leaves that met a limit, or whose grammar speaks of tokens: it has no classifier. It holds what a machine
// is built of just in time instead: LR tables, the automaton of the terminals, and the tokens as classes. So nothing has to be
// parsed, and no vocabulary has to be at hand. Tokens of a class do the same in every lexer state; each stands here with the bytes of
// its class's representative. Tokens that the grammar speaks of have their symbols as a second spelling (text/token_symbols.hpp).
//
// The tables are untrusted, as those of ArtifactMachine: each is checked, a violation is a std::invalid_argument that names the array.
// What is built of them counts its steps.
//
// Cost: sorting the vocabulary, 20 ms for 128,000 tokens, and the automaton.
#pragma once

#include <memory>
#include <optional>

#include "lexer/kinds.hpp"
#include "machine/lazy_machine.hpp"

namespace psc {

struct OpenTables {
    LrProductions lr;
    LrCells lr_cells;
    TerminalTables terminals;
    TokenTables tokens;
    GivenTokens given;
    std::optional<SymbolTables> symbols;  // none: the grammar speaks of no token
};

// `cache_limit`: bytes, 0 for none.
std::shared_ptr<Engine> open_machine(const OpenTables& tables, LexerKind kind, std::size_t cache_limit);

}  // namespace psc
