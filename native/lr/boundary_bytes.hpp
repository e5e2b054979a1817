// The bytes that can precede some symbols in the texts of a grammar: the last bytes of what is read before them.
//
// The result is a superset: it considers what an expression reads last, not whether a text leads there.
//
// Example: in `call: "<f>" SYMBOL`, the byte before SYMBOL is `>`.
//
// Cost: linear in the positions of the terminals and their closures, and in the productions; with too many positions, all bytes.
// Threads: a pure function.
#pragma once

#include "base/byte_set.hpp"
#include "lr/tables.hpp"
#include "terminals/nfa.hpp"

namespace psc {

// The symbols first, ..., first + count - 1, as numbers (text/token_symbols.hpp).
ByteSet bytes_before(const LrTables& lr, const TerminalNfa& terminals, Word first, Word count);

}  // namespace psc
