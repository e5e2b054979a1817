// What is left of tokens behind some nodes of a vocabulary's trie, as a trie of its own.
//
// Thousands of nodes lead out of a string, one behind each beginning of a token, and what comes there is the same over and over:
// `"`, `",`, `"}`. Where all of them are read from one state, each such rest is read once, with the tokens of all nodes.
//
// Cost: made in time linear in the nodes' subtrees, besides sorting; of equal rests only one is kept.
#pragma once

#include <vector>

#include "vocabulary/index.hpp"

namespace psc {

class TokenRests {
public:
    // The byte of each of these nodes is part of what is left. None is below another.
    TokenRests(const VocabularyIndex& vocabulary, std::vector<VocabularyNode> nodes);

    VocabularyIndex::Trie trie() const { return {nodes_.data(), tokens_.data()}; }
    VocabularyNode end() const { return {static_cast<Word>(nodes_.size()) - 1}; }
    std::size_t bytes() const { return nodes_.capacity() * sizeof(nodes_[0]) + tokens_.capacity() * sizeof(Word); }

private:
    void add_subtree(const VocabularyIndex& vocabulary, VocabularyNode node, std::size_t depth);
    void add_tokens(const VocabularyIndex& vocabulary, Word first, Word last);

    std::vector<VocabularyIndex::Node> nodes_;  // and one past the end
    std::vector<Word> tokens_;                  // ids, those of a node before those below it
};

}  // namespace psc
