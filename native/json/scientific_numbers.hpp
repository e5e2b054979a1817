// Sets of numbers as the sets of their normalized scientific spellings: -?[1-9](\.[0-9]+)?[eE][+-]?[0-9]+
//
// With one digit before the point the exponent decides a comparison, and where it equals the bound's, the digits do. These are the
// spellings in which Python and JavaScript write large and small numbers (1e-07, 1.5e+21). Zero has none. A complement is taken
// within scientific_numbers(); together with plain decimals (json/numbers.hpp) a set is a union. Multiples are left out: they would
// need the remainders of powers of ten.
//
// Cost: some 12 states for each digit of the bound. Threads: pure functions.
#pragma once

#include "json/numbers.hpp"

namespace psc {

TextAutomaton scientific_numbers();
TextAutomaton scientific_equal_to(const Decimal& value, std::size_t max_states = kMaxTextStates);
TextAutomaton scientific_at_least(const Decimal& bound, bool exclusive, std::size_t max_states = kMaxTextStates);
TextAutomaton scientific_at_most(const Decimal& bound, bool exclusive, std::size_t max_states = kMaxTextStates);

}  // namespace psc
