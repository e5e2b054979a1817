// A machine that is built on first visit: the just-in-time half.
//
// For a lexer state it walks the vocabulary's trie, which gives the terminal sequences that tokens realize from there and the
// tokens of each; those sequences are a start of the classifier, whose transitions are built as stacks are read. All of
// it is the code that builds artifacts (lexer, sequences, classifier), asked for less.
//
// A *view* is what one such walk has found. It is of a lexer state on every stack, or, while the machine is young, of a lexer state
// under one LR state: of what tokens could be most is dead at once there, so that the early masks cost little. The first
// mask of all has no view: it is read (matcher/tokens.cpp).
//
// Cost: a lexer state's first visit is a walk over the part of the vocabulary that was not walked before (TokenWalk); a new stack
// top is a few classifier transitions.
#pragma once

#include <memory>

#include "classifier/token_walk.hpp"
#include "lexer/lexeme_fragments.hpp"
#include "lexer/lexer.hpp"
#include "lr/lalr.hpp"
#include "machine/engine.hpp"
#include "vocabulary/index.hpp"

namespace psc {

class LazyMachine final : public Engine, private LexerVisits {
public:
    // `lexer`: of these tables, see lexer/kinds.hpp. `cache_limit`: bytes, 0 for none.
    LazyMachine(LrTables lr, std::unique_ptr<Lexer> lexer, std::shared_ptr<VocabularyIndex> vocabulary, std::size_t cache_limit);

    Word n_lexer_states() override;
    Word n_conditions() override;
    std::span<const OutputSymbol> output(LexOutput id) const override { return lexer_owner_->output(id); }
    std::span<const LexWay> ways(Branch branch) const override { return lexer_owner_->ways(branch); }
    std::span<const LrState> condition(OutputSymbol symbol) const override { return lexer_owner_->condition(symbol); }
    std::span<const LexOutput> at_end(LexerState state) override;
    FutureSet futures(LexerState state) override;
    std::span<const FutureEdge> future_edges(FutureSet set) const override { return lexer_owner_->future_sets().edges(set); }

    // With the lexer, as far as it is built.
    std::size_t table_bytes() const override;
    bool is_broken() const override { return is_broken_.load(std::memory_order_relaxed); }

    struct Counts {
        Word lexer_states, visited_lexer_states, sequences, classifier_states, transitions;
    };
    Counts counts();

private:
    struct Visited {  // what tokens do from a lexer state, whatever stack it is on or under one LR state
        std::vector<std::shared_ptr<TokenSet>> always;  // the tokens that every stack allows
        std::vector<SequenceNode> sequences;            // sorted
        std::vector<Word> offsets;                      // per sequence a range of sets
        std::vector<std::shared_ptr<TokenSet>> sets;    // null stands for the stop tokens
    };
    struct Built : EngineCache {
        Built(const LazyMachine& m);
        std::size_t bytes() const override;
        Work work{"steps for one token or mask", 1 << 25};  // lent by the call that builds
        SequenceTrie trie;
        TokenWalk walk;
        std::vector<std::unique_ptr<Visited>> visited;  // per view
        std::vector<Word> n_views;                      // per lexer state
        std::size_t visited_bytes = 0;
        std::vector<char> wanted;  // scratch of compose(): per sequence
    };

    std::shared_ptr<RowCache> new_cache() const override { return std::make_shared<Built>(*this); }
    LexArc build_lex_arc(LexerState state, ByteClass byte_class, Work& work) override;
    const LexemeFragment* fragment(LexerState state, Work& work) override;
    LexerState narrow(LexerState state, LrState top, Work& work) override;
    bool is_extensible(LexerState state) override;
    LexerState find_alike(LexerState state) override;
    LexerView build_view(EngineCache& cache, LexerState lexer_state, LrState top, Work& work) override;
    MaskRow compose(EngineCache& cache, LexerView view, std::span<const Word> members) override;

    // What tokens do from a lexer state, under this node of the trie: the empty sequence, or a condition on the LR state on top.
    std::unique_ptr<Visited> visit(Built& cache, LexerState lexer_state, SequenceNode root);

    // What `f` makes with the lexer, under the lock. The lexer stays when caches are dropped, as matchers have its states: where memory
    // ran out, a state or a set may be half there, of which a mask could be wrong.
    template <class F>
    decltype(auto) with_lexer(const F& f) {
        if (is_broken()) throw RanOutOfMemory();
        try {
            return f();
        } catch (const std::bad_alloc&) {
            is_broken_.store(true, std::memory_order_relaxed);
            throw;
        }
    }
    // The same, and `work` pays for it.
    template <class F>
    auto with_lexer(Work& work, const F& f) {
        return with_lexer([&] {
            const Lexer::Paying paying(*lexer_owner_, work);
            auto made = f();
            lexer_owner_->pay();
            return made;
        });
    }

    // Of smaller vocabularies all is found at once, which costs little.
    static constexpr Word kLargeVocabulary = 4096, kMaxReads = 64;
    // A machine with fewer views is young: one of a lexer state may be under one LR state only.
    static constexpr std::size_t kYoung = 8;

    std::atomic<bool> is_broken_{false};
    StackPredecessors below_;
    std::unique_ptr<Lexer> lexer_owner_;
    std::shared_ptr<VocabularyIndex> index_;
    mutable LexemeFragments fragments_;
    std::vector<std::vector<char>> allowed_;  // per LR state the terminals that it has an action for, where they were asked for
    MaskRows::Bits spare_;                    // scratch of compose(), of n_words(), or null
};

}  // namespace psc
