// A vocabulary as a trie of bytes in preorder, and what was found out about it for every grammar.
//
// Tokens are sorted by their bytes, so the tokens under a trie node are a range, and a set of tokens is a list of ranges.
//
// Inside a lexeme (a string, a number, a name) what a token does depends on the automaton of the lexeme alone, not on the grammar
// around it. Such a *fragment* of a lexer is walked over the vocabulary once and kept under its shape: for each state the tokens
// that end in it, and the trie nodes at which it is left. Another grammar that has the same string takes it from here and walks
// only what follows the lexeme's end.
//
// Most tokens are words, and most walks are soon in a state where words go on without changing it (an identifier, a string). So
// each node knows which kinds of bytes are below it, and a walk passes over a subtree of bytes that all lead back to where it is.
// The bytes of a character beyond ASCII are of one kind together, so that the words of all scripts are passed over.
//
// A token that a grammar tells apart as such has a second spelling, its symbol (text/token_symbols.hpp), and so a second position.
//
// Cost: sorting when it is made; a walk visits each trie node that it reaches and cannot pass over, at some nanoseconds each.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/byte_set.hpp"
#include "base/ids.hpp"
#include "base/limits.hpp"
#include "text/token_symbols.hpp"
#include "vocabulary/character_kinds.hpp"

namespace psc {

// A set of tokens as ranges of sorted positions.
struct TokenSet {
    std::vector<std::pair<Word, Word>> ranges;  // [first, last), ascending
    Word count = 0;
    std::unique_ptr<std::uint32_t[]> bits;  // by token id; made when first needed, for large sets

    void add(Word first, Word last) {
        count += last - first;
        if (!ranges.empty() && ranges.back().second == first)
            ranges.back().second = last;
        else
            ranges.emplace_back(first, last);
    }
    std::size_t bytes() const { return ranges.capacity() * 8 + sizeof(TokenSet); }
};

class VocabularyRuns;

class VocabularyIndex {
public:
    // Token i has the bytes bytes[offsets[i] .. offsets[i + 1]); `text`: ids of the tokens that are text. `symbols`: per token the
    // number of its symbol, or -1; or nothing, where no token has one. Texts that could be taken for symbols are left out then.
    // `n_boundary`: so many tokens, the last ones, are boundary tokens (linked/machine.hpp), which end with a part of a symbol.
    VocabularyIndex(std::vector<std::uint8_t> bytes, std::vector<Word> offsets, std::span<const Word> text,
                    std::vector<TokenId> stop_tokens, std::vector<Word> symbols = {}, Word n_boundary = 0);
    // The same tokens, without what stops, and with boundary tokens: each of the two boundaries, if it has bytes, behind the empty
    // text, and behind the beginnings of tokens that end with one of its bytes (vocabulary/boundary_tokens.cpp).
    // Cost: a copy of the trie, 5 ms for 128,000 tokens.
    std::unique_ptr<VocabularyIndex> with_boundaries(const ByteSet* before_end, const ByteSet* before_call,
                                                     std::vector<Word> symbols) const;

    Word n_tokens() const { return static_cast<Word>(offsets_.size()) - 1; }
    std::size_t n_words() const { return n_words_; }
    const std::vector<std::uint8_t>& bytes() const { return bytes_; }
    const std::vector<Word>& offsets() const { return offsets_; }
    const std::vector<TokenId>& stop_tokens() const { return stop_tokens_; }
    const std::vector<std::uint8_t>& is_stop() const { return is_stop_; }
    bool is_text(TokenId token) const { return is_text_[token.index()] != 0; }
    bool has_symbols() const { return !symbols_.empty(); }
    const std::vector<Word>& symbols() const { return symbols_; }

    static constexpr std::uint8_t kMaxHeight = 255;
    static constexpr std::size_t kLongest = limit("token_bytes");
    static_assert(kLongest <= std::numeric_limits<std::uint16_t>::max());  // a node's depth

