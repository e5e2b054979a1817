// Sets of texts as deterministic automata over code points, and their algebra.
//
// Patterns, formats, lengths, lists of names and ranges of numbers say only which texts there may be. They are combined as sets,
// before anything is spelled in bytes: a conjunction is an intersection, `not` a difference. An arc is a range of code points, so
// Unicode's letters are some hundreds of arcs, and characters that lead nowhere have no arc.
//
// Every automaton that these functions return is minimal (M. Nerode) and trim: each state is reachable and leads to acceptance, but
// for the start of the empty set. States are numbered breadth first along ascending arcs, and arcs that touch and lead to the same
// state are one arc. So equality of the records is equality of the sets. Texts consist of Unicode scalar values: no arc has a
// surrogate.
//
// Example: {a, ab} has three states: 0 -a-> 1 -b-> 2, of which 1 and 2 accept.
//
// Cost: a product takes a step for each arc of each pair that it reaches; minimization O(a log n) for a arcs and n states (J.
// Hopcroft). More than `max_states` states while an automaton is built, or kArcsPerState times as many arcs, are a LimitExceeded.
// Threads: pure functions.
// Source: J. Hopcroft, "An n log n algorithm for minimizing states in a finite automaton" (1971).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/grouped.hpp"
#include "base/limits.hpp"

namespace psc {

struct TextAutomaton {
    struct Arc {
        Word first, last, to;  // inclusive code points
        bool operator==(const Arc&) const = default;
    };
    std::vector<Word> offsets{0, 0};  // per state into arcs, and one more; state 0 is the start
    std::vector<Arc> arcs;            // per state ascending and disjoint
    std::vector<char> accepts{0};     // per state

    Word size() const { return static_cast<Word>(accepts.size()); }
    bool operator==(const TextAutomaton&) const = default;

    // Where a code point leads from a state, or -1. O(log) of its arcs.
    Word step(Word state, Word code_point) const;

    // To build an automaton state by state, begin with `drafted`, which has none. For each state add its arcs, ascending (an arc
    // that touches the one before and leads to the same state is merged with it), then the state.
    static TextAutomaton drafted();
    void add_arc(Word first, Word last, Word to);
    void add_state(bool accepts_here);
};

inline constexpr std::size_t kMaxTextStates = limit("text_states"), kMaxTrieStates = limit("text_set_states"), kArcsPerState = 64;
inline constexpr Word kCodePoints = 0x110000, kFirstSurrogateCode = 0xD800, kLastSurrogateCode = 0xDFFF;

TextAutomaton no_text();
TextAutomaton any_text();
// A finite set; linear in its characters after sorting. A text with a lone surrogate is in no set, and left out.
// Source: J. Daciuk, S. Mihov, B. Watson, R. Watson, "Incremental Construction of Minimal Acyclic Finite-State Automata" (2000).
TextAutomaton of_texts(std::vector<std::u32string> texts, std::size_t max_states = kMaxTrieStates);

TextAutomaton intersection(const TextAutomaton& a, const TextAutomaton& b, std::size_t max_states = kMaxTextStates);
TextAutomaton union_of(const TextAutomaton& a, const TextAutomaton& b, std::size_t max_states = kMaxTextStates);
// What is in a and not in b.
TextAutomaton difference(const TextAutomaton& a, const TextAutomaton& b, std::size_t max_states = kMaxTextStates);
TextAutomaton complement(const TextAutomaton& a, std::size_t max_states = kMaxTextStates);
// Every text of a followed by every text of b.
TextAutomaton concatenation(const TextAutomaton& a, const TextAutomaton& b, std::size_t max_states = kMaxTextStates);
// `least` to `most` texts of a, one after the other; most = -1: without limit. Bounded counts are built by squaring.
TextAutomaton repeated(const TextAutomaton& a, std::int64_t least, std::int64_t most, std::size_t max_states = kMaxTextStates);
// The texts of a of which no proper prefix is in a: the shortest match of a reader that stops as soon as it can.
TextAutomaton shortest_matches(const TextAutomaton& a);
// The texts of one code point out of these inclusive ranges, without surrogates.
TextAutomaton of_characters(std::vector<std::pair<Word, Word>> ranges);
// An automaton from outside: arcs (from, first, last, to), ascending, those that leave a state disjoint; state 0 is the start.
// Throws std::invalid_argument where it is none.
TextAutomaton of_arcs(const std::vector<bool>& accepts, const std::vector<std::array<Word, 4>>& arcs);
// The texts of `least` to `most` code points; most = -1: without limit. A state is copied for each length that matters at it;
// an automaton whose texts are all short enough stays as it is.
TextAutomaton with_length(const TextAutomaton& a, std::int64_t least, std::int64_t most, std::size_t max_states = kMaxTextStates);

// The texts that arrive `least` to `most` times in a state that counts (per state); most = -1: without limit.
TextAutomaton with_count(const TextAutomaton& a, const std::vector<char>& counts, std::int64_t least, std::int64_t most,
                         std::size_t max_states = kMaxTextStates);

bool is_empty(const TextAutomaton& a);
// Whether there is a text of with_length(), without making that.
bool has_length(const TextAutomaton& a, std::int64_t least, std::int64_t most);
// The states that a text can come to more than once, which with_length() copies for each length.
std::size_t n_repeating(const TextAutomaton& a);
bool accepts(const TextAutomaton& a, std::u32string_view text);
// A shortest text; of several, the first by code points.
std::optional<std::u32string> shortest(const TextAutomaton& a);

// Per state, those with an arc to it, once for each arc.
Grouped<> sources_of(const TextAutomaton& a);

// Per state, the number of characters to acceptance, at least (-1: never) and at most (-1: without limit).
struct TextLengths {
    std::vector<Word> least, most;
};
TextLengths lengths_of(const TextAutomaton& a);

// The same set as the automaton described above. Arcs that touch need not be merged, nor states be reachable or live.
TextAutomaton minimal(const TextAutomaton& a);

}  // namespace psc
