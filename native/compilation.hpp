// A compilation, stage by stage: tables and automata in, the tables that the runtime needs out.
//
// Each stage is one call, so that the caller can show progress in between. The stages must be called in order.
#pragma once

#include <memory>

#include "assembly.hpp"
#include "closed_classifier.hpp"
#include "lalr.hpp"
#include "lexer_kinds.hpp"
#include "sequences.hpp"
#include "token_classes.hpp"

namespace psc {

struct Vocabulary {
    std::vector<std::uint8_t> bytes;
    std::vector<std::int64_t> offsets;  // per token id, one more at the end
    std::vector<Word> text_tokens;      // ids of the tokens that are text
};

class Compilation {
public:
    Compilation(LrTables lr, AllTerminals terminals, LexerKind kind, Vocabulary vocabulary);

    void build_lexer();
    void classify_tokens();
    void find_sequences();
    // In this process, or elsewhere in groups, see classify_sequences() and merge_classifiers().
    void build_classifier();
    void assemble();

    const LrTables& lr() const { return lr_; }
    Lexer& lexer() const { return *lexer_; }
    const TokenClasses& classes() const { return *classes_; }
    const SequenceTrie& trie() const { return *trie_; }
    const ClosedClassifier& classifier() const { return classifier_; }
    const RealizedSequences& realized() const { return realized_; }
    const ClassifierTables& tables() const { return tables_; }
    std::size_t n_sequences() const { return sequences_.size(); }
    // R_q(v) for one lexer state.
    const Realizable& sequences(LexerState lexer_state) const { return realized_.of_state[lexer_state.index()]; }
    // All of them but the empty one, which needs no stack, in groups to classify apart: those with the same first node are together.
    // Groups have about as many each, and there are fewer where there are fewer first nodes.
    std::vector<std::vector<SequenceNode>> sequence_groups(std::size_t n) const;
    std::size_t n_tokens() const { return vocabulary_.offsets.size() - 1; }

private:
    LrTables lr_;
    StackPredecessors below_;
    AllTerminals terminals_;
    LexerKind kind_;
    Vocabulary vocabulary_;
    std::unique_ptr<Lexer> lexer_;
    Work work_;  // to find all sequences
    std::unique_ptr<SequenceTrie> trie_;
    std::unique_ptr<TokenSteps> steps_;
    std::unique_ptr<TokenClasses> classes_;
    ClosedClassifier classifier_;
    RealizedSequences realized_;
    std::vector<SequenceNode> sequences_;  // of all lexer states, sorted
    ClassifierTables tables_;
};

}  // namespace psc
