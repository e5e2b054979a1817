// Leads: first terminals that are shifted before the classifier reads the stack, so that it is closed over what follows them only.
//
// A lexer state inside of a lexeme has the sequences `a r`, where `a` is a terminal that the lexeme may become, and `r` what may follow
// any lexeme. All lexer states together have as many as there are terminals times such rests, and a classifier that is closed over
// them has states for each combination: for TypeScript half a million. But a text knows its stack. So for such a state, a matcher shifts
// `a` on the stack that it has, and reads the stack after that for the rests, which all lexer states and all terminals share. The mask
// is the union of the tokens that the state has for each of its leads, and of those that it has without one.
//
// Sequences that begin at a start of the lexer are classified whole, and so are those of one terminal: there as many terminals may come
// as the grammar has. What is left of any other sequence behind its first terminal is a sequence of the trie as well. Where a
// sequence is one of these by chance, no lead is needed for it.
//
// Example: inside a word, the token `(x` stands for NAME ( NAME, and `if` `(x` for IF ( NAME after an `i`. Without leads these are two
// sequences. With the leads NAME and IF, both are ( NAME, on the stack after NAME, or after IF.
//
// Cost: a look-up for each sequence of each lexer state. For Qwen 3, of 700,000 sequences of TypeScript 39,000 are left, which take 3 s to
// close, and 525 leads of 1,725 lexer states. A step of Java and its mask take 1.2 times as long with leads as without, which it
// does not need.
#pragma once

#include "classifier/compilation.hpp"

namespace psc {

// The same tokens, by leads and what follows them. Adds nodes to the trie.
TerminalSequences with_leads(const TerminalSequences& sequences);

}  // namespace psc
