// The bytes that can stand before some symbols in the texts of a grammar: the last ones of what is read before.
//
// It is a superset of what they are: what an expression reads last is looked at, not whether a text leads there.
//
// Cost: linear in the positions of the terminals and what follows them, and in the productions; too many positions: all bytes.
#pragma once

#include "base/byte_set.hpp"
#include "lr/tables.hpp"
#include "terminals/nfa.hpp"

namespace psc {

// `first`, `count`: of symbols, as numbers (text/token_symbols.hpp).
ByteSet bytes_before(const LrTables& lr, const TerminalNfa& terminals, Word first, Word count);

}  // namespace psc
