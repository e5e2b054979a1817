// Sets of strings to the sets of their spellings in JSON, without the quotes around them.
//
// Printable ASCII is spelled as itself but `"` and `\`, which have a backslash; `/` may have one. A control character is spelled by
// its short escape, where there is one, or as \u00XX. U+007F and what is not ASCII is spelled as itself or as \uXXXX, with a pair
// of surrogates beyond U+FFFF. Hexadecimal digits are of either case. A surrogate alone is no string's spelling.
//
// Each state has its arcs of characters that are spelled as themselves, and gets a state after a backslash and one after \u where
// it needs them. The four digits are a tree with shared nodes: a block of code points that lead to one state is one node.
//
// Example: {"é"} becomes {é, \u00e9, \u00E9}, over code points.
//
// Cost: linear, some 40 nodes for a state's arc over all characters beyond ASCII; a text of ASCII alone gets none.
// Threads: pure functions.
#pragma once

#include "text/automaton.hpp"

namespace psc {

TextAutomaton spelled_as_json(const TextAutomaton& value, std::size_t max_states = kMaxTrieStates);

// The same, not minimal: state s < value.size() is that of the value where its characters so far are complete, and no other state is.
TextAutomaton spelled_state_by_state(const TextAutomaton& value, std::size_t max_states = kMaxTrieStates);

// Every character may be spelled \uXXXX, \u0061 for `a` among them: all spellings that JSON has for the strings.
TextAutomaton spelled_with_all_escapes(const TextAutomaton& value, std::size_t max_states = kMaxTrieStates);

// A quotation mark, a text of the automaton, and another one.
TextAutomaton quoted(const TextAutomaton& inner);

}  // namespace psc
