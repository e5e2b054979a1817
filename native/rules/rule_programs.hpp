// Rules as front ends pass them: for each an expression in postfix order, without an object for each part.
//
//   text n, c1 .. cn               these characters, one after the other
//   chars n, (first last) x n      one character of these ranges: ascending, disjoint, not adjacent
//   sequence k                     the last k expressions, one after the other
//   choice k                       any one of the last k expressions; of none, nothing matches
//   repeat least most              the last expression, repeated; most = -1: without limit
//   reference r                    the rule of that number
//   automaton n k, f1 .. fn,       a deterministic automaton over characters, from state 0; fi: whether state i accepts; arcs
//       (from first last to) x k   ascend, and those of a state are disjoint
//   counted n k least most,        the same, of texts that arrive `least` to `most` times in a state that counts; most = -1: without
//       f1 .. fn, arcs             limit. fi: 1 where state i accepts, and 2 more where it counts. It is a terminal alone.
//
// Characters are Unicode code points, or the symbols of tokens (text/token_symbols.hpp). Rule numbers are positions in the list of
// names; names beyond the programs are rules that are referred to and not defined.
//
// Example: `a ::= "x" b*` is text 1 'x', reference 1, repeat 0 -1, sequence 2.
//
// Cost: check() is linear in the words. Threads: immutable once made.
// Tried and dropped: a Python object for each part of an expression.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/text_list.hpp"
#include "lr/free_order.hpp"
#include "rules/expression_graph.hpp"

namespace psc {

// One automaton for the languages of many rules, which is faster made deterministic than one for each.
struct LabelledAutomaton {
    struct Arc {
        Word from, first, last, to;
    };
    std::vector<Arc> arcs;                   // ascending; those of a state are disjoint
    std::vector<std::vector<Rule>> matches;  // per state, the rules that match there
    // Whether the rules' own words do not say what they match: each of them is a terminal by itself then, and no part of another.
    bool decides = false;
};

// Rules of members in any order, in the form of lr/free_order_states.hpp. None of them becomes a terminal.
struct FreeOrderRules {
    // One way in which a member can be. Ways of one member begin with the same terminals, ways of different members with different
    // ones.
    struct Way {
        Rule rule;
        MemberWay is;
    };
    Rule ready, done;
    std::vector<Way> ways;
    MemberTerms terms;
};

// Rules of an array whose items must differ (rules/unique_rules.hpp). `array` and `item` are references to the rules of their texts and
// nothing else, and the item's texts are scalars of JSON.
struct UniqueRules {
    Rule array, array_text, item, item_text;
    Word runs_out_at;  // of how many characters a beginning of an item may be to have few ends; -1: each has many
};

struct RulePrograms {
    enum Code : std::int64_t { text, chars, sequence, choice, repeat, reference, automaton, counted };

    std::vector<std::int64_t> words;
    std::vector<std::int64_t> offsets;  // per rule, and one more
    TextList names;                     // of defined rules, then of undefined ones
    Rule root;
    std::vector<LabelledAutomaton> labelled;  // no two name one rule
    std::vector<FreeOrderRules> free_orders;
    std::vector<UniqueRules> unique;

    Word n_defined() const { return static_cast<Word>(offsets.size()) - 1; }
    std::span<const std::int64_t> of(Rule rule) const {
        return std::span(words).subspan(static_cast<std::size_t>(offsets[rule.index()]),
                                        static_cast<std::size_t>(offsets[rule.index() + 1] - offsets[rule.index()]));
    }
    // The number of words from a code to the next one.
    static std::int64_t size_at(const std::int64_t* code) {
        switch (*code) {
            case text:
                return 2 + code[1];
            case chars:
                return 2 + 2 * code[1];
            case repeat:
                return 3;
            case automaton:
                return 3 + code[1] + 4 * code[2];
            case counted:
                return 5 + code[1] + 4 * code[2];
            default:
                return 2;
        }
    }
    // Throws std::invalid_argument unless the words are programs.
    void check() const;
    bool has_counted() const;
    // The same with automata for what is counted, a state for each count. Throws LimitExceeded where that are too many.
    RulePrograms written_out() const;
};

// What is counted as the words of an automaton, see RulePrograms. Throws LimitExceeded where it would have too many states.
std::vector<std::int64_t> written_out(Bounds bounds, std::span<const std::int64_t> flags, std::span<const std::int64_t> arcs);

}  // namespace psc
