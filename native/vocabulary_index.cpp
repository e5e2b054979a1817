#include "vocabulary_index.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "limits.hpp"
#include "long_work.hpp"

namespace psc {

namespace {

// Which bytes are of one kind: letters, digits, blanks, the parts of a UTF-8 character, and the punctuation that grammars tell
// apart, as far as 32 kinds go.
std::array<std::uint8_t, 256> kinds_of_bytes() {
    std::array<std::uint8_t, 256> kind{};
    std::uint8_t next = 1;  // 0: control characters
    const auto together = [&](std::string_view bytes) {
        for (unsigned char b : bytes) kind[b] = next;
        ++next;
    };
    for (const char* group : {"abcdefghijklmnopqrstuvwxyz",
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
                              "0123456789",
                              "_",
                              "$",
                              " ",
                              "\t",
                              "\n",
                              "\r",
                              "\"",
                              "'",
                              "\\",
                              "/",
                              "*",
                              ".",
                              ",",
                              ";:",
                              "()",
                              "[]",
                              "{}",
                              "<>",
                              "=!",
                              "-",
                              "+",
                              "#@",
                              "%&|^~?",
                              "`"})
        together(group);
    for (int b = 0x80; b < 0xc0; ++b) kind[b] = next;
    for (int b = 0xc0; b < 0xe0; ++b) kind[b] = next + 1;
    for (int b = 0xe0; b < 0xf0; ++b) kind[b] = next + 2;
    for (int b = 0xf0; b < 0x100; ++b) kind[b] = next + 3;
    return kind;
}

const std::array<std::uint8_t, 256> kKindOfByte = kinds_of_bytes();

}  // namespace

VocabularyIndex::Kinds VocabularyIndex::kind(std::uint8_t byte) { return 1u << kKindOfByte[byte]; }

VocabularyIndex::VocabularyIndex(std::vector<std::uint8_t> bytes, std::vector<Word> offsets, std::span<const Word> text,
                                 std::vector<TokenId> stop_tokens)
    : bytes_(std::move(bytes)),
      offsets_(std::move(offsets)),
      stop_tokens_(std::move(stop_tokens)),
      is_stop_(offsets_.size() - 1),
      sorted_(text.begin(), text.end()),
      n_words_((offsets_.size() - 1 + 31) / 32) {
    for (TokenId t : stop_tokens_) is_stop_[t.index()] = 1;
    const auto token = [&](Word id) {
        return std::span<const std::uint8_t>(bytes_.data() + offsets_[id],
                                             static_cast<std::size_t>(offsets_[id + 1] - offsets_[id]));
    };
    // By the first eight bytes as one number, which nearly always decides.
    std::vector<std::pair<std::uint64_t, Word>> keyed;
    keyed.reserve(sorted_.size());
    for (Word id : sorted_) {
        std::uint64_t key = 0;
        const auto t = token(id);
        for (std::size_t i = 0; i < 8; ++i) key = key << 8 | (i < t.size() ? t[i] : 0);
        keyed.emplace_back(key, id);
    }
    std::sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
        if (a.first != b.first) return a.first < b.first;
        const auto x = token(a.second), y = token(b.second);
        const int order = std::lexicographical_compare_three_way(x.begin(), x.end(), y.begin(), y.end()) < 0 ? -1
                          : std::equal(x.begin(), x.end(), y.begin(), y.end())                               ? 0
                                                                                                             : 1;
        return order != 0 ? order < 0 : a.second < b.second;
    });
    for (std::size_t i = 0; i < keyed.size(); ++i) sorted_[i] = keyed[i].second;
    constexpr std::size_t longest = std::numeric_limits<decltype(Node::depth)>::max();
    for (Word id : sorted_)
        if (token(id).size() > longest) throw LimitExceeded("bytes of token " + std::to_string(id), longest);
    std::vector<Word> path;  // open nodes
    std::span<const std::uint8_t> before;
    for (std::size_t i = 0; i < sorted_.size(); ++i) {
        const auto t = token(sorted_[i]);
        const std::size_t common = std::mismatch(before.begin(), before.end(), t.begin(), t.end()).second - t.begin();
        for (; path.size() > common; path.pop_back()) nodes_[path.back()].end = {static_cast<Word>(nodes_.size())};
        for (std::size_t d = common; d < t.size(); ++d) {
            path.push_back(static_cast<Word>(nodes_.size()));
            nodes_.push_back({t[d], 0, static_cast<std::uint16_t>(d + 1), {0}, static_cast<Word>(i), 0});
        }
        max_depth_ = std::max(max_depth_, t.size());
        before = t;
    }
    for (Word n : path) nodes_[n].end = {static_cast<Word>(nodes_.size())};
    nodes_.push_back({0, 0, 0, {0}, static_cast<Word>(sorted_.size()), 0});
    // From the last to the first, so that a node's children have theirs.
    for (Word n = static_cast<Word>(nodes_.size()) - 2; n >= 0; --n)
        for (Word child = n + 1; child < nodes_[n].end.v; child = nodes_[child].end.v) {
            nodes_[n].below |= nodes_[child].below | kind(nodes_[child].byte);
            nodes_[n].height =
                static_cast<std::uint8_t>(std::max<int>(nodes_[n].height, std::min(nodes_[child].height + 1, int{kMaxHeight})));
        }
}

