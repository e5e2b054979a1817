// The tokens of a vocabulary by how long a run of some kinds of characters they begin with.
//
// Where a grammar counts characters (a string of at most a hundred), each character leads to a state of its own, and what a token does
// depends on its number of characters, until one comes that is of another kind: the end of the string, a backslash. Which tokens have
// so many, and at which nodes of the trie they leave the run, is the same in every grammar that counts characters of these kinds.
//
// Runs are known behind some nodes, the *heads*: the first nodes of the trie, and those behind a blank, which may be of another terminal.
//
// Cost: a visit of each trie node or two, once for a vocabulary and some kinds.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "interned.hpp"
#include "vocabulary_index.hpp"

namespace psc {

class VocabularyRuns {
public:
    using Kinds = VocabularyIndex::Kinds;
    static constexpr Word kLongest = 16;  // of longer runs the rest is left to whoever asks

    // `kinds`: of characters, with no part of one: neither kRest nor kStray, and kCut only with kWide.
    VocabularyRuns(const VocabularyIndex& vocabulary, Kinds kinds);

    struct Exit {
        VocabularyNode node;  // whose byte leaves the run, or is beyond the longest
        Word length;          // of the run before it
    };
    // What is behind a head. The character that its byte is, or begins, is not part of the run, whatever its kind.
    struct Behind {
        std::vector<std::shared_ptr<TokenSet>> whole;  // by the length of the run: the tokens that are nothing more. May be null
        std::vector<Exit> exits;
    };
    // Null for a node that is no head: a small one, and a byte that begins no character, or some that are cut off and go on.
    const Behind* behind(VocabularyNode head) const {
        const auto it = behind_.find(head);
        return it == behind_.end() ? nullptr : &it->second;
    }
    std::size_t bytes() const;

private:
    // A smaller subtree is walked as quickly.
    static constexpr Word kLarge = 256;

    void read_behind(const VocabularyIndex& vocabulary, VocabularyNode head, Kinds kinds);

    std::unordered_map<VocabularyNode, Behind, IdHash> behind_;
};

}  // namespace psc