    // Trie nodes in preorder, the root left out.
    struct Node {
        std::uint8_t byte;
        std::uint8_t height;   // bytes of its longest descendant beyond its own; kMaxHeight stands for more too
        std::uint16_t depth;   // from 1
        VocabularyNode end;    // past the node's subtree
        Word first_token;      // sorted position; those of the node itself come first
        CharacterKinds below;  // of what its descendants add to its text
    };
    // Nodes in preorder, and the ids of the tokens that `first_token` counts.
    struct Trie {
        const Node* nodes;
        const Word* tokens;
    };
    Trie trie() const { return {nodes_.data(), sorted_.data()}; }
    std::span<const Node> nodes() const { return {nodes_.data(), nodes_.size() - 1}; }
    const Node& operator[](VocabularyNode node) const { return nodes_[node.index()]; }
    VocabularyNode end() const { return {static_cast<Word>(nodes_.size()) - 1}; }  // past the last one
    Word tokens_begin(VocabularyNode node) const { return nodes_[node.index()].first_token; }
    Word own_tokens_end(VocabularyNode node) const { return nodes_[node.index() + 1].first_token; }
    std::size_t max_depth() const { return max_depth_; }
    // Of the token's text: bytes that do not go on with a character.
    Word characters(Word position) const { return characters_[static_cast<std::size_t>(position)]; }
    // The same of its first bytes.
    Word characters(Word position, int n_bytes) const;
    // The number of nodes whose texts are longer.
    Word n_deeper(std::size_t depth) const { return depth < n_deeper_.size() ? n_deeper_[depth] : 0; }
    TokenId token_at(Word position) const { return {sorted_[position]}; }

    // Sets the bits of a set's tokens. What several threads may ask for is ready first: the bits of a large set are made once.
    void add_bits(std::uint32_t* words, TokenSet& set) const;
    void make_ready(TokenSet& set) const;

    // A part of a lexer that stays inside one lexeme, its states numbered from 0 where reading begins.
    struct Fragment {
        std::vector<std::shared_ptr<TokenSet>> inside;  // per state, the tokens that end in it
        struct Exit {
            VocabularyNode node;  // whose byte leaves the fragment
            Word state;           // the fragment's own, before that byte
        };
        std::vector<Exit> exits;
    };
    static constexpr Word kDead = -1, kExit = -2;
    static constexpr Word kMaxFragmentStates = 48;
    // `next`: state * 256 + byte -> state, kDead or kExit. Walks the vocabulary when the shape is new. `hesitates`: null instead,
    // where it was not asked for lately.
    std::shared_ptr<const Fragment> fragment(std::span<const Word> next, bool hesitates = false);
    // Of these kinds, made when they are new; null where too many are known.
    std::shared_ptr<const VocabularyRuns> runs(CharacterKinds kinds) const;
    std::size_t fragment_bytes();

private:
    // Those of another one, with boundary tokens.
    VocabularyIndex(const VocabularyIndex& of, const ByteSet* before_end, const ByteSet* before_call, std::vector<Word> symbols);

    // Setting a bit costs a few times what merging a word does.
    bool is_large(const TokenSet& set) const { return static_cast<std::size_t>(set.count) > n_words_ / 4; }
    void set_bits(std::uint32_t* words, const TokenSet& set) const;
    std::shared_ptr<const Fragment> read_fragment(std::span<const Word> next) const;
    void sort(std::span<const Word> text);
    void sort_symbols();
    void add_nodes(Word first_position);
    void describe(std::size_t first_node);
    // Of a node, as far as this child has to do with it.
    static std::uint8_t height_above(std::uint8_t child) { return static_cast<std::uint8_t>(std::min<int>(child + 1, kMaxHeight)); }
    std::span<const std::uint8_t> text_of(Word token) const {
        return {bytes_.data() + offsets_[token], static_cast<std::size_t>(offsets_[token + 1] - offsets_[token])};
    }
    // Calls f(position, text) for each of the sorted positions from this one on.
    template <class F>
    void each_text(Word first, F f) const {
        SpelledSymbol spelled;
        for (Word i = first; i < static_cast<Word>(sorted_.size()); ++i) {
            if (i < n_texts_) {
                f(i, text_of(sorted_[i]));
            } else {
                spelled = spelled_symbol(symbols_[sorted_[i]]);
                f(i, std::span<const std::uint8_t>(spelled));
            }
        }
    }

    std::vector<std::uint8_t> bytes_;
    std::vector<Word> offsets_;
    std::vector<TokenId> stop_tokens_;
    std::vector<std::uint8_t> is_stop_, is_text_;
    std::vector<Word> symbols_;  // per token, or empty
    std::vector<Word> sorted_;   // by text; those in the place of their symbols come last
    Word n_texts_ = 0;
    std::vector<Node> nodes_;  // and one past the end
    std::vector<std::uint16_t> characters_;
    std::vector<Word> n_deeper_;
    std::size_t max_depth_ = 0, n_words_;
    mutable std::mutex lock_;  // of the fragments and runs
    SequenceInterner shapes_;
    std::vector<std::shared_ptr<const Fragment>> fragments_;
    std::array<std::uint64_t, 1024> asked_{};  // by those who hesitate: hashes of shapes, each in its place
    static constexpr std::size_t kMaxRuns = 8;
    mutable std::vector<std::pair<CharacterKinds, std::shared_ptr<const VocabularyRuns>>> runs_;
    std::size_t fragment_bytes_ = 0;  // without the runs
};

}  // namespace psc
