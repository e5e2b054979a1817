// A compilation, stage by stage: tables and automata in, the tables that the runtime needs out.
//
// Each stage is one call, so that the caller can show progress in between. They run once each, in order: any other call of a stage,
// and asking for what a stage has not made yet, throws std::logic_error; so does all that follows a stage that threw.
#pragma once

#include <memory>

#include "classifier/assembly.hpp"
#include "classifier/closed_classifier.hpp"
#include "classifier/sequences.hpp"
#include "classifier/token_classes.hpp"
#include "lexer/kinds.hpp"
#include "lr/lalr.hpp"

namespace psc {

struct Vocabulary {
    std::vector<std::uint8_t> bytes;
    std::vector<std::int64_t> offsets;  // per token id, one more at the end
    std::vector<Word> text_tokens;      // ids of the tokens that are text
};

class Compilation {
public:
    Compilation(LrTables lr, AllTerminals terminals, LexerKind kind, Vocabulary vocabulary);

    enum class Stage { none, lexer, token_classes, sequences, classifier, tables };

    void build_lexer();
    void classify_tokens();
    void find_sequences();
    // In this process, or elsewhere in groups, see classify_sequences() and merge_classifiers().
    void build_classifier();
    void assemble();

    const LrTables& lr() const { return lr_; }
    Lexer& lexer() const { return *made(lexer_, Stage::lexer); }
    const TokenClasses& classes() const { return *made(classes_, Stage::token_classes); }
    const SequenceTrie& trie() const { return *made(trie_, Stage::sequences); }
    const ClosedClassifier& classifier() const { return made(classifier_, Stage::classifier); }
    const RealizedSequences& realized() const { return made(realized_, Stage::sequences); }
    const ClassifierTables& tables() const { return made(tables_, Stage::tables); }
    std::size_t n_sequences() const { return made(sequences_, Stage::sequences).size(); }
    // R_q(v) for one lexer state.
    const Realizable& sequences(LexerState lexer_state) const { return realized().of_state[lexer_state.index()]; }
    // All of them but the empty one, which needs no stack, in groups to classify apart: those with the same first node are together.
    // Groups have about as many each, and there are fewer where there are fewer first nodes.
    std::vector<std::vector<SequenceNode>> sequence_groups(std::size_t n) const;
    std::size_t n_tokens() const { return vocabulary_.offsets.size() - 1; }

private:
    // While it lives, its stage runs; the stage is done when finish() is called.
    class Running;

    template <class Made>
    const Made& made(const Made& what, Stage by) const {
        if (done_ < by) not_made(by);
        return what;
    }
    [[noreturn]] static void not_made(Stage by);

    Stage done_ = Stage::none;
    bool running_ = false;  // or a stage threw
    LrTables lr_;
    StackPredecessors below_;
    AllTerminals terminals_;
    LexerKind kind_;
    Vocabulary vocabulary_;
    std::unique_ptr<Lexer> lexer_;
    Work work_;  // of all stages after the lexer
    std::unique_ptr<SequenceTrie> trie_;
    std::unique_ptr<TokenSteps> steps_;
    std::unique_ptr<TokenClasses> classes_;
    ClosedClassifier classifier_;
    RealizedSequences realized_;
    std::vector<SequenceNode> sequences_;  // of all lexer states, sorted
    ClassifierTables tables_;
};

}  // namespace psc
