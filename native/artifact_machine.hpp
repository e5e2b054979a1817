// A machine over the tables of an artifact: everything is there but the mask rows.
//
// The constructor takes untrusted tables: every length, index and number is checked before anything uses it (TableCheck), then what they
// mean together; a violation is a std::invalid_argument that names the array. After that, nothing needs a check.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "machine.hpp"

namespace psc {

struct ArtifactTables {
    LexerTables lexer;
    LrTables lr;
    ClassifierTables classifier;
    TokenTables tokens;
    GivenTokens given;
};

class ArtifactMachine final : public Machine {
public:
    // `cache_limit`: bytes, 0 for none.
    ArtifactMachine(ArtifactTables tables, std::size_t cache_limit);

    Word n_lexer_states() override { return t_.lexer.n_lexer_states; }
    std::span<const Word> emission(Word id) const override { return words_of(t_.lexer.output({id})); }
    std::span<const Word> alternatives(Word branch) const override {
        const auto ways = t_.lexer.branch_offsets[Branch{branch}];
        return {branches_.data() + 2 * ways.begin, 2 * ways.size()};
    }
    std::span<const Word> condition(Word symbol) const override {
        return words_of(t_.lexer.condition(OutputSymbol{symbol}.condition(lr_.n_terminals)));
    }
    std::span<const Word> at_end(Word state) override { return words_of(t_.lexer.ends_of({state})); }
    Word futures(Word state) override { return t_.lexer.futures[LexerState{state}].v; }
    std::span<const Word> future_edges(Word set) const override {
        const auto edges = t_.lexer.future_offsets[FutureSet{set}];
        return {future_edges_.data() + 2 * edges.begin, 2 * edges.size()};
    }

private:
    LexArc build_lex_arc(Word, Word) override;
    Word build_start(Cache&, Word, Work&) override;
    Arc build_transition(Cache&, Word, Word, Work&) override;
    void add_parts(Cache& cache, Word emission, std::vector<Word>& out) override;
    void compose(Cache& cache, Word lexer_state, std::span<const Word> parts, std::uint32_t* words) override;

    void check() const;
    void add_set(std::uint32_t* words, ClassSet set);
    void add_tokens(std::uint32_t* words, ClassSet set) const;

    ArtifactTables t_;
    std::unique_ptr<std::atomic<PackedArc>[]> arcs_;
    std::vector<Word> branches_;        // (emission, state), one after the other
    std::vector<Word> future_edges_;    // (symbol, set), one after the other
    std::vector<Word> member_offsets_;  // token class, the stop tokens behind them -> their tokens in `members_`
    std::vector<TokenId> members_;
    std::vector<std::uint8_t> stop_;
    std::vector<Word> set_tokens_;                              // per set of classes, how many tokens
    std::vector<std::unique_ptr<std::uint32_t[]>> dense_sets_;  // large sets as bits, made when first needed
    std::vector<char> wanted_labels_;                           // scratch of compose
};

}  // namespace psc
