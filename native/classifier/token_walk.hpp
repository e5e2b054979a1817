// What the tokens of a vocabulary do from one lexer state: the terminal sequences that they realize, and the tokens of each.
//
// A token is read in three parts, and each part is shared as widely as possible:
//   - inside the open lexeme, the automaton of that lexeme alone decides: this part comes from the vocabulary's fragments, which all
//     grammars share;
//   - after the lexeme has ended, the rest is read from the lexer's start, whatever was open before. What a large subtree of the vocabulary
//     does from the start is computed once, and put after the terminal that ended the lexeme;
//   - the rest (small subtrees, fall-backs, and everything where a lexeme may end before any byte) is walked as it is.
//
// A subtree in which all tokens have one continuation is taken whole: texts that lead back to their state, as inside a string; characters
// that any text may go on with; and texts of which only the number of characters matters, as where a count says how many are left. The
// vocabulary knows which tokens have how many characters (vocabulary/runs.hpp).
//
// Example: from the start of a string's lexeme, the tokens `ab`, `ab"` and `ab",` are: inside; inside, then the terminal STRING; the same,
// then `,` from the start. The last is the entry `,` of the start, put after STRING.
//
// Cost: for a new lexer state about one step for each different sequence; the first states visit most of the vocabulary.
// Threads: one at a time.
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
    // Subtrees with fewer nodes are not cached.
    static constexpr Word kLarge = 24;

    // Walks under one LR state that go through a subtree before its entries are computed for every stack, which costs some times as
    // much as one walk.
    static constexpr int kMaxWalksUnderOne = 4;

    // Nodes with smaller subtrees are walked without a run.
    static constexpr Word kWorthARun = 256;

    // Subtrees with fewer nodes are walked without the question whether they can be taken whole.
    static constexpr Word kWorthAsking = 4;

    // Tokens by what must be viable after them: configs that differ in nothing else share a set.
    struct Sets {
        std::vector<Word> slots;  // per continuation its index in `all`, or -1
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

    // Whether the entries of the subtree from the lexer's start are computed apart, to be put after other sequences. With `any` lexing a
    // start comes before nearly every byte, and the parser forbids most of what it leads to.
    bool shares(VocabularyNode node) {
        if (lexer_.munch() != Lexer::Munch::longest || vocabulary_[node].end.v - node.v < kLarge) return false;
        if (!narrow_) return true;
        auto& of = from_start_[node];
        return of.entries || ++of.walks > kMaxWalksUnderOne;
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
        int walks = 0;  // under a condition, that went through it
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
