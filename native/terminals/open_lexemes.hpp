// The byte automaton of all terminals, made state by state as the lexer visits it; for lexing `any`.
//
// A new grammar's first masks visit a small part of its terminals' automaton: of a schema with a thousand names, the beginning of
// each. So a state is a subset of positions (terminals/subsets.hpp), and its arcs are made when the lexer first reads a byte there.
// States are not minimized: front ends write their programs such that little would merge.
//
// A DfaState is 0 for the start, which no arc leads into; 2 (s + 1) for subset s; 2 i + 1 for inner state i of a character.
//
// Cost: construction is linear in the terminals' expressions. A visited state costs what Subsets says, and a row of its byte
// classes.
// Threads: one at a time, under the lexer's lock.
#pragma once

#include <memory>
#include <vector>

#include "base/concurrent.hpp"
#include "terminals/lexeme_automaton.hpp"
#include "terminals/subsets.hpp"
#include "terminals/wide_spelling.hpp"

namespace psc {

class OpenLexemes final : public LexemeAutomaton {
public:
    // `terminals` is sound.
    explicit OpenLexemes(std::shared_ptr<const TerminalNfa> terminals);

    Maybe<DfaState> next(DfaState state, ByteClass byte_class) override;
    std::span<const Terminal> accepted(DfaState state) const override;
    bool is_extensible(DfaState state) const override;
    bool is_unbounded(DfaState) const override { return false; }
    std::span<const Terminal> reachable(DfaState state) override;
    DfaState restricted(DfaState state, const std::vector<char>& allowed) override;
    DfaState alike(DfaState state, Word longest_token) override;
    bool counts() const override { return !nfa_->positions().counting().empty(); }
    std::size_t cost() const override { return subsets_.steps() + wide_.steps() + row_steps_; }
    std::size_t bytes() const override;

private:
    static constexpr DfaState kStart{0};
    static bool is_inner(DfaState state) { return state.v % 2 != 0; }
    static Word inner_of(DfaState state) { return state.v / 2; }
    static Word subset_of(DfaState state) { return state == kStart ? 0 : state.v / 2 - 1; }
    static Word of_subset(Word s) { return 2 * (s + 1); }
    static Word of_run(Word to) { return WideSpelling::is_inner(to) ? 2 * WideSpelling::inner_of(to) + 1 : to; }

    std::unique_ptr<Word[]> make_row(DfaState state);
    void add_new_subsets();
    Word reached_from(DfaState state);
    // Per position of a program of many terminals, which of them can match from there on: numbers of lists_.
    const std::vector<Word>& reached_in(Word terminal);

    std::shared_ptr<const TerminalNfa> nfa_;
    Subsets subsets_;
    WideSpelling wide_;
    std::vector<std::unique_ptr<Word[]>> rows_;  // per state: where each class of bytes leads; null: not visited
    std::size_t row_steps_ = 0;
    struct Facts {
        Word accepted;  // of lists_
        bool extensible;
    };
    std::vector<Facts> facts_;                   // per subset
    StableSequences lists_;                      // of terminals, ascending
    std::vector<Word> reached_;                  // per state, of lists_; -1: not computed
    std::vector<std::vector<Word>> reached_in_;  // per terminal; empty: not computed
    std::vector<Subsets::Arc> arcs_;             // scratch, with the next two
    std::vector<Word> target_, key_;             // per class of characters, -1 between uses; what the wide ones lead to
};

}  // namespace psc
