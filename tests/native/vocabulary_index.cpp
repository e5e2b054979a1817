// VocabularyIndex against a look at every token: the order, the trie's ranges, and what a fragment of a lexer says of each token.
#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "check.hpp"
#include "vocabulary_index.hpp"

using psc::VocabularyIndex;
using psc::Word;

namespace {

using Random = std::mt19937;

std::vector<std::string> vocabulary(Random& r) {
    static const std::string bytes("ab .\0\xc3\xff", 7);
    std::vector<std::string> tokens;
    for (unsigned n = 1 + r() % 60; n > 0; --n) {
        std::string t;
        for (unsigned k = r() % 5 ? 1 + r() % 5 : 12; k > 0; --k) t += bytes[r() % bytes.size()];
        tokens.push_back(t);
    }
    return tokens;
}

// The trie: nodes in preorder, each with the tokens that go through it.
void check_trie(const VocabularyIndex& index, const std::vector<std::string>& tokens) {
    std::string path;
    std::set<std::string> prefixes, met;
    for (const auto& t : tokens)
        for (std::size_t n = 1; n <= t.size(); ++n) prefixes.insert(t.substr(0, n));
    const auto nodes = index.nodes();
    CHECK(nodes.size() == prefixes.size(), "a node for each prefix");
    for (Word n = 0; n < static_cast<Word>(nodes.size()); ++n) {
        path.resize(nodes[n].depth - 1);
        path += static_cast<char>(nodes[n].byte);
        CHECK(prefixes.contains(path) && met.insert(path).second, "a node's path is a prefix, once");
        Word own = 0;
        for (Word at = index.tokens_begin({n}); at < index.own_tokens_end({n}); ++at, ++own)
            CHECK(tokens[index.token_at(at).index()] == path, "a node's own token is its path");
        CHECK(own == std::count(tokens.begin(), tokens.end(), path), "a node has all tokens that are its path");
        VocabularyIndex::Kinds below = 0;
        for (const auto& t : tokens)
            if (t.size() > path.size() && t.starts_with(path))
                for (std::size_t i = path.size(); i < t.size(); ++i) below |= VocabularyIndex::kind(static_cast<std::uint8_t>(t[i]));
        CHECK((nodes[n].below & below) == below, "a kind of byte that is below a node is missing");
        Word end = n + 1;
        while (end < static_cast<Word>(nodes.size()) && nodes[end].depth > nodes[n].depth) ++end;
        CHECK(nodes[n].end.v == end, "a node's subtree ends elsewhere");
    }
}

// A random automaton, and where each token ends in it.
void check_fragment(VocabularyIndex& index, const std::vector<std::string>& tokens, Random& r) {
    const Word n_states = 1 + static_cast<Word>(r() % 4);
    std::vector<Word> next(static_cast<std::size_t>(n_states) * 256);
    for (Word s = 0; s < n_states; ++s) {
        const Word usual = r() % 2 ? s : VocabularyIndex::kDead;
        for (int b = 0; b < 256; ++b) next[s * 256 + b] = usual;
        for (char b : std::string("ab .\0\xc3\xff", 7)) next[s * 256 + static_cast<std::uint8_t>(b)] = static_cast<Word>(r() % (n_states + 2)) - 2;
    }
    const auto fragment = index.fragment(next);
    CHECK(index.fragment(next) == fragment, "a shape is walked once");
    std::vector<std::vector<Word>> ends(n_states);
    std::set<std::pair<std::string, Word>> exits;
    for (Word t = 0; t < static_cast<Word>(tokens.size()); ++t) {
        Word state = 0;
        std::string read;
        for (char b : tokens[t]) {
            const Word to = next[state * 256 + static_cast<std::uint8_t>(b)];
            read += b;
            if (to == VocabularyIndex::kExit) exits.emplace(read, state);
            state = to;
            if (state < 0) break;
        }
        if (state >= 0) ends[state].push_back(t);
    }
    for (Word s = 0; s < n_states; ++s) {
        std::vector<std::uint32_t> words((tokens.size() + 31) / 32), want(words.size());
        for (Word t : ends[s]) want[t >> 5] |= 1u << (t & 31);
        index.add_bits(words.data(), *fragment->inside[s]);
        CHECK(words == want, "the tokens that end in a state");
        CHECK(fragment->inside[s]->count == static_cast<Word>(ends[s].size()), "their number");
    }
    std::set<std::pair<std::string, Word>> found;
    std::string path;
    std::vector<std::string> paths;
    for (const auto& node : index.nodes()) {
        path.resize(node.depth - 1);
        paths.push_back(path += static_cast<char>(node.byte));
    }
    for (const auto& exit : fragment->exits) CHECK(found.emplace(paths[exit.node.index()], exit.state).second, "an exit is there once");
    CHECK(found == exits, "the places at which the fragment is left");
}

}  // namespace

int main() {
    for (unsigned seed = 0; seed < 200; ++seed) {
        Random r(seed);
        const auto tokens = vocabulary(r);
        std::vector<std::uint8_t> bytes;
        std::vector<Word> offsets{0}, text;
        for (const auto& t : tokens) {
            bytes.insert(bytes.end(), t.begin(), t.end());
            offsets.push_back(static_cast<Word>(bytes.size()));
            text.push_back(static_cast<Word>(text.size()));
        }
        VocabularyIndex index(bytes, offsets, text, {});
        check_trie(index, tokens);
        for (int i = 0; i < 5; ++i) check_fragment(index, tokens, r);
    }
}