void VocabularyIndex::add_bits(std::uint32_t* words, TokenSet& set) const {
    const auto set_bits = [&](std::uint32_t* out) {
        for (const auto& [first, last] : set.ranges)
            for (Word i = first; i < last; ++i) out[sorted_[i] >> 5] |= 1u << (sorted_[i] & 31);
    };
    // Setting a bit costs a few times what merging a word does.
    if (static_cast<std::size_t>(set.count) <= n_words_ / 4) return set_bits(words);
    if (!set.bits) {
        set.bits = std::make_unique<std::uint32_t[]>(n_words_);
        set_bits(set.bits.get());
    }
    for (std::size_t i = 0; i < n_words_; ++i) words[i] |= set.bits[i];
}

std::shared_ptr<const VocabularyIndex::Fragment> VocabularyIndex::walk(std::span<const Word> next) const {
    auto f = std::make_shared<Fragment>();
    for (std::size_t s = 0; s < next.size() / 256; ++s) f->inside.push_back(std::make_shared<TokenSet>());
    std::vector<Kinds> stays;  // per state, the kinds of bytes that all lead back to it
    for (std::size_t s = 0; s < next.size() / 256; ++s) {
        Kinds leaves = 0;
        for (int b = 0; b < 256; ++b)
            if (next[s * 256 + b] != static_cast<Word>(s)) leaves |= kind(static_cast<std::uint8_t>(b));
        stays.push_back(~leaves);
    }
    std::vector<Word> path(max_depth_ + 1);
    const Word n_nodes = static_cast<Word>(nodes_.size()) - 1;
    for (Word n = 0; n < n_nodes;) {
        const Node& node = nodes_[n];
        const Word state = path[node.depth - 1], to = next[state * 256 + node.byte];
        if (to < 0) {
            if (to == kExit) f->exits.push_back({{n}, state});
            n = node.end.v;
            continue;
        }
        path[node.depth] = to;
        if ((node.below & ~stays[to]) == 0) {
            f->inside[to]->add(node.first_token, tokens_begin(node.end));
            n = node.end.v;
            continue;
        }
        if (nodes_[n + 1].first_token > node.first_token) f->inside[to]->add(node.first_token, nodes_[n + 1].first_token);
        ++n;
    }
    // The bits of large sets are shared too, and are made here, before anybody else can look.
    std::vector<std::uint32_t> scratch(n_words_);
    for (auto& set : f->inside)
        if (static_cast<std::size_t>(set->count) > n_words_ / 4) add_bits(scratch.data(), *set);
    return f;
}

std::shared_ptr<const VocabularyIndex::Fragment> VocabularyIndex::fragment(std::span<const Word> next) {
    // Runs of equal targets, so that a shape costs little to keep.
    std::vector<Word> shape;
    for (std::size_t i = 0, end; i < next.size(); i = end) {
        for (end = i; end < next.size() && next[end] == next[i]; ++end) {
        }
        shape.insert(shape.end(), {next[i], static_cast<Word>(end - i)});
    }
    const PatientLock lock(lock_);
    const auto [id, fresh] = shapes_.intern(shape);
    if (fresh) {
        fragments_.push_back(walk(next));
        for (const auto& set : fragments_.back()->inside) fragment_bytes_ += set->bytes() + (set->bits ? n_words_ * 4 : 0);
        fragment_bytes_ += fragments_.back()->exits.size() * sizeof(Fragment::Exit);
    }
    return fragments_[id];
}

std::size_t VocabularyIndex::n_fragments() {
    const PatientLock lock(lock_);
    return fragments_.size();
}

std::size_t VocabularyIndex::fragment_bytes() {
    const PatientLock lock(lock_);
    return fragment_bytes_;
}

}  // namespace psc
