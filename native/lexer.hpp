// The lexer as a transducer over byte classes: from bytes to terminals, built state by state when asked.
//
// Two kinds share it. `longest` is maximal munch with fall-back: a state is a state of the terminals' byte automaton and, while
// a longer lexeme is open past a complete one, what the lexer does if that longer lexeme fails: the symbols it then emits, and
// the state in which the rest of the text read has been lexed again (so a state may carry terminals not yet emitted, see
// docs/language.md). Past a non-accepting state that lies on a cycle of non-accepting states (an opened comment) that text is
// unbounded: the lexer commits and the fall-back is dropped. `any` lets a lexeme end wherever it matches, as each terminal that
// matches, and follows every possibility.
//
// Contexts: with a contextual lexer the start of a lexeme depends on the LR state on top of the stack. State 0 is the start whose
// context is not known: a *condition* (a set of LR states, one of which must be on top) says under which contexts a step from it
// is taken. An emission is a sequence of terminals and conditions. With one context state 0 is the start, and there are none.
//
// An accepting state that cannot be extended emits at once, so the lexer is back at state 0.
//
// One thread at a time may build; arcs, emissions, lists and conditions that an arc leads to can be read meanwhile without a lock.
//
// Cost: a step is one table lookup once it is known.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "concurrent.hpp"
#include "ids.hpp"
#include "sequence_sets.hpp"
#include "terminal_contexts.hpp"

namespace psc {

// What happens on a byte: something is emitted, and the lexer goes on. A restart emits before the byte is read again.
struct LexArc {
    LexTarget target;
    LexOutput output;

    auto operator<=>(const LexArc&) const = default;
};

// An arc in one word, so that readers need no lock.
using PackedArc = std::uint64_t;
inline PackedArc pack(LexArc a) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(a.target.word())) << 32 | static_cast<std::uint32_t>(a.output.v);
}
inline LexArc unpack(PackedArc a) {
    return {LexTarget::from_word(static_cast<Word>(a >> 32)), {static_cast<Word>(a & 0xffffffff)}};
}

// One of the ways in which the lexer can go on.
struct LexWay {
    LexOutput output;
    LexerState next;
};

// What a text may go on with, and the set of what follows that.
struct FutureEdge {
    OutputSymbol symbol;
    FutureSet then;
};

class Lexer {
public:
    struct Contexts {
        Word n_terminals = 0;      // those of the grammar, the end of text among them: conditions are numbered from here
        std::vector<Word> of_top;  // per LR state its context; -1 where no lexeme begins. Empty: one context for all
    };
    enum class Munch { longest, any };

    Lexer(TerminalAutomaton automaton, Contexts contexts, Munch munch);

    Word n_states() const { return static_cast<Word>(states_.size()); }
    Word n_classes() const { return static_cast<Word>(representative_.size()); }
    const std::array<std::uint8_t, 256>& byte_class() const { return byte_class_; }
    // The start of a lexeme where this LR state is on top.
    Word start_of(Word top) const { return start_of_top_.empty() ? 0 : start_of_top_[top]; }
    const std::vector<Word>& starts_of_tops() const { return start_of_top_; }
    Munch munch() const { return munch_; }
    bool contextual() const { return !start_of_top_.empty(); }
    // Of the start of a context: the LR states that have it. None for other states.
    std::span<const Word> tops_of(Word state) const;

    // What a matcher does; builds it when it is not known.
    LexArc arc(Word state, Word cls);
    // All that can happen, as a list of (emission, state).
    std::span<const Word> steps(Word state, Word cls) { return lists_[steps_id(state, cls)]; }

    // The same where nothing but this can happen: the lexeme goes on, or has ended and the byte begins the next.
    struct Split {
        bool plain;                     // nothing but this
        Word within;                    // the state in which the lexeme goes on, or kFail
        std::span<const Word> endings;  // emissions, after which the byte is read from state 0
    };
    Split split(Word state, Word cls);

