// VocabularyIndex against a look at every token: the order, the trie's ranges, and what a fragment of a lexer says of each token.
#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "check.hpp"
#include "text/utf8_positions.hpp"
#include "vocabulary/index.hpp"

using psc::VocabularyIndex;
using psc::Word;

namespace {

using Random = std::mt19937;

std::vector<std::string> vocabulary(Random& r) {
    static const std::vector<std::string> parts{"a", "b", " ", ".", std::string(1, '\0'), "\xc3", "\xff", "\xc3\xa9", "\xe2\x82\xac", "\xe2\x82",
                                                "\xed\x9f\xbf", "\xed\xa0\x80", "\xf0\x9f\x98\x80", "\xf0\x8f", "\xa9", "\xe2"};
    std::vector<std::string> tokens;
    for (unsigned n = 1 + r() % 60; n > 0; --n) {
        std::string t;
        for (unsigned k = r() % 5 ? 1 + r() % 5 : 12; k > 0; --k) t += parts[r() % parts.size()];
        tokens.push_back(t);
    }
    return tokens;
}

bool in(unsigned char byte, int first, int last) { return first <= byte && byte <= last; }

// How many bytes from `at` on are of the character of UTF-8 that the first one begins, whole or not, and how many it has.
std::pair<std::size_t, std::size_t> character(const std::string& t, std::size_t at) {
    const unsigned char first = t[at];
    const std::size_t length = in(first, 0xc2, 0xdf) ? 2 : in(first, 0xe0, 0xef) ? 3 : in(first, 0xf0, 0xf4) ? 4 : 0;
    std::size_t n = length ? 1 : 0;
    for (; n < length && at + n < t.size(); ++n) {
        const int least = n > 1 ? 0x80 : first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
        const int most = n > 1 ? 0xbf : first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
        if (!in(t[at + n], least, most)) break;
    }
    return {n, length};
}

// The kinds of what a token is made of from a position on.
psc::CharacterKinds kinds_from(const std::string& t, std::size_t from) {
    psc::CharacterKinds kinds = 0;
    for (std::size_t at = 0; at < t.size();) {
        const auto [n, length] = character(t, at);
        psc::CharacterKinds here = 0;
        if (static_cast<unsigned char>(t[at]) < 0x80)
            here = psc::character_kinds::of(static_cast<std::uint8_t>(t[at]));
        else if (length == 0)
            here = psc::character_kinds::kStray;
        else
            here = psc::character_kinds::kWide;
        if (at >= from) kinds |= here;
        if (at < from && at + n > from) kinds |= psc::character_kinds::kRest;
        if (n < length && at + n == t.size() && at + n > from) kinds |= psc::character_kinds::kCut;
        if (n < length && at + n < t.size() && at + n >= from) kinds |= psc::character_kinds::kStray;
        at += std::max<std::size_t>(n, 1);
    }
    return kinds;
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
        psc::CharacterKinds below = 0;
        for (const auto& t : tokens)
            if (t.size() > path.size() && t.starts_with(path)) below |= kinds_from(t, path.size());
        CHECK(nodes[n].below == below, "the kinds of what is below a node");
        Word end = n + 1;
        while (end < static_cast<Word>(nodes.size()) && nodes[end].depth > nodes[n].depth) ++end;
        CHECK(nodes[n].end.v == end, "a node's subtree ends elsewhere");
    }
}

// A random automaton, and where each token ends in it. Some of its states read all characters beyond ASCII, by states of their own.
void check_fragment(VocabularyIndex& index, const std::vector<std::string>& tokens, Random& r) {
    const Word n_plain = 1 + static_cast<Word>(r() % 4), n_states = n_plain * 8;
    std::vector<Word> next(static_cast<std::size_t>(n_states) * 256, VocabularyIndex::kDead);
    for (Word s = 0; s < n_plain; ++s) {
        const Word usual = r() % 2 ? s : VocabularyIndex::kDead;
        for (int b = 0; b < 256; ++b) next[s * 256 + b] = usual;
        for (char b : std::string("ab .\0\xc3\xff", 7)) next[s * 256 + static_cast<std::uint8_t>(b)] = static_cast<Word>(r() % (n_plain + 2)) - 2;
        if (r() % 2) continue;
        const auto at = [&](psc::Utf8Position place) { return s + n_plain * static_cast<Word>(place); };
        for (int p = 0; p < 8; ++p) {
            const auto place = static_cast<psc::Utf8Position>(p);
            const auto [first, last] = psc::wide_bytes_at(place);
            for (int b = first; b <= last; ++b) next[at(place) * 256 + b] = at(psc::position_after(place, b));
        }
        // One of the characters leads elsewhere.
        if (r() % 2) next[at(psc::Utf8Position::two_more) * 256 + 0x82] = static_cast<Word>(r() % n_plain);
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
