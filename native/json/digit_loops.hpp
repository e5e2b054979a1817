// Texts in which digits do not repeat without end: fewer spellings of the same numbers, for models that write zeros for ever.
//
// A model may choose zeros, step by step, as long as they are allowed: 83.0000... is an integer for JSON Schema, and of
// {"type": "integer"} the schema says nothing that would end 1000000... . So digits that a text's automaton takes in a loop are
// counted. Digits that a bound, a constant or multipleOf spells out are no loop, and stay.
//
// Example: with_digits(integers(), 3) takes 0, 999, -20 and 7.000, and refuses 1000 and 7.0000; of at_least(1000000), which takes
// six digits before the loop begins, it takes numbers up to 999999999.
//
// Cost: with_digits makes as many states as those in loops times the count. Threads: pure functions.
// Tried and dropped: a product with the numbers of few digits, which takes all from {"minimum": 1e30} and {"const": 1e30}.
#pragma once

#include <optional>

#include "text/automaton.hpp"

namespace psc {

// The texts with at most `most` digits in a row of each loop of digits, a loop being states that lead to each other by digits alone;
// others are unlimited. All texts where none would be left.
TextAutomaton with_digits(const TextAutomaton& texts, Word most, std::size_t max_states = kMaxTextStates);

// Of plain numbers (json/numbers.hpp) that are all integers, the spellings without a point, and 0 without a minus, which readers of
// unsigned integers refuse; nothing where some number is none.
std::optional<TextAutomaton> as_integers(const TextAutomaton& numbers);

}  // namespace psc
