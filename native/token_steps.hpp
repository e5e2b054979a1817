// What reading bytes does to the lexer, for tokens read from a known lexer state: a *config* is the set of outcomes, each the terminal
// sequence emitted (a node of the trie) and the lexer state reached. Configs are interned and their steps kept in dense rows, so
// that walking a vocabulary costs one array access a byte.
//
// With a deterministic lexer a config has one outcome; with `any` lexing, or where a fall-back depends on the stack, several.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "intern.hpp"
#include "lexer.hpp"
#include "sequences.hpp"
#include "vocabulary_index.hpp"

namespace psc {

class TokenSteps {
public:
    static constexpr Word kDead = -1;

    TokenSteps(Lexer& lexer, SequenceTrie& trie) : lexer_(lexer), trie_(trie) {}

    Word config(Word node, Word state);
    Word step(Word config, Word byte_class) {
        const Word known = rows_[config][byte_class];
        return known != kUnknown ? known : find_step(config, byte_class);
    }
    // The kinds of bytes of which each leads back to the config.
    VocabularyIndex::Kinds stays(Word config) {
        VocabularyIndex::Kinds all = ~0u;
        const auto outcomes = configs_[config];
        for (std::size_t i = 1; i < outcomes.size(); i += 2) all &= state_stays(outcomes[i]);
        return all;
    }
    std::span<const Word> outcomes(Word config) const { return configs_[config]; }  // (node, state), one after the other
    Word size() const { return configs_.size(); }
    std::size_t bytes() const { return rows_.size() * (lexer_.n_classes() * sizeof(Word) + 64) + n_outcomes_ * 2 * sizeof(Word); }

    // The node after the symbols (terminals and conditions) of `node`'s sequence and these, or kNoNode.
    Word extend(Word node, std::span<const Word> symbols);
    // The nodes of which one must be viable for text that has led to `node` and the lexer state to have a continuation.
    const std::vector<Word>& futures(Word node, Word state);

private:
    static constexpr Word kUnknown = -2;

    Word find_step(Word config, Word byte_class);
    // The kinds of bytes of which each leaves the lexer in the state, without emitting.
    VocabularyIndex::Kinds state_stays(Word state);
    Word intern(const std::vector<Word>& outcomes);

    Word as_trie_has_it(Word set);

    Lexer& lexer_;
    SequenceTrie& trie_;
    std::unordered_map<Word, Word> trie_sets_;  // sets of the lexer as the trie has them
    std::vector<Word> found_;                   // by futures()
    SequenceInterner configs_;
    std::vector<std::unique_ptr<Word[]>> rows_;
    std::vector<std::optional<VocabularyIndex::Kinds>> stays_;  // per lexer state
    std::size_t n_outcomes_ = 0;                                // of all configs
};

}  // namespace psc
