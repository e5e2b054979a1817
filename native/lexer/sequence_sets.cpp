#include "lexer/sequence_sets.hpp"

#include <algorithm>

#include "base/limits.hpp"
#include "base/sorted.hpp"

namespace psc {

namespace {
constexpr Word kMaxSets = limit("failure_sets");
constexpr std::size_t kMaxMerged = limit("failure_steps");
constexpr Word kUnknown = -1;
}  // namespace

SequenceSets::SequenceSets() {
    sets_.intern({});
    const Word mark[1] = {-1};  // no edge: the one set that ends
    sets_.intern(mark);
    counts_ = {0, 1};
}

Word SequenceSets::intern(std::span<const Word> edges) {
    std::vector<Word> kept;
    for (std::size_t i = 0; i < edges.size(); i += 2)
        if (edges[i + 1] != kNone) kept.insert(kept.end(), {edges[i], edges[i + 1]});
    if (counts_.size() == counts_.capacity())
        counts_.reserve(2 * counts_.size());  // before anything may throw: each set has a count
    const auto [id, fresh] = sets_.intern(kept);
    if (fresh) {
        std::uint32_t n = 0;
        for (std::size_t i = 0; i < kept.size(); i += 2) n = std::min(kMany, n + counts_[kept[i + 1]]);
        counts_.push_back(n);
        if (id >= kMaxSets) throw LimitExceeded("sets of ways in which open lexemes can fail", kMaxSets);
    }
    return id;
}

Word SequenceSets::before(Word symbol, Word then) {
    const Word edge[2] = {symbol, then};
    return intern(edge);
}

Word SequenceSets::unite(std::span<const Word> any_order) {
    std::vector<Word> sets(any_order.begin(), any_order.end());
    sort_unique(sets);
    if (!sets.empty() && sets.front() == kNone) sets.erase(sets.begin());
    if (sets.empty()) return kNone;
    if (sets.front() == kOne || sets.size() == 1) return sets.front();
    if (united_.size() == united_.capacity()) united_.reserve(2 * united_.size() + 8);
    const auto [list, fresh] = lists_.intern(sets);
    if (fresh)
        united_.push_back(kUnknown);
    else if (united_[list] != kUnknown)
        return united_[list];
    std::vector<std::pair<Word, Word>> all;
    for (Word set : sets)
        for (std::size_t i = 0; i < sets_[set].size(); i += 2) all.emplace_back(sets_[set][i], sets_[set][i + 1]);
    n_merged_ += all.size();
    if (n_merged_ > kMaxMerged) throw LimitExceeded("steps to unite the ways in which open lexemes can fail", kMaxMerged);
    std::sort(all.begin(), all.end());
    std::vector<Word> edges, then;
    for (std::size_t i = 0; i < all.size();) {
        const Word symbol = all[i].first;
        then.clear();
        for (; i < all.size() && all[i].first == symbol; ++i) then.push_back(all[i].second);
        edges.insert(edges.end(), {symbol, unite(then)});
    }
    return united_[list] = intern(edges);
}

}  // namespace psc
