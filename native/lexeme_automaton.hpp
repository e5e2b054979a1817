// The byte automaton of all terminals as the lexer reads it: over classes of bytes, with what is known of each state beforehand.
//
// Byte classes: bytes that lead to the same state everywhere. A state is *extensible* when some byte leads on from it. It is
// *unbounded* when it does not accept and lies on a cycle of such states, as inside an opened comment: text that is read there may
// be as long as it likes before the lexeme is complete. What is *reachable* from a state are the terminals that a lexeme open in it can
// still become.
//
// Cost: made in states x classes, and the size of the answer for what is reachable.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "ids.hpp"
#include "terminal_contexts.hpp"

namespace psc {

class LexemeAutomaton {
public:
    explicit LexemeAutomaton(TerminalAutomaton automaton);

    Word n_classes() const { return dfa_.classes.size(); }
    const std::array<ByteClass, 256>& byte_class() const { return dfa_.classes.class_of(); }
    // By context; no arc leads into one.
    std::span<const DfaState> starts() const { return ids_of<DfaState>(dfa_.starts); }
    Maybe<DfaState> next(DfaState state, ByteClass byte_class) const {
        return Maybe<DfaState>::from_word(dfa_.next[state.index() * static_cast<std::size_t>(n_classes()) + byte_class.index()]);
    }
    // The terminal that wins, or with `any` lexing all that match; none where the lexeme is incomplete.
    std::span<const Terminal> accepted(DfaState state) const { return ids_of<Terminal>(dfa_.accept(state.v)); }
    bool accepts(DfaState state) const { return !accepted(state).empty(); }
    bool is_extensible(DfaState state) const { return extensible_[state.index()]; }
    bool is_unbounded(DfaState state) const { return unbounded_[state.index()]; }
    std::span<const Terminal> reachable(DfaState state) const { return reachable_[state.index()]; }
    bool is_ignored(Terminal terminal) const { return dfa_.ignored[terminal.index()]; }
    // Terminals that text is lexed into; the end of the text is the one after them.
    Word n_terminals() const { return static_cast<Word>(dfa_.ignored.size()); }

private:
    void find_unbounded();
    void find_reachable();

    TerminalAutomaton dfa_;
    std::vector<char> extensible_, unbounded_;
    std::vector<std::vector<Terminal>> reachable_;
};

}  // namespace psc
