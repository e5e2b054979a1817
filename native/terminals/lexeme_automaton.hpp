// The byte automaton of all terminals as the lexer reads it: over classes of bytes, with facts about each state.
//
// Byte classes: bytes that lead to the same state everywhere. A state is *extensible* when some byte leads on from it. It is
// *unbounded* when it does not accept and lies on a cycle of such states, as inside an opened comment: the text that is read there
// may be as long as it likes before the lexeme is complete. *Reachable* from a state are the terminals that an open lexeme in it
// can still become.
//
// Two kinds implement it. ClosedLexemes, below, has every state and computes all facts beforehand. OpenLexemes (open_lexemes.hpp)
// makes the states that the lexer visits.
//
// Cost: ClosedLexemes is made in states x classes, plus the size of all reachable sets; then each call is a load or two.
// Threads: ClosedLexemes may be read by any number; OpenLexemes is used under the lexer's lock.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/grouped.hpp"
#include "base/ids.hpp"
#include "terminals/contexts.hpp"

namespace psc {

class LexemeAutomaton {
public:
    virtual ~LexemeAutomaton() = default;
    LexemeAutomaton(const LexemeAutomaton&) = delete;
    LexemeAutomaton& operator=(const LexemeAutomaton&) = delete;

    Word n_classes() const { return classes_.size(); }
    const std::array<ByteClass, 256>& byte_class() const { return classes_.class_of(); }
    // By context; no arc leads into one.
    std::span<const DfaState> starts() const { return ids_of<DfaState>(starts_); }
    bool is_ignored(Terminal terminal) const { return ignored_[terminal.index()]; }
    // The number of terminals that text is lexed into; the end of the text is the one after them.
    Word n_terminals() const { return static_cast<Word>(ignored_.size()); }

    virtual Maybe<DfaState> next(DfaState state, ByteClass byte_class) = 0;
    // The terminal that wins, or with `any` lexing all that match; none where the lexeme is incomplete.
    virtual std::span<const Terminal> accepted(DfaState state) const = 0;
    bool accepts(DfaState state) const { return !accepted(state).empty(); }
    virtual bool is_extensible(DfaState state) const = 0;
    // For maximal munch only, not for `any` lexing.
    virtual bool is_unbounded(DfaState state) const = 0;
    virtual std::span<const Terminal> reachable(DfaState state) = 0;
    // A state like `state` without some terminals that are not allowed (`allowed`: per terminal); `state` itself is always correct.
    virtual DfaState restricted(DfaState state, const std::vector<char>& /*allowed*/) { return state; }
    // A state from which texts of up to `longest_token` bytes do the same, and the same may follow them; one for many states that differ
    // in a count.
    virtual DfaState alike(DfaState state, Word /*longest_token*/) { return state; }
    // Whether alike() may give other states.
    virtual bool counts() const { return false; }
    // Steps that making states has cost so far.
    virtual std::size_t cost() const { return 0; }
    virtual std::size_t bytes() const = 0;

protected:
    LexemeAutomaton(ByteClasses classes, std::vector<Word> starts, std::vector<std::uint8_t> ignored)
        : classes_(std::move(classes)), starts_(std::move(starts)), ignored_(std::move(ignored)) {}

private:
    ByteClasses classes_;
    std::vector<Word> starts_;
    std::vector<std::uint8_t> ignored_;
};

class ClosedLexemes final : public LexemeAutomaton {
public:
    explicit ClosedLexemes(TerminalAutomaton automaton);

    Maybe<DfaState> next(DfaState state, ByteClass byte_class) override {
        return Maybe<DfaState>::from_word(next_[state.index() * static_cast<std::size_t>(n_classes()) + byte_class.index()]);
    }
    std::span<const Terminal> accepted(DfaState state) const override {
        const auto from = static_cast<std::size_t>(accept_offsets_[state.index()]);
        return ids_of<Terminal>(std::span(accepts_).subspan(from, accept_offsets_[state.index() + 1] - from));
    }
    bool is_extensible(DfaState state) const override { return extensible_[state.index()]; }
    bool is_unbounded(DfaState state) const override { return unbounded_[state.index()]; }
    std::span<const Terminal> reachable(DfaState state) override { return ids_of<Terminal>(reachable_[state.index()]); }
    std::size_t bytes() const override;

private:
    void find_unbounded();
    void find_reachable();

    Word n_states_;
    std::vector<Word> next_, accept_offsets_, accepts_;  // as of a TerminalAutomaton
    std::vector<char> extensible_, unbounded_;
    Grouped<> reachable_;  // per state
};

}  // namespace psc