    // Per state an arc for each byte class, unknown where it is not built.
    const std::atomic<PackedArc>* row(Word state) const { return rows_[state]; }
    // (emission, state), one after the other.
    std::span<const Word> list(Word id) const { return lists_[id]; }
    std::span<const Word> emission(Word id) const { return emissions_[id]; }
    bool is_condition(Word symbol) const { return symbol >= contexts_.n_terminals; }
    std::span<const Word> condition(Word symbol) const { return conditions_[symbol - contexts_.n_terminals]; }  // sorted LR states

    // The emissions of which one is made at the end of the text; none where a lexeme is incomplete. Builds them when not known.
    const std::vector<Word>& at_end(Word state);
    // F(q): a set of symbol sequences, one of which must be viable for the text so far to have a continuation; the set of the empty
    // one means that nothing is needed. A fall-back that re-enters itself has infinitely many; those of more than
    // `kMaxFallback` fallen-back terminals are left out. Builds it when not known.
    Word futures(Word state);
    const SequenceSets& future_sets() const { return future_sets_; }
    // The same without building: null where not known.
    const std::vector<Word>* known_at_end(Word state) const { return states_[state].at_end.load(std::memory_order_acquire); }
    Word known_futures(Word state) const { return states_[state].futures.load(std::memory_order_acquire) - 1; }  // -1: not known

    // Builds everything reachable.
    void close();

    std::size_t bytes() const { return states_.size() * (n_classes() * sizeof(PackedArc) + 96); }

private:
    static constexpr std::size_t kMaxFallback = 8;
    using List = std::vector<std::pair<Word, Word>>;  // (emission, state)

    struct State {
        Word dfa;       // kFail for state 0 of a contextual lexer
        Word fallback;  // a list; 0: none
        std::unique_ptr<std::atomic<PackedArc>[]> row;
        std::atomic<const std::vector<Word>*> at_end;
        std::atomic<Word> futures;  // the set + 1; 0: not known
        std::vector<Word> endings;  // the emissions of the terminals that match here
        bool endings_known;
        std::unique_ptr<std::vector<Word>> at_end_owner;
    };

    Word state_id(Word dfa, Word fallback);
    bool is_start(Word state) const;
    Word emission_id(std::span<const Word> symbols);
    Word emission_of(Word terminal);
    Word append(Word emission, Word more);  // kFail where conditions exclude each other
    Word list_id(List list);
    Word steps_id(Word state, Word cls);
    List find_steps(Word state, Word cls);
    void follow(Word emission, Word state, Word cls, List& out);
    bool can_fall_back(Word open, Word again);
    void find_byte_classes();
    void find_unbounded();
    void find_reachable_terminals();
    // Futures: see lexer_futures.cpp.
    using Failures = std::vector<std::pair<Word, Word>>;  // (emission, state in which the text is lexed again)
    Word future_set(Word state, std::size_t budget);
    const Failures& failures(Word state);
    Word put_before(Word emission, Word set);

    TerminalAutomaton dfa_;
    Contexts contexts_;
    Munch munch_;
    std::array<std::uint8_t, 256> byte_class_{};
    std::vector<std::uint8_t> representative_;  // a byte of each class
    std::vector<char> extensible_, unbounded_;
    std::vector<Word> start_of_top_;
    std::vector<std::pair<Word, Word>> starts_;  // of a contextual lexer: (state, condition symbol of the LR states that have it)
    PairMap state_ids_;
    StableVector<State> states_;
    PublishedArray<const std::atomic<PackedArc>*> rows_;  // of the states
    StableSequences emissions_, lists_, conditions_;
    PairMap steps_;                             // (state, class) -> list
    PairMap fall_back_;                         // can_fall_back, where it is known
    PairMap asked_;                             // the questions put to it
    std::vector<std::vector<Word>> reachable_;  // per DFA state: terminals its lexeme can still become
    std::size_t n_emitted_ = 0;                 // words of all emissions
    int depth_ = 0;                             // of fall-backs within fall-backs that are being looked at
    SequenceSets future_sets_;
    PairMap future_ids_;  // (state, budget) -> set, where the state has a fall-back
    std::map<Word, Failures> failures_;
};

}  // namespace psc
