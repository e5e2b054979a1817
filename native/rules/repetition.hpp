// Counted repetition of a symbol as a binary counter on the parser stack: x{m,n} in O(log n) productions.
//
// With T(0) = x and T(k+1) = T(k) T(k), so that T(k) is 2^k times x,
//
// * exactly m is the product of the T(k) over the bits of m, largest first;
// * 1 up to 2^k - 1 is U(k) = T(k-1) U(k-1) | T(k-1) | U(k-1), U(1) = x;
// * 1 up to r, where 2^k <= r < 2^(k+1), is T(k) (1 up to r-2^k) | T(k) | U(k).
//
// Every count has one derivation, the digits of its binary form, and a parser that has read some x holds exactly these digits, so
// the tables need no conflict (LALR(1)) unless x itself may follow the repetition. No production is empty: what may be left out is
// an optional symbol where it is used. Compare the repetition compression of XGrammar 2 (section 3.6), which counts outside the
// grammar.
//
// Example: x{5} is T(2) x, since 5 is 101 in binary.
//
// Cost: at most 3 log2 n nonterminals; a parser makes two reductions for each x on average. Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/draft_productions.hpp"
#include "rules/expression_graph.hpp"

namespace psc {

// Adds repetitions to productions; repetitions of one symbol share nonterminals. New ones are named after `name`.
class Repetition {
public:
    explicit Repetition(DraftProductions& productions) : productions_(productions) {}

    // x{least,most} to stand in a right-hand side; x is never empty.
    OptionalSymbols symbols(DraftSymbol x, Bounds bounds, std::string_view name);
    // x once or more, as a left-recursive list: an LR parser reads it without its stack growing.
    DraftSymbol list_of(DraftSymbol x, std::string_view name);

private:
    DraftSymbol fresh(std::string_view name) { return DraftSymbol::of(productions_.fresh(name)); }
    void add(DraftSymbol lhs, std::initializer_list<OptionalSymbol> symbols) {
        productions_.add(lhs.nonterminal(), {symbols.begin(), symbols.size()});
    }
    DraftSymbol power(DraftSymbol x, std::size_t k, std::string_view name);
    OptionalSymbols exactly(DraftSymbol x, std::int64_t count, std::string_view name);
    // 1 up to 2^k - 1.
    DraftSymbol below_power(DraftSymbol x, std::size_t k, std::string_view name);
    // 1 up to `count`.
    DraftSymbol at_most(DraftSymbol x, std::int64_t count, std::string_view name);

    DraftProductions& productions_;
    std::map<DraftSymbol, std::vector<DraftSymbol>> powers_, all_below_;
    std::map<std::pair<DraftSymbol, std::int64_t>, DraftSymbol> up_to_;
    std::map<DraftSymbol, DraftSymbol> lists_;
};

}  // namespace psc
