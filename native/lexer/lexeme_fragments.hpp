// What tokens do inside the open lexeme of a lexer state, taken from the vocabulary's fragments.
//
// Cost: for a new state, each class of bytes in the states that are reached inside the lexeme; a walk over the vocabulary where no
// grammar had a lexeme of that shape before. Threads: one at a time.
#pragma once

#include <memory>
#include <vector>

#include "lexer/lexer.hpp"
#include "vocabulary/index.hpp"

namespace psc {

// The part of a lexer that is reached from a state without emitting.
struct LexemeFragment {
    std::vector<LexerState> states;  // as the fragment numbers them: the first is where reading begins
    std::shared_ptr<const VocabularyIndex::Fragment> tokens;
};

class LexemeFragments {
public:
    // Both outlive this.
    LexemeFragments(Lexer& lexer, VocabularyIndex& vocabulary) : lexer_(lexer), vocabulary_(vocabulary) {}

    // Null where too many states are reached. The result stays valid.
    const LexemeFragment* from(LexerState state) { return from(state, false); }
    // Also null where few tokens stay inside, since reading these is cheaper, and where the vocabulary has no such shape yet.
    const LexemeFragment* worthwhile_from(LexerState state) { return is_wide(state) ? from(state, true) : nullptr; }
    std::size_t bytes() const { return cache_.capacity() * sizeof(cache_[0]) + bytes_; }

private:
    // Where a byte leads inside the lexeme; none where it does more, or fails.
    struct Inside {
        bool fails;
        Maybe<LexerState> to;
    };
    Inside step(LexerState state, ByteClass byte_class);
    const LexemeFragment* from(LexerState state, bool hesitates);
    bool is_wide(LexerState state);
    std::unique_ptr<LexemeFragment> find(LexerState state, bool hesitates);
    bool spreads(LexerState state) const { return state.index() < cache_.size() && cache_[state.index()].spreads; }

    struct Entry {
        bool spreads = false;  // whether too many states are reached
        std::unique_ptr<LexemeFragment> fragment;
    };
    Lexer& lexer_;
    VocabularyIndex& vocabulary_;
    std::vector<Entry> cache_;  // per lexer state, as far as there are any
    std::size_t bytes_ = 0;
};

}  // namespace psc
