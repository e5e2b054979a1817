// The tokens of a vocabulary by how long a run of some kinds of characters they begin with.
//
// In a text (a string, a comment) most characters are alike, and what a token does depends on how many there are of them at most,
// until one comes that is of another kind: the end of the string, a backslash. Where a grammar counts characters, each leads to a
// state of its own. Which tokens have so many, and at which nodes of the trie they leave the run, is the same in every grammar that
// has texts of these kinds of characters.
//
// Runs are known from a token's first byte on, and behind some nodes, the *heads*: the first nodes of the trie, and those behind a
// blank, which may be of another terminal.
//
// Cost: a visit of each trie node for either, once for a vocabulary and some kinds, when it is asked for first.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/interned.hpp"
#include "text/utf8_positions.hpp"
#include "vocabulary/index.hpp"
#include "vocabulary/token_rests.hpp"

namespace psc {

class VocabularyRuns {
public:
    static constexpr Word kLongest = 16;  // of longer runs the rest is left to whoever asks

    // `kinds`: of characters, with no part of one: neither kRest nor kStray, and kCut only with kWide. The vocabulary outlives
    // this.
    VocabularyRuns(const VocabularyIndex& vocabulary, CharacterKinds kinds) : vocabulary_(vocabulary), kinds_(kinds) {}

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
    const Behind* behind(VocabularyNode head) const;

    // All tokens. A character that is cut off at a token's end counts as a whole one.
    struct All {
        std::array<std::shared_ptr<TokenSet>, kLongest + 1> whole;  // by the length of the run: the tokens that are nothing more
        std::shared_ptr<TokenSet> whole_of_any;                     // their union
        std::vector<TokenRests> rests;                              // by the length of the run before them, from 0
        std::unique_ptr<TokenRests> rests_of_any;                   // those behind a character or more
    };
    const All& all() const;
    // Whether the run goes on, or begins, with the byte of a node that is not within a character.
    bool takes(VocabularyNode node) const;

    std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

private:
    struct Reading {
        Word length;  // characters of the run, the open one among them
        Utf8Position position;
    };
    using Heads = std::unordered_map<VocabularyNode, Behind, IdHash>;
    // A smaller subtree is walked as quickly.
    static constexpr Word kLarge = 256;

    template <class Take, class Leave>
    void read(VocabularyNode first, VocabularyNode end, std::vector<Reading>& path, Take take, Leave leave) const;
    void read_behind(VocabularyNode head, Heads& heads) const;
    std::unique_ptr<const Heads> read_heads() const;
    std::unique_ptr<const All> read_all() const;

    const VocabularyIndex& vocabulary_;
    CharacterKinds kinds_;
    mutable std::mutex lock_;  // of what is made when it is asked for; the pointers are set once
    mutable std::unique_ptr<const Heads> heads_owner_;
    mutable std::unique_ptr<const All> all_owner_;
    mutable std::atomic<const Heads*> heads_{nullptr};
    mutable std::atomic<const All*> all_{nullptr};
    mutable std::atomic<std::size_t> bytes_{sizeof(*this)};
};

}  // namespace psc
