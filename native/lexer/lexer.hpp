// The lexer as a transducer over byte classes: from bytes to terminals, built state by state on request.
//
// Two kinds share it. `any` lets a lexeme end wherever it matches, as each terminal that matches, and follows every possibility.
// `longest` is maximal munch with fall-back. Its state is a state of the terminals' byte automaton and, while a longer lexeme is
// open past a complete one, a fall-back: what the lexer does if the longer lexeme fails. That is the symbols that it then emits,
// and the state in which the rest of the text read has been lexed again. So a state may carry terminals that are not emitted yet
// (docs/language.md). A non-accepting state on a cycle of non-accepting states (an opened comment) makes that rest unbounded. There
// the lexer commits: it drops the fall-back.
//
// Example: over the terminals `a`, `abbc` and `b`, after "abb" the lexeme `abbc` is open, and the fall-back is to emit a, b, b.
//
// Contexts: with a contextual lexer the start of a lexeme depends on the LR state on top of the stack. State 0 is the start whose
// context is unknown: a *condition* (a set of LR states, one of which must be on top) says under which contexts a step from it is
// taken. An output is a sequence of terminals and conditions. With one context state 0 is the start, and there are none.
//
// An accepting state that cannot be extended emits at once, so the lexer is back at state 0.
//
// Cost: a step is one table lookup once it is built.
// Threads: one at a time may build; arcs, outputs, ways and conditions that an arc leads to can be read meanwhile without a lock.
// Tried and dropped: to carry every fall-back. One that the rest of the text can never use (the rest of a UTF-8 character that both
// lexemes need) only multiplies states: SQL had 50,798 of them, and has 769.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/interned.hpp"
#include "base/work.hpp"
#include "lexer/sequence_sets.hpp"
#include "terminals/lexeme_automaton.hpp"

namespace psc {

// What happens on a byte: the lexer emits an output and continues. A restart emits before the byte is read again.
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

// One of the ways in which the lexer can continue.
struct LexWay {
    LexOutput output;
    LexerState next;

    auto operator<=>(const LexWay&) const = default;
};

// What a text may continue with: sets of sequences of terminals and conditions.
using FutureSets = SetsOf<FutureSet, OutputSymbol>;
using FutureEdge = FutureSets::Edge;

class Lexer {
public:
    struct Contexts {
        Word n_terminals = 0;  // those of the grammar, the end of text among them: conditions are numbered from here
        std::vector<Maybe<LexerContext>> of_top;  // per LR state; none where no lexeme begins. Empty: one context for all
    };
    enum class Munch { longest, any };

    Lexer(std::unique_ptr<LexemeAutomaton> automaton, Contexts contexts, Munch munch);

    Word n_states() const { return static_cast<Word>(states_.size()); }
    Word n_classes() const { return n_classes_; }
    const std::array<ByteClass, 256>& byte_class() const { return dfa_->byte_class(); }
    // Per LR state on top, the start of a lexeme; empty where that is state 0 whatever is on top.
    const std::vector<LexerState>& starts_of_tops() const { return start_of_top_; }
    Munch munch() const { return munch_; }
    bool contextual() const { return !start_of_top_.empty(); }
    // Of the start of a context: the LR states that have it. None for other states.
    std::span<const LrState> tops_of(LexerState state) const;

    // What a matcher does on the byte; builds it on first use.
    LexArc arc(LexerState state, ByteClass byte_class);
    // All ways to continue.
    std::span<const LexWay> steps(LexerState state, ByteClass byte_class) { return branches_[branch_of(state, byte_class)]; }

    // The same where there are two ways at most: the lexeme continues, or it has ended and the byte begins the next.
    struct Split {
        bool plain;                          // there are no other ways
        Maybe<LexerState> within;            // where the lexeme continues
        std::span<const LexOutput> endings;  // outputs, after which the byte is read from state 0
    };
    Split split(LexerState state, ByteClass byte_class);

    // Per state an arc for each byte class; unknown: not built.
    const std::atomic<PackedArc>* row(LexerState state) const { return rows_[state.index()]; }
    std::span<const LexWay> ways(Branch branch) const { return branches_[branch]; }
    std::span<const OutputSymbol> output(LexOutput id) const { return outputs_[id]; }
    Word n_conditions() const { return conditions_.size(); }
    bool is_condition(OutputSymbol symbol) const { return symbol.is_condition(contexts_.n_terminals); }
    std::span<const LrState> condition(OutputSymbol symbol) const {  // sorted
        return conditions_[symbol.condition(contexts_.n_terminals)];
    }

    // The outputs of which one is emitted at the end of the text; none where a lexeme is incomplete. Builds them on first use.
    const std::vector<LexOutput>& at_end(LexerState state);
    // F(q): a set of symbol sequences, one of which must be viable for the text so far to have a continuation; the set of the empty
    // one means that nothing is needed. A fall-back that re-enters itself has infinitely many; long ones
    // are left out (lexer/futures.cpp). Builds it on first use.
    FutureSet futures(LexerState state);
    const FutureSets& future_sets() const { return future_sets_; }
    // The same without building: null, or none, where not built.
    const std::vector<LexOutput>* built_at_end(LexerState state) const {
        return states_[state.index()].at_end.load(std::memory_order_acquire);
    }
    Maybe<FutureSet> built_futures(LexerState state) const {
        return Maybe<FutureSet>::from_word(states_[state.index()].futures.load(std::memory_order_acquire) - 1);
    }

    // A state equivalent to `state` where only the allowed terminals can come next, without the parts of the open lexeme that
    // become none of them. For lexers whose states are made as they are visited; others return `state`.
    LexerState restricted(LexerState state, const std::vector<char>& allowed);

