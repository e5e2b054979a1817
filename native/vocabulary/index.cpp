#include "vocabulary/index.hpp"

#include <algorithm>

#include "base/errors.hpp"
#include "base/long_work.hpp"
#include "text/utf8_positions.hpp"
#include "vocabulary/character_runs.hpp"
#include "vocabulary/runs.hpp"
#include "vocabulary/walk.hpp"

namespace psc {

VocabularyIndex::VocabularyIndex(std::vector<std::uint8_t> bytes, std::vector<Word> offsets, std::span<const Word> text,
                                 std::vector<TokenId> stop_tokens, std::vector<Word> symbols, Word n_boundary)
    : bytes_(std::move(bytes)),
      offsets_(std::move(offsets)),
      stop_tokens_(std::move(stop_tokens)),
      is_stop_(offsets_.size() - 1),
      is_text_(offsets_.size() - 1),
      symbols_(std::move(symbols)),
      n_words_((offsets_.size() - 1 + 31) / 32) {
    for (TokenId t : stop_tokens_) is_stop_[t.index()] = 1;
    const bool all_are_text = !has_symbols() && n_boundary == 0;
    for (Word t : text)
        is_text_[static_cast<std::size_t>(t)] = all_are_text || t >= n_tokens() - n_boundary || !has_symbol_byte(text_of(t));
    sort(text);
    add_nodes(0);
}

// Nodes of the texts from this sorted position on, none of which begins as one before, and what is known of all nodes.
void VocabularyIndex::add_nodes(Word first_position) {
    const std::size_t first_node = nodes_.size();
    std::vector<Word> path;  // open nodes
    std::vector<std::uint8_t> before;
    each_text(first_position, [&](Word i, std::span<const std::uint8_t> t) {
        if (t.size() > kLongest) throw LimitExceeded("bytes of token " + std::to_string(sorted_[i]), kLongest);
        const std::size_t common = std::mismatch(before.begin(), before.end(), t.begin(), t.end()).second - t.begin();
        for (; path.size() > common; path.pop_back()) nodes_[path.back()].end = {static_cast<Word>(nodes_.size())};
        for (std::size_t d = common; d < t.size(); ++d) {
            path.push_back(static_cast<Word>(nodes_.size()));
            nodes_.push_back({t[d], 0, static_cast<std::uint16_t>(d + 1), {0}, i, 0});
        }
        before.assign(t.begin(), t.end());
        characters_.push_back(static_cast<std::uint16_t>(std::ranges::count_if(t, begins_character)));
    });
    for (Word n : path) nodes_[n].end = {static_cast<Word>(nodes_.size())};
    nodes_.push_back({0, 0, 0, {0}, static_cast<Word>(sorted_.size()), 0});
    for (const Node& node : nodes()) max_depth_ = std::max<std::size_t>(max_depth_, node.depth);
    n_deeper_.assign(max_depth_ + 1, 0);
    for (const Node& node : nodes()) ++n_deeper_[node.depth - 1u];
    for (std::size_t d = max_depth_; d > 0; --d) n_deeper_[d - 1] += n_deeper_[d];
    describe(first_node);
}

// Finds what is below the nodes from this one on, which is one of depth 1.
void VocabularyIndex::describe(std::size_t first_node) {
    namespace kind = character_kinds;
    const std::span<Node> nodes = std::span(nodes_).subspan(first_node);
    const auto number = [&](VocabularyNode node) { return node.index() - first_node; };
    // Where in a character a node's text ends, and what its byte adds to the text of the node above.
    std::vector<Utf8Position> position(nodes.size() - 1);
    std::vector<CharacterKinds> adds(nodes.size() - 1);
    std::vector<Word> path(max_depth_ + 1, 0);
    for (std::size_t n = 0; n < position.size(); ++n) {
        const Node& node = nodes[n];
        path[node.depth] = static_cast<Word>(n);
        const Utf8Position before =
            node.depth == 1 ? Utf8Position::between : position[static_cast<std::size_t>(path[node.depth - 1u])];
        const auto [first, last] = wide_bytes_at(before);
        const bool fits = node.byte >= first && node.byte <= last;
        if (before != Utf8Position::between && !fits) adds[n] = kind::kStray;  // the one above is no character
        if (fits) {
            adds[n] = before == Utf8Position::between ? kind::kWide : kind::kRest;
            position[n] = position_after(before, node.byte);
        } else if (node.byte < 0x80) {
            adds[n] |= kind::of(node.byte);
        } else if (begins_wide(node.byte)) {
            adds[n] |= kind::kWide;
            position[n] = position_after(Utf8Position::between, node.byte);
        } else {
            adds[n] |= kind::kStray;
        }
    }
    // From the last to the first, so that a node's children have theirs.
    for (std::size_t n = position.size(); n-- > 0;) {
        Node& node = nodes[n];
        for (std::size_t c = n + 1; c < number(node.end); c = number(nodes[c].end)) {
            const Node& child = nodes[c];
            // The bytes more of a character that begins below are part of it.
            node.below |= adds[c] | (adds[c] & kind::kWide ? child.below & ~kind::kRest : child.below);
            node.height = std::max(node.height, height_above(child.height));
            if (position[c] != Utf8Position::between && nodes[c + 1].first_token > child.first_token) node.below |= kind::kCut;
        }
    }
}

// Tokens by their texts, then by their symbols.
void VocabularyIndex::sort(std::span<const Word> text) {
    // By the first eight bytes as one number, which nearly always decides.
    std::vector<std::pair<std::uint64_t, Word>> keyed;
    keyed.reserve(text.size());
    for (Word id : text) {
        if (!is_text_[static_cast<std::size_t>(id)]) continue;
        std::uint64_t key = 0;
        const auto t = text_of(id);
        for (std::size_t i = 0; i < 8; ++i) key = key << 8 | (i < t.size() ? t[i] : 0);
        keyed.emplace_back(key, id);
    }
    std::sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
        if (a.first != b.first) return a.first < b.first;
        const auto x = text_of(a.second), y = text_of(b.second);
        const int order = std::lexicographical_compare_three_way(x.begin(), x.end(), y.begin(), y.end()) < 0 ? -1
                          : std::equal(x.begin(), x.end(), y.begin(), y.end())                               ? 0
                                                                                                             : 1;
        return order != 0 ? order < 0 : a.second < b.second;
    });
    sorted_.reserve(keyed.size());
    for (const auto& [key, id] : keyed) sorted_.push_back(id);
    sort_symbols();
}

