// Sets of numbers as the sets of their plain decimal spellings: -?(0|[1-9][0-9]*)(\.[0-9]+)?
//
// Membership depends on the value alone: with a spelling, all others of its value are in the set, -0 with 0 and 1.50 with 1.5. So
// the sets are combined as automata (text/automaton.hpp), a complement being taken within plain_numbers(). A bound is compared
// digit by digit, which takes two states for each of its digits; for multiples, the states are remainders.
//
// Exponents are left out: 1 followed by n zeros and e-k is at most 1 if k is at least n, which no finite automaton can tell.
// Every value has a plain spelling.
//
// Example: at_most(9) takes 9, 8.75, 9.0 and -100, and refuses 9.01 and 10.
//
// Cost: linear in the digits of the bound; multiples_of as below. Threads: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "text/automaton.hpp"

namespace psc {

// A number as JSON has it, of any size: digits times 10^exponent. The digits neither begin nor end with 0; zero has none.
struct Decimal {
    bool negative = false;
    std::string digits;
    std::int64_t exponent = 0;

    bool is_zero() const { return digits.empty(); }
    // Compares values; -0 is 0.
    bool operator==(const Decimal& other) const;
    // The number of digits before the point, when written out; at least 1 with 0 itself.
    std::int64_t places_before_point() const { return static_cast<std::int64_t>(digits.size()) + exponent; }
};

// Throws std::invalid_argument unless it is a number of JSON; LimitExceeded for an exponent of more than nine digits.
Decimal parse_decimal(std::string_view text);
// -1, 0 or 1.
int compare(const Decimal& a, const Decimal& b);

TextAutomaton plain_numbers();
TextAutomaton integers();                   // 1, 1.0, 1.00
TextAutomaton integers_without_fraction();  // what draft 4 means by an integer

TextAutomaton equal_to(const Decimal& value, std::size_t max_states = kMaxTextStates);
// Those equal to one of the values, in time linear in their digits.
TextAutomaton equal_to_any(std::span<const Decimal> values, std::size_t max_states = kMaxTrieStates);
TextAutomaton at_least(const Decimal& bound, bool exclusive, std::size_t max_states = kMaxTextStates);
TextAutomaton at_most(const Decimal& bound, bool exclusive, std::size_t max_states = kMaxTextStates);
// As many states as the divisor's digits, read as an integer, times its decimal places; throws std::invalid_argument for 0.
TextAutomaton multiples_of(const Decimal& divisor, std::size_t max_states = kMaxTextStates);

}  // namespace psc
