// What the tokens of a vocabulary do from one lexer state: the terminal sequences that they realize, and the tokens of each.
//
// A token is read in three parts, each of which is shared as far as it can be. Inside the lexeme that is open, what happens depends
// on the automaton of the lexeme alone: that part is taken from the vocabulary's fragments, which all grammars share. Once the
// lexeme has ended, the rest of the token is read from the lexer's start, whatever was open before: what a subtree of the
// vocabulary does from the start is found once for each subtree that is large enough, and put after the terminal that ended the
// lexeme. What is left (small subtrees, fall-backs, and all of it where a lexeme may end before any byte) is walked as it is.
//
// Subtrees in which nothing is to be told apart are taken whole: texts that lead back, as in a string, those of characters that any
// text may go on with, and texts of which only the number of characters matters, as where a count says how many are left: which
// tokens have how many is known of the vocabulary (vocabulary/runs.hpp).
//
// Cost: for a new lexer state about as many steps as there are different sequences; the first ones visit most of the vocabulary.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "base/interned.hpp"
#include "classifier/sequences.hpp"
#include "classifier/token_steps.hpp"
#include "lexer/lexeme_fragments.hpp"
#include "lexer/lexer.hpp"
#include "vocabulary/index.hpp"
#include "vocabulary/runs.hpp"

namespace psc {

class TokenWalk {
public:
    TokenWalk(Lexer& lexer, SequenceTrie& trie, VocabularyIndex& vocabulary, LexemeFragments& fragments)
        : lexer_(lexer),
          trie_(trie),
          vocabulary_(vocabulary),
          fragments_(fragments),
          steps_(lexer, trie),
          path_(vocabulary.max_depth() + 1) {}

    struct Entry {
        SequenceNode sequence;  // with what the token's last lexeme can still become
        std::shared_ptr<TokenSet> tokens;
    };
    using Entries = std::vector<Entry>;  // a sequence may be there several times

    // `root`: the empty sequence, or a condition on what is on top of the stack.
    Entries from(LexerState lexer_state, SequenceNode root);

    // The node after the symbols (terminals and conditions) of `node`'s sequence and these, or none.
    Maybe<SequenceNode> extend(Maybe<SequenceNode> node, std::span<const OutputSymbol> symbols) {
        return steps_.extend(node, symbols);
    }
    std::size_t bytes() const { return bytes_ + steps_.bytes() + concatenated_.size() * 32; }

private:
    // Subtrees with fewer nodes are not worth remembering.
    static constexpr Word kLarge = 24;

    // A walk under one LR state takes what a subtree does on every stack once so many walks have gone through it: found for every
    // stack it costs some times as much.
    static constexpr int kMostAsked = 4;

    // Nodes with smaller subtrees are not worth a run.
    static constexpr Word kWorthARun = 256;

    // Subtrees with fewer nodes are walked rather than asked about.
    static constexpr Word kWorthAsking = 4;

    // Tokens by what must be viable after them: configs that differ in nothing else share a set.
    struct Sets {
        std::vector<Word> slots;  // per continuation its place in `all`, or -1
        std::vector<std::pair<Continuation, std::shared_ptr<TokenSet>>> all;
    };
    Sets no_sets();
    const Entries& from_start(VocabularyNode node);
    bool inside(LexerState lexer_state, SequenceNode root, Sets& sets, Entries& out);
    void subtree(VocabularyNode node, TokenConfig config, Sets& sets, Entries& out);
    void enter(VocabularyNode node, TokenConfig before, Sets& sets, Entries& out);
    void enter_anywhere(VocabularyNode node, TokenConfig before, Sets& sets, Entries& out);
    bool enter_run(VocabularyNode node, TokenConfig before, Sets& sets, Entries& out);
    Maybe<TokenConfig> config_above(VocabularyNode node, VocabularyNode first, TokenConfig before);
    void put_after(SequenceNode prefix, const Entries& entries, Entries& out);
    void add(TokenConfig config, Word first, Word last, Sets& sets);
    TokenSet& set_of(TokenConfig config, Sets& sets);
    bool pass(VocabularyNode node, TokenConfig config, bool again, Sets& sets);
    bool pass_character(VocabularyNode node, TokenConfig before, Sets& sets);
    bool climb(VocabularyNode node, TokenConfig config, CharacterKinds kinds, int height, int depth, Sets& sets);
    void put_tokens(Continuation continuation, const std::shared_ptr<TokenSet>& tokens, Entries& out);
    void finish(Sets sets, Entries& out);
    Maybe<SequenceNode> concatenation(SequenceNode node, SequenceNode sequence);

    // Whether what the subtree of the node does from the lexer's start is found for itself, to be put after other sequences. With
    // `any` lexing a start comes before nearly every byte, and most of what it leads to the parser forbids.
    bool shares(VocabularyNode node) {
        if (lexer_.munch() != Lexer::Munch::longest || vocabulary_[node].end.v - node.v < kLarge) return false;
        if (!narrow_) return true;
        auto& of = from_start_[node];
        return of.entries || ++of.asked > kMostAsked;
    }

    Lexer& lexer_;
    SequenceTrie& trie_;
    VocabularyIndex& vocabulary_;
    LexemeFragments& fragments_;
    TokenSteps steps_;
    bool narrow_ = false;                         // while a walk is under a condition
    std::vector<TokenConfig> path_;               // scratch of subtree(): per depth; a walk within a walk writes below it only
    std::vector<std::vector<Word>> spare_slots_;  // of finished sets, all -1
    std::vector<TokenSet*> by_length_;            // scratch of climb()
    IdMap<SequenceNode, SequenceNode, Maybe<SequenceNode>> concatenated_;
    struct FromStart {
        std::unique_ptr<Entries> entries;
        int asked = 0;  // by walks under a condition
    };
    struct Run {  // what a config leads to where it counts characters
        TokenSteps::Run steps;
        std::shared_ptr<const VocabularyRuns> tokens;
    };
    const Run* run_of(TokenConfig config);
    std::unordered_map<TokenConfig, std::optional<Run>, IdHash> runs_;
    std::unordered_map<VocabularyNode, FromStart, IdHash> from_start_;  // the byte of the node included
    std::size_t bytes_ = 0;
};

}  // namespace psc
