// A machine over the tables of an artifact: everything is there but the mask rows.
//
// The constructor takes untrusted arrays: every length, index and number is checked before anything uses it, and a
// violation is a std::invalid_argument that names the array. After that, nothing needs a check.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "machine.hpp"

namespace psc {

// Views: who made the arrays keeps them, perhaps in a file mapped into memory that other processes share, for as long as `owner` lives.
struct RuntimeArrays {
    std::shared_ptr<void> owner;
    // lexer
    Word n_lexer_states = 0, n_byte_classes = 0;
    std::span<const std::uint8_t> byte_class;  // 256
    std::span<const Word> lexer_next, lexer_emit;  // lexer states x byte classes; next: -1, a state, then the restart, then branches
    std::span<const Word> branch_offsets, branch_emit, branch_next;  // alternatives of each branch
    std::span<const Word> emission_offsets, emission_symbols;
    std::span<const Word> condition_offsets, condition_states;  // sorted LR states
    std::span<const Word> start_of_top;  // per LR state; empty: state 0 for all
    std::span<const Word> end_offsets, ends;  // per lexer state: the emissions at the end of the text
    std::span<const Word> future_offsets, futures;  // per lexer state: emissions, one of which must be viable
    // LR
    Word n_terminals = 0, n_nonterminals = 0, n_lr_states = 0, end_state = 0;
    std::span<const Word> action_offsets, actions, gotos, production_lhs, production_length;
    // classifier
    Word start = 0, n_classifier_states = 0, n_labels = 0;
    std::span<const Word> arc_offsets, arc_symbol, arc_next, arc_skip, arc_emission;
    std::span<const Word> label_offsets, labels;  // emission -> labels
    std::span<const Word> always;  // per lexer state, a set of token classes
    std::span<const Word> meaning_offsets, meaning_labels, meaning_sets;  // lexer state -> labels, sorted, and the set each stands for
    std::span<const Word> set_offsets, set_classes;
    // vocabulary
    Word vocab_size = 0, n_classes = 0;
    std::span<const Word> class_of_token;  // -1: not text
    std::span<const Word> class_offsets;  // representative bytes of each class
    std::span<const std::uint8_t> class_bytes;
    std::span<const Word> stop_tokens;
};

class ArtifactMachine final : public Machine {
public:
    // `cache_limit`: bytes, 0 for none.
    ArtifactMachine(RuntimeArrays arrays, std::size_t cache_limit);

    Word n_lexer_states() override { return a_.n_lexer_states; }
    std::span<const Word> emission(Word id) const override { return list(a_.emission_offsets, a_.emission_symbols, id); }
    std::span<const Word> alternatives(Word branch) const override {
        return {branches_.data() + 2 * a_.branch_offsets[branch],
                2 * static_cast<std::size_t>(a_.branch_offsets[branch + 1] - a_.branch_offsets[branch])};
    }
    std::span<const Word> condition(Word symbol) const override {
        return list(a_.condition_offsets, a_.condition_states, symbol - a_.n_terminals);
    }
    std::span<const Word> at_end(Word state) override { return list(a_.end_offsets, a_.ends, state); }
    std::span<const Word> futures(Word state) override { return list(a_.future_offsets, a_.futures, state); }

private:
    static std::span<const Word> list(std::span<const Word> offsets, std::span<const Word> pool, Word i) {
        return {pool.data() + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
    }

    LexArc build_lex_arc(Word, Word) override;
    Word build_start(Cache&, Word, Work&) override;
    Arc build_transition(Cache&, Word, Word, Work&) override;
    void add_parts(Cache& cache, Word emission, std::vector<Word>& out) override;
    void compose(Cache& cache, Word lexer_state, std::span<const Word> parts, std::uint32_t* words) override;

    void check() const;
    void add_set(std::uint32_t* words, Word set);
    void add_tokens(std::uint32_t* words, Word set) const;

    RuntimeArrays a_;
    std::unique_ptr<std::atomic<PackedArc>[]> arcs_;
    std::vector<Word> branches_;  // (emission, state), one after the other
    std::vector<Word> member_offsets_, members_;  // token class -> tokens
    std::vector<std::uint8_t> stop_;
    std::vector<Word> set_tokens_;  // per set of classes, how many tokens
    std::vector<std::unique_ptr<std::uint32_t[]>> dense_sets_;  // large sets as bits, made when first needed
    std::vector<char> wanted_labels_;  // scratch of compose
};

}  // namespace psc
