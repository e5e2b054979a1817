// What a matcher reads: the tables of an artifact, checked once when they are loaded, and the mask rows made from them.
//
// The constructor takes untrusted arrays: every length, index and number is checked before anything uses it, and a
// violation is a std::invalid_argument that names the array. After that, nothing needs a check.
//
// Mask rows are made on first use and kept: a row is named by (lexer state, set of emissions read), rows of equal
// content are one. In the steady state a step costs a lookup per emission read, and one for the row.
//
// Not safe for use from several threads at once; the Python side holds the interpreter lock.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "intern.hpp"

namespace psc {

struct RuntimeArrays {
    // lexer
    Word n_lexer_states = 0, n_byte_classes = 0;
    std::vector<std::uint8_t> byte_class;  // 256
    std::vector<Word> lexer_next, lexer_emit;  // lexer states x byte classes
    std::vector<Word> emission_offsets, emission_terminals;
    std::vector<Word> at_end;  // per lexer state
    std::vector<Word> future_offsets, futures;  // per lexer state: emissions, one of which must be viable
    // LR
    Word n_terminals = 0, n_nonterminals = 0, n_lr_states = 0, end_state = 0;
    std::vector<Word> action_offsets, actions, gotos, production_lhs, production_length;
    // classifier
    Word start = 0, n_classifier_states = 0, n_labels = 0;
    std::vector<Word> arc_offsets, arc_symbol, arc_next, arc_skip, arc_emission;
    std::vector<Word> label_offsets, labels;  // emission -> labels
    std::vector<Word> always;  // per lexer state, a set of token classes
    std::vector<Word> meaning_offsets, meaning_labels, meaning_sets;  // lexer state -> labels, sorted, and the set each stands for
    std::vector<Word> set_offsets, set_classes;
    // vocabulary
    Word vocab_size = 0, n_classes = 0;
    std::vector<Word> class_of_token;  // -1: not text
    std::vector<Word> class_offsets;  // representative bytes of each class
    std::vector<std::uint8_t> class_bytes;
    std::vector<Word> stop_tokens;
};

class RuntimeTables {
public:
    explicit RuntimeTables(RuntimeArrays arrays);

    const RuntimeArrays& arrays() const { return a_; }

    // The classifier's transition for `symbol`; null where no stack of the grammar leads.
    struct Arc {
        Word next, skip, emission;
    };
    bool transition(Word state, Word symbol, Arc& out) const;

    // The set of emissions `set` with one more; 0 is empty.
    Word with_emission(Word set, Word emission) {
        if (const Word known = unions_.find(set, emission); known >= 0) return known;
        return make_union(set, emission);
    }

    // The mask row of a lexer state and a set of emissions.
    Word row(Word lexer_state, Word emissions) {
        if (const Word known = row_ids_.find(lexer_state, emissions); known >= 0) return known;
        return make_row(lexer_state, emissions);
    }

    const std::uint32_t* row_words(Word row) const { return rows_[row].get(); }
    std::size_t n_words() const { return n_words_; }
    Word n_rows() const { return static_cast<Word>(rows_.size()); }
    std::size_t row_bytes() const { return rows_.size() * n_words_ * 4; }
    bool allowed(Word row, Word token) const { return rows_[row][token >> 5] >> (token & 31) & 1; }
    bool is_stop(Word token) const { return stop_[token]; }

private:
    void check() const;
    Word make_union(Word set, Word emission);
    Word make_row(Word lexer_state, Word emissions);
    void add_set(std::uint32_t* words, Word set);
    void add_tokens(std::uint32_t* words, Word set) const;

    RuntimeArrays a_;
    std::size_t n_words_;
    std::vector<Word> member_offsets_, members_;  // token class -> tokens
    std::vector<std::uint8_t> stop_;
    std::vector<Word> set_tokens_;  // per set of classes, how many tokens
    std::vector<std::unique_ptr<std::uint32_t[]>> dense_sets_;  // large sets as bits, made when first needed
    std::vector<char> wanted_labels_;  // scratch of make_row
    SequenceInterner emission_sets_;
    PairMap unions_, row_ids_;
    std::deque<std::unique_ptr<std::uint32_t[]>> rows_;  // addresses stay: NumPy views point to them
    std::vector<std::vector<Word>> rows_by_hash_;
};

}  // namespace psc
