// The byte automaton that a lexer runs on, from the automaton of all terminals: which terminal wins where several match, and, for a
// contextual lexer, one start state for each set of terminals that some LR state allows.
//
// A state of the contextual automaton is a state of the automaton of all terminals with the allowed terminals that are still
// reachable from it. Equivalent states are merged, so contexts share everything that does not depend on them: inside a string there
// is one state, whatever the context.
//
// Example: over the terminals NAME and `if`, the text `if` accepts `if` in a context with both, and NAME in one without `if`.
//
// A flush context has no lexeme that begins with what an ignored terminal matches: states where one matches are left out of it.
//
// Cost: product states x byte classes, then one minimization. Threads: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "base/intern.hpp"
#include "text/byte_classes.hpp"

namespace psc {

constexpr Word kFail = -1;

// Deterministic, over bytes; state 0 is a start with no arc into it.
struct AllTerminals {
    Word n_states = 0;
    ByteClasses classes;                       // bytes that lead from each state to the same one, and no finer ones
    std::vector<Word> next;                    // state * classes.size() + class, or kFail
    std::vector<Word> match_offsets, matches;  // per state, the terminals that match there, sorted
    std::vector<Word> rank;                    // per terminal: the smallest wins
    std::vector<std::uint8_t> ignored;         // per terminal
};

struct TerminalAutomaton {
    Word n_states = 0;
    ByteClasses classes;
    std::vector<Word> next;                     // state * classes.size() + class, or kFail
    std::vector<Word> accept_offsets, accepts;  // per state: the terminal that wins; with `any` lexing, all that match
    std::vector<std::uint8_t> ignored;
    std::vector<Word> starts;  // per context; no arc leads into one

    std::span<const Word> accept(Word state) const {
        return {accepts.data() + accept_offsets[state],
                static_cast<std::size_t>(accept_offsets[state + 1] - accept_offsets[state])};
    }
};

struct TerminalContext {
    std::vector<Word> terminals;  // that may match, sorted
    bool flush = false;

    auto operator<=>(const TerminalContext&) const = default;
};

// One context with every terminal. Where several match, the one of smallest rank wins.
TerminalAutomaton winners_only(const AllTerminals& all);
// One context with every terminal. Where several match, each is accepted.
TerminalAutomaton every_match(const AllTerminals& all);
// Equivalent starts are one.
TerminalAutomaton for_contexts(const AllTerminals& all, const std::vector<TerminalContext>& contexts);

}  // namespace psc
