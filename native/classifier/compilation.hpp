// A compilation, stage by stage: tables and automata in, the tables that the runtime needs out.
//
//   LR tables, terminals -> close_lexer -> ClosedLexer
//   with a vocabulary    -> classify_tokens -> ClassifiedTokens
//                        -> find_sequences -> TerminalSequences
//                        -> close_classifier -> ClosedClassifier      (or in groups, see classify_sequences() and merge_classifiers())
//                        -> assemble -> ClassifierTables              (classifier/assembly.hpp)
//
// A stage takes what the one before returned, so a wrong order does not compile. Each is one call, so that the caller can report
// progress in between. A stage that throws leaves the values before it as they were, and their tables can still be stored.
//
// Values share the lexer and the trie. ClassifiedTokens has most of the memory, in the steps of tokens: drop it once the sequences
// are there.
//
// Threads: one at a time goes on from the values of a compilation, as later stages complete the trie and the steps.
//
// Tried and dropped: one object with five stages that return nothing. It had to check at run time that they ran in order and once,
// that none ran after one that threw, and that each result was there when a caller read it.
#pragma once

#include <memory>

#include "classifier/assembly.hpp"
#include "classifier/closed_classifier.hpp"
#include "classifier/sequences.hpp"
#include "classifier/token_classes.hpp"
#include "lexer/kinds.hpp"
#include "lr/lalr.hpp"

namespace psc {

struct ClosedLexer {
    std::shared_ptr<const LrTables> lr;
    std::shared_ptr<Lexer> lexer;
};

// The trie of a grammar's sequences, with what it reads and what its compilation may still cost.
struct GrowingTrie {
    explicit GrowingTrie(std::shared_ptr<const LrTables> tables);

    std::shared_ptr<const LrTables> lr;
    StackPredecessors below;
    Work work;  // of all stages after the lexer
    SequenceTrie trie;
};

struct ClassifiedTokens {
    std::shared_ptr<Lexer> lexer;
    std::shared_ptr<GrowingTrie> sequences;
    std::unique_ptr<LedSteps> steps;
    std::unique_ptr<TokenClasses> classes;
};

struct TerminalSequences {
    std::shared_ptr<GrowingTrie> grown;
    RealizedSequences realized;
    std::vector<SequenceNode> all;  // of all lexer states and leads, sorted
    bool are_whole;                 // not cut behind their first terminals

    // All of them but the empty one, which needs no stack, in groups to classify apart: those with the same first node are together.
    // Groups have about as many each, and there are fewer where there are fewer first nodes.
    std::vector<std::vector<SequenceNode>> groups(std::size_t n) const;
};

ClosedLexer close_lexer(const LrTables& lr, const AllTerminals& terminals, LexerKind kind);

// `bytes`, `offsets`: the tokens, per id and one offset more; `text_tokens`: the ids of those that are text. Where the trie of sequences
// grows to more than `most_whole` nodes, it begins anew with leads (classifier/leads.hpp).
ClassifiedTokens classify_tokens(const ClosedLexer& lexer, std::span<const std::uint8_t> bytes,
                                 std::span<const std::int64_t> offsets, std::span<const TokenId> text_tokens, Word most_whole);

TerminalSequences find_sequences(const ClassifiedTokens& tokens);

// One classifier for all lexer states: a sequence that a lexer state cannot produce stands for no token there.
ClosedClassifier close_classifier(const TerminalSequences& sequences);

}  // namespace psc
