// The lexer: maximal munch with fall-back, as a deterministic transducer over byte classes.
//
// A state is a state of the byte automaton of all terminals, and, while a longer lexeme is open past a complete one,
// what the lexer does if that longer lexeme fails: the terminals it then emits, and the lexer state in which the rest of
// the text read has been lexed again (so a lexer state may carry terminals not yet emitted, see docs/language.md). Past
// a non-accepting state that lies on a cycle of non-accepting states (an opened comment) that text is unbounded: the
// lexer commits and the fall-back is dropped.
//
// An accepting state that cannot be extended emits at once, so the lexer is back at its start.
//
// Cost: construction visits every reachable (state, byte class) once; a step is one table lookup.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "intern.hpp"

namespace psc {

constexpr Word kFail = -1;

// The byte automaton of all terminals: minimal, deterministic, state 0 the start with no arc into it.
struct TerminalAutomaton {
    Word n_states = 0;
    std::vector<Word> next;  // state * 256 + byte, or kFail
    std::vector<Word> accept;  // per state, the winning terminal, or kFail
    std::vector<std::uint8_t> ignored;  // per terminal
};

// What the runtime needs of the lexer; emissions hold no ignored terminals.
struct LexerTables {
    Word n_states = 0;
    Word n_classes = 0;
    std::array<std::uint8_t, 256> byte_class{};
    std::vector<Word> next;  // state * n_classes + class, or kFail
    std::vector<Word> emit;  // the same shape: an emission
    std::vector<Word> emission_offsets;  // emission -> terminals; emission 0 is empty
    std::vector<Word> emission_terminals;
    std::vector<Word> at_end;  // per state: the emission at the end of the text, or kFail where a lexeme is incomplete

    std::span<const Word> emission(Word id) const {
        return {emission_terminals.data() + emission_offsets[id],
                static_cast<std::size_t>(emission_offsets[id + 1] - emission_offsets[id])};
    }
};

class Lexer {
public:
    explicit Lexer(const TerminalAutomaton& automaton);

    const LexerTables& tables() const { return tables_; }

    // F(q): the terminal sequences, one of which must be viable for the text so far to have a continuation. Sorted, none
    // a prefix of another; {()} where nothing is needed. A fall-back that re-enters itself has infinitely many; those of
    // more than `kMaxFallback` fallen-back terminals are left out.
    const std::vector<std::vector<Word>>& futures(Word state) const { return futures_[state]; }

private:
    static constexpr std::size_t kMaxFallback = 8;

    struct State {
        Word dfa;
        Word fallback_emission;  // kFail: none
        Word fallback_state;
    };
    struct Step {
        Word state;
        Word emission;
    };

    Word state_id(State s);
    Word emission_id(std::span<const Word> terminals);
    Word append(Word emission, Word more);
    Step step(Word state, std::uint8_t byte);
    bool can_fall_back(Word open, Word again);
    Word emission_at_end(Word state);
    void find_unbounded();
    void find_byte_classes();
    void build();
    void find_futures();
    std::vector<std::vector<Word>> future_of(Word state, std::size_t budget);

    const TerminalAutomaton& dfa_;
    std::vector<char> extensible_, unbounded_;
    SequenceInterner states_, emissions_;
    PairMap fall_back_;  // can_fall_back, where it is known
    PairMap asked_;  // the questions put to it
    LexerTables tables_;
    std::vector<std::uint8_t> representative_;  // a byte of each class
    std::vector<std::vector<Word>> reachable_accepts_;  // per DFA state: terminals its lexeme can still become
    std::map<std::pair<Word, std::size_t>, std::vector<std::vector<Word>>> memo_;  // future_of, where it recurses
    std::vector<std::vector<std::vector<Word>>> futures_;
};

}  // namespace psc
