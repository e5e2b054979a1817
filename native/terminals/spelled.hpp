// Whether terminals can be written with some bytes alone, seen from their sets of characters.
//
// A vocabulary may lack bytes: a byte-level one that never saw some control character, say. If each position that reads a character
// can read one that these bytes write, then any text of a terminal becomes such a text, character by character. So no automaton is
// made. Where a position cannot, a terminal may still do without it; that is not found out here.
//
// Cost: linear in the nodes of the characters' spelling and in the positions. Threads: a pure function.
#pragma once

#include "base/byte_set.hpp"
#include "terminals/nfa.hpp"

namespace psc {

// True only where each of the terminals, which are sound, matches a text of these bytes. Symbols of tokens are not written.
bool are_spelled(const TerminalNfa& terminals, const ByteSet& bytes);

}  // namespace psc