    // A state from which tokens of up to so many bytes do the same, where a count is kept of a text: see LexemeAutomaton.
    LexerState alike(LexerState state, Word longest_token);
    bool counts() const { return dfa_->counts(); }

    // Whether some byte leaves the open lexeme open, or ends it within itself.
    bool is_extensible(LexerState state) const { return at(state).dfa && dfa_->is_extensible(*at(state).dfa); }

    // Builds everything reachable.
    void close();

    // While it lives, a call pays for what is built: states by their classes of bytes, steps by their ways, and what the automaton
    // says. Without one nobody pays. All is stored before it is paid for, so that the next call continues after OutOfWork.
    class Paying {
    public:
        Paying(Lexer& lexer, Work& work) : lexer_(lexer) {
            lexer_.paid_ = lexer_.cost();
            lexer_.payer_ = &work;
        }
        ~Paying() { lexer_.payer_ = nullptr; }
        Paying(const Paying&) = delete;
        Paying& operator=(const Paying&) = delete;

    private:
        Lexer& lexer_;
    };

    // For what was built since it was called last, unless a step that is being made needs more, and for `more` that its ways took.
    void pay(std::size_t more = 0) {
        cost_ += more;
        if (!payer_ || depth_ > 0) return;
        const std::size_t before = std::exchange(paid_, cost());
        payer_->spend_on_shared(paid_ - before);
    }

    // With the automaton. Not while another thread builds.
    std::size_t bytes() const;

private:
    static constexpr LexOutput kSilent{0};
    static constexpr Branch kNoFallback{0};  // the one without ways
    using Ways = std::vector<LexWay>;

    struct State {
        Maybe<DfaState> dfa;  // none for state 0 of a contextual lexer
        Branch fallback;      // what happens if the lexeme that is open fails
        std::unique_ptr<std::atomic<PackedArc>[]> row;
        std::atomic<const std::vector<LexOutput>*> at_end;
        std::atomic<Word> futures;       // the set + 1; 0: not built
        std::vector<LexOutput> endings;  // the outputs of the terminals that match here
        bool endings_built;
        std::unique_ptr<std::vector<LexOutput>> at_end_owner;
    };

    State& at(LexerState state) const { return states_[state.index()]; }
    LexerState state_id(Maybe<DfaState> dfa, Branch fallback);
    bool is_start(LexerState state) const;
    LexOutput output_id(std::span<const OutputSymbol> symbols);
    LexOutput output_of(Terminal terminal);
    OutputSymbol condition_symbol(std::span<const LrState> tops);
    // The condition that both hold; none where they exclude each other.
    Maybe<Condition> both(OutputSymbol a, OutputSymbol b);
    Maybe<LexOutput> append(LexOutput output, LexOutput more);  // none where conditions exclude each other
    Branch branch_id(Ways ways);
    Branch branch_of(LexerState state, ByteClass byte_class);
    Ways find_steps(LexerState state, ByteClass byte_class);
    Ways start_steps(ByteClass byte_class);
    void follow(LexOutput output, LexerState state, ByteClass byte_class, Ways& out);
    void fall_back(const State& s, ByteClass byte_class, Ways& out);
    bool can_fall_back(DfaState open, LexerState again);
    std::size_t cost() const { return cost_ + dfa_->cost(); }
    // Futures: see lexer/futures.cpp.
    struct Failure {
        LexOutput output;
        Maybe<LexerState> again;  // where the text is lexed again; none: the text ends, and the output has the end in it
        auto operator<=>(const Failure&) const = default;
    };
    struct NextByte {  // what it does to an incomplete lexeme
        std::vector<Failure> failures;
        std::vector<LexerState> incomplete;  // states in which the lexeme is still open, each once, in the order of the bytes
    };
    FutureSet future_set(LexerState state, std::size_t budget);
    const std::vector<Failure>& failures(LexerState state);
    const NextByte& next_byte(LexerState state);
    FutureSet put_before(LexOutput output, FutureSet set);

    std::unique_ptr<LexemeAutomaton> dfa_;
    Word n_classes_;
    Contexts contexts_;
    Munch munch_;
    std::vector<LexerState> start_of_top_;
    struct Start {
        LexerState state;
        OutputSymbol condition;  // the LR states that have it
    };
    std::vector<Start> starts_;  // of a contextual lexer
    IdMap<Maybe<DfaState>, Branch, LexerState> state_ids_;
    StableVector<State> states_;
    PublishedArray<const std::atomic<PackedArc>*> rows_;  // of the states
    StableInterned<LexOutput, OutputSymbol> outputs_;
    StableInterned<Branch, LexWay> branches_;
    StableInterned<Condition, LrState> conditions_;
    IdMap<LexerState, ByteClass, Branch> steps_;
    IdMap<DfaState, LexerState, Word> fall_back_;  // cached can_fall_back()
    IdPairs<DfaState, LexerState> questions_;      // questions to it, answered or in progress
    std::size_t n_emitted_ = 0;                    // symbols of all outputs
    int depth_ = 0;                                // of fall-backs within fall-backs that are being looked at
    std::size_t cost_ = 0, paid_ = 0;              // steps
    Work* payer_ = nullptr;
    FutureSets future_sets_;
    IdMap<LexerState, Word, FutureSet> future_ids_;  // (state, budget) -> set, where the state has a fall-back
    std::map<LexerState, std::vector<Failure>> failures_;
    std::map<LexerState, NextByte> next_bytes_;
};

}  // namespace psc
