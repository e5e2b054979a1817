// A regular expression of ECMA-262 to the set of texts that contain a match: `pattern` of JSON Schema.
//
// Subset construction over classes of characters that the pattern cannot tell apart. A thread of a subset is a node of the
// pattern's program and the conditions on the rest of the text that it has collected: each is a state of a deterministic automaton
// that reads the rest beside the thread. `$` requires an empty rest, \b one that begins with a word character or with none, and a
// lookahead one of its own automaton or of the complement. So the three are exact wherever they stand. What precedes a node is part
// of the state that reaches it: nothing, a word character, or another one.
//
// Example: `a$` is the set of texts that end in `a`; `^[ab]` of those that begin with `a` or `b`.
//
// Cost: some 20 us for a pattern of 30 characters; max_states bounds the subsets, and 200 times as many the steps of all of them.
// Threads: a pure function.
// Source: R. McNaughton, H. Yamada (1960); A. Chandra, D. Kozen, L. Stockmeyer, "Alternation" (1981), for the conditions.
#pragma once

#include <string_view>

#include "patterns/ecma_reader.hpp"
#include "text/automaton.hpp"

namespace psc {

// Throws PatternError (patterns/ecma_reader.hpp, where the syntax is described) and LimitExceeded.
TextAutomaton pattern_automaton(std::u32string_view pattern, std::size_t max_states = kMaxTextStates);

}  // namespace psc
