// A compilation, stage by stage: tables and automata in, the tables that the runtime needs out.
//
// Each stage is one call, so that the caller can show progress in between. The stages must be called in order.
#pragma once

#include <memory>

#include "classifier.hpp"
#include "lalr.hpp"
#include "lexer_kinds.hpp"
#include "sequences.hpp"
#include "token_classes.hpp"

namespace psc {

struct Vocabulary {
    std::vector<std::uint8_t> bytes;
    std::vector<std::int64_t> offsets;  // per token id, one more at the end
    std::vector<Word> text_tokens;  // ids of the tokens that are text
};

// Everything the matcher reads, besides the LR and lexer tables. Sets of tokens are sets of token classes; the class numbered
// `n_classes` stands for the stop tokens.
struct ClassifierTables {
    Word n_states = 0;
    Word start = 0;
    std::vector<Word> offsets;  // per state into the arcs, sorted by symbol
    std::vector<Word> symbol, next, skip, emission;
    std::vector<Word> emission_offsets, emission_labels;  // emission -> labels
    Word n_labels = 0;
    std::vector<Word> always;  // per lexer state: the set that every stack allows
    std::vector<Word> meaning_offsets, meaning_labels, meaning_sets;  // lexer state -> its labels, sorted, and the set each stands for
    std::vector<Word> set_offsets, set_classes;
};

// The sequences that some token realizes from a lexer state, each with the sets of token classes that do.
struct Realizable {
    std::vector<Word> node;  // of the trie, sorted
    std::vector<Word> offsets{0};  // per node into `sets`
    std::vector<Word> sets;

    std::span<const Word> sets_of(std::size_t i) const {
        return {sets.data() + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
    }
};

class Compilation {
public:
    Compilation(LrTables lr, AllTerminals terminals, LexerKind kind, Vocabulary vocabulary);

    void build_lexer();
    void classify_tokens();
    void find_sequences();
    void build_classifier();
    void assemble();

    const LrTables& lr() const { return lr_; }
    Lexer& lexer() const { return *lexer_; }
    const TokenClasses& classes() const { return *classes_; }
    const SequenceTrie& trie() const { return *trie_; }
    const Classifier& classifier() const { return *classifier_; }
    const ClassifierTables& tables() const { return tables_; }
    std::size_t n_sequences() const { return sequences_.size(); }
    // R_q(v) for one lexer state.
    const Realizable& sequences(Word lexer_state) const { return realizable_[lexer_state]; }
    std::span<const Word> token_set(Word set) const { return sets_[set]; }
    std::size_t n_tokens() const { return vocabulary_.offsets.size() - 1; }

private:
    LrTables lr_;
    std::vector<std::vector<Word>> below_;  // stack predecessors
    AllTerminals terminals_;
    LexerKind kind_;
    Vocabulary vocabulary_;
    std::unique_ptr<Lexer> lexer_;
    std::unique_ptr<SequenceTrie> trie_;
    std::unique_ptr<TokenSteps> steps_;
    std::unique_ptr<TokenClasses> classes_;
    std::unique_ptr<Classifier> classifier_;
    Word start_ = 0;  // of the classifier
    SequenceInterner sets_;  // sorted token classes; set 0 is empty
    std::vector<Realizable> realizable_;  // per lexer state
    std::vector<Word> sequences_;  // of all of them, sorted
    ClassifierTables tables_;
};

}  // namespace psc
