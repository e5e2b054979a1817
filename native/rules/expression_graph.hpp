// Expressions with every part numbered once: equal parts are one node, and nodes are simplified as they are made.
//
// The simplifications keep the language and matter for what follows: neighbours that repeat the same body become one repetition,
// and a repetition of a repetition becomes one where the counts that it allows have no gaps, so that `ws ws` and `(x{1,9}){0,9}` do
// not become ambiguous. Each node carries the facts that lowering needs. Parts have smaller numbers than what they are part of.
//
// Example: sequence(x{1,2}, x) is the node x{2,3}; choice("a", [b-d]) is [a-d].
//
// Cost: a node is made in time linear in its parts (and in the rules that it refers to). Threads: one at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/intern.hpp"
#include "base/limits.hpp"

namespace psc {

// The least and the greatest count of a repetition.
struct Bounds {
    static constexpr std::int64_t kOpen = -1;

    std::int64_t least, most;

    auto operator<=>(const Bounds&) const = default;
    bool open() const { return most == kOpen; }
};

class ExpressionGraph {
public:
    enum class Kind : Word { text, chars, sequence, choice, repeat, reference, automaton, counted };

    // The largest bound of a repetition, also after repetitions of repetitions have become one.
    static constexpr std::int64_t kMaxCount = limit("counts");

    ExpressionGraph();

    Expression empty() const { return {0}; }
    Expression nothing() const { return {1}; }
    Expression text(std::span<const Word> characters);
    // Inclusive ranges (first, last, first, last, ...) of code points, ascending, disjoint, not adjacent.
    Expression chars(std::span<const Word> ranges);
    Expression reference(Rule rule);
    // A deterministic automaton over characters: `accepts` is a flag per state, state 0 is the start; arcs (from, first, last, to)
    // ascend, and those that leave a state are disjoint.
    Expression automaton(std::span<const Word> accepts, std::span<const Word> arcs);
    // The same with counting states: 2 is added to their flags. `bounds` are those of a length, see rules/rule_programs.hpp.
    Expression counted(Bounds bounds, std::span<const Word> flags, std::span<const Word> arcs);
    Expression sequence(std::span<const Expression> parts);
    Expression choice(std::span<const Expression> options);
    // Throws LimitExceeded when counts become too large.
    Expression repeat(Expression body, Bounds bounds);
    // The node with other parts, simplified.
    Expression rebuild(Expression node, std::span<const Expression> parts);
    // The same language without the empty text, of a node without references. Cost: quadratic in a sequence's width.
    Expression nonempty(Expression node);

    Word size() const { return static_cast<Word>(facts_.size()); }
    Kind kind(Expression node) const { return static_cast<Kind>(keys_[node.v][0]); }
    // Making a node invalidates spans.
    std::span<const Expression> parts(Expression node) const;
    std::span<const Word> characters(Expression text) const { return keys_[text.v].subspan(1); }
    std::span<const Word> ranges(Expression chars) const { return keys_[chars.v].subspan(1); }
    std::span<const Word> accepts(Expression automaton) const {
        return keys_[automaton.v].subspan(head_of(automaton), static_cast<std::size_t>(keys_[automaton.v][1]));
    }
    std::span<const Word> arcs(Expression automaton) const {
        return keys_[automaton.v].subspan(head_of(automaton) + static_cast<std::size_t>(keys_[automaton.v][1]));
    }
    Bounds bounds_of_length(Expression counted) const { return {keys_[counted.v][2], keys_[counted.v][3]}; }
    Rule rule(Expression reference) const { return {keys_[reference.v][1]}; }
    Bounds bounds(Expression repeat) const;

    // Positions after unrolling bounded repetitions: characters of texts, classes, arcs of automata; a reference counts as one.
    // Counted up to 2^40.
    std::int64_t positions(Expression node) const { return facts_[node.v].positions; }
    // The size, unrolled, of the largest counted repetition within.
    std::int64_t counted(Expression node) const { return facts_[node.v].counted; }
    // Whether it repeats characters of a large class without limit, as the inside of a quoted text does.
    bool is_free(Expression node) const { return facts_[node.v].free; }
    Word depth(Expression node) const { return facts_[node.v].depth; }
    // Whether the empty text matches; references are taken to match nonempty texts only.
    bool nullable(Expression node) const { return facts_[node.v].nullable; }
    // Whether nonempty() stays small: no sequence of many parts that can all be empty.
    bool separable(Expression node) const { return facts_[node.v].separable; }
    // The rules referred to, ascending. The span stays valid until a node is made.
    std::span<const Word> rules(Expression node) const { return rule_sets_[facts_[node.v].rules]; }
    bool refers(Expression node) const { return facts_[node.v].rules != 0; }
    bool refers_to(Expression node, Rule rule) const;

private:
    struct Facts {
        std::int64_t positions = 0, counted = 0;
        Word depth = 1, rules = 0;
        bool free = false, large_class = false, nullable = false, separable = true;
    };

    std::size_t head_of(Expression automaton) const { return kind(automaton) == Kind::counted ? 4 : 2; }
    // The node of a key: its kind, then what it is made of.
    Expression node(std::span<const Word> key);
    Expression composite(Kind kind, std::span<const Expression> parts);
    Facts facts(Expression node);
    Expression without_empty(Expression automaton);
    Word union_of_rules(std::span<const Expression> parts);
    // One repetition for two neighbours of which one repeats, where both are of the same body: x{a,b} x{c,d} = x{a+c,b+d}.
    bool join(Expression& left, Expression right);

    SequenceInterner keys_, rule_sets_;
    std::vector<Facts> facts_;  // per node
    std::vector<Word> rest_;    // per node, the cached nonempty(), or -1
    std::vector<Word> stamp_;   // per node, the last choice that has it
    Word choices_ = 0;
    // Storage that calls share.
    std::vector<Word> key_, all_rules_, row_;
    std::vector<Expression> flat_;
};

// The ranges ascending, with overlapping and touching ones merged.
std::vector<Word> merged_ranges(std::span<const Word> ranges);

}  // namespace psc