// After the texts.
void VocabularyIndex::sort_symbols() {
    n_texts_ = static_cast<Word>(sorted_.size());
    for (Word id = 0; id < static_cast<Word>(symbols_.size()); ++id)
        if (symbols_[id] >= 0) sorted_.push_back(id);
    std::stable_sort(sorted_.begin() + n_texts_, sorted_.end(), [&](Word a, Word b) { return symbols_[a] < symbols_[b]; });
}

Word VocabularyIndex::characters(Word position, int n_bytes) const {
    if (position >= n_texts_) return n_bytes > 0;
    const auto text = bytes_.begin() + offsets_[sorted_[position]];
    return static_cast<Word>(std::count_if(text, text + n_bytes, begins_character));
}

void VocabularyIndex::set_bits(std::uint32_t* words, const TokenSet& set) const {
    for (const auto& [first, last] : set.ranges)
        for (Word i = first; i < last; ++i) words[sorted_[i] >> 5] |= 1u << (sorted_[i] & 31);
}

void VocabularyIndex::make_ready(TokenSet& set) const {
    if (!is_large(set) || set.bits) return;
    set.bits = std::make_unique<std::uint32_t[]>(n_words_);
    set_bits(set.bits.get(), set);
}

void VocabularyIndex::add_bits(std::uint32_t* words, TokenSet& set) const {
    if (!is_large(set)) return set_bits(words, set);
    make_ready(set);
    for (std::size_t i = 0; i < n_words_; ++i) words[i] |= set.bits[i];
}

std::shared_ptr<const VocabularyIndex::Fragment> VocabularyIndex::read_fragment(std::span<const Word> next) const {
    struct {
        using State = Word;
        std::span<const Word> next;
        std::optional<Word> step(Word state, std::uint8_t byte) const {
            const Word to = next[static_cast<std::size_t>(state) * 256 + byte];
            return to >= 0 ? std::optional(to) : std::nullopt;
        }
        Word continuation(Word state) const { return state; }
    } automaton{next};
    auto f = std::make_shared<Fragment>();
    for (std::size_t s = 0; s < next.size() / 256; ++s) f->inside.push_back(std::make_shared<TokenSet>());
    std::vector<Word> path(max_depth_ + 1);
    std::vector<StayingKinds> staying(next.size() / 256);
    const auto visit = [&](const Node& node, VocabularyNode n, Word before, Word& after) {
        after = next[static_cast<std::size_t>(before) * 256 + node.byte];
        if (after == kExit) f->exits.push_back({n, before});
        if (after < 0) return Below::skip;
        const auto of = [&](Word state) -> StayingKinds& { return staying[static_cast<std::size_t>(state)]; };
        find_staying(automaton, after, node.below, of, [&](Word state) { return wide_end(automaton, state); });
        return of(after).all_stay(node.below) ? Below::take : Below::enter;
    };
    walk(trie(), {0}, end(), path, visit, [&](Word first, Word last, Word state) { f->inside[state]->add(first, last); });
    for (auto& set : f->inside) make_ready(*set);
    return f;
}

std::shared_ptr<const VocabularyIndex::Fragment> VocabularyIndex::fragment(std::span<const Word> next, bool hesitates) {
    // Runs of equal targets, so that a shape costs little to keep.
    std::vector<Word> shape;
    for (std::size_t i = 0, end; i < next.size(); i = end) {
        for (end = i; end < next.size() && next[end] == next[i]; ++end) {
        }
        shape.insert(shape.end(), {next[i], static_cast<Word>(end - i)});
    }
    const PatientLock lock(lock_);
    if (hesitates) {
        const std::uint64_t hash = hash_words(shape);
        if (std::exchange(asked_[hash % asked_.size()], hash) != hash) return nullptr;
    }
    const auto [id, fresh] = shapes_.intern(shape);
    if (fresh) {
        try {
            fragments_.push_back(read_fragment(next));
        } catch (...) {
            shapes_.forget_last();
            throw;
        }
        for (const auto& set : fragments_.back()->inside) fragment_bytes_ += set->bytes() + (set->bits ? n_words_ * 4 : 0);
        fragment_bytes_ += fragments_.back()->exits.size() * sizeof(Fragment::Exit);
    }
    return fragments_[id];
}

std::shared_ptr<const VocabularyRuns> VocabularyIndex::runs(CharacterKinds kinds) const {
    const PatientLock lock(lock_);
    const auto it = std::ranges::find(runs_, kinds, [](const auto& known) { return known.first; });
    if (it != runs_.end()) return it->second;
    if (runs_.size() == kMaxRuns) return nullptr;
    runs_.emplace_back(kinds, std::make_shared<const VocabularyRuns>(*this, kinds));
    return runs_.back().second;
}

std::size_t VocabularyIndex::fragment_bytes() {
    const PatientLock lock(lock_);
    std::size_t total = fragment_bytes_;
    for (const auto& [kinds, runs] : runs_) total += runs->bytes();
    return total;
}

}  // namespace psc
