#include "machine.hpp"

#include <algorithm>

#include "sorted.hpp"

namespace psc {

std::size_t Machine::Cache::bytes() const {
    return rows.bytes() + unions.bytes() + row_ids.bytes() + row_unions.bytes() + other_stops.bytes() + starts.bytes() +
           arc_ids.bytes() + arcs.size() * sizeof(Arc) + gathered.bytes();
}

void Machine::begin() {
    stop_sets_.reserve(1 << 16);
    cache_ = new_cache();
}

std::shared_ptr<Machine::Cache> Machine::cache() const {
    const std::lock_guard lock(cache_lock_);
    return cache_;
}

std::size_t Machine::bytes() {
    const std::lock_guard lock(lock_);
    return cache()->bytes();
}

void Machine::clear() {
    auto fresh = new_cache();
    const std::lock_guard lock(cache_lock_);
    cache_->retired.store(true, std::memory_order_release);
    cache_ = std::move(fresh);
}

void Machine::give_up(Cache& cache) {
    auto fresh = new_cache();
    const std::lock_guard lock(cache_lock_);
    if (cache_.get() != &cache) return;
    cache.retired.store(true, std::memory_order_release);
    cache_.swap(fresh);
}

void Machine::limit(Cache& cache) {
    const std::size_t most = cache_limit_.load(std::memory_order_relaxed);
    if (most && !cache.retired.load(std::memory_order_relaxed) && cache.bytes() > most) give_up(cache);
}

bool Machine::stored_transition(ClassifierState state, LrState symbol, Arc& out) const {
    const ClassifierTables& t = classifier_;
    const auto symbols = t.arc_symbol[t.arc_offsets[state]];
    const auto at = std::lower_bound(symbols.begin(), symbols.end(), symbol);
    if (at == symbols.end() || *at != symbol) return false;
    const std::size_t i = &*at - t.arc_symbol.data();
    out = {t.arc_next.at(i), t.arc_skip.at(i).v, t.arc_emission.at(i)};
    return true;
}

Gathered Machine::make_union(Cache& cache, Gathered set, EmissionSet emission) {
    const std::lock_guard lock(lock_);
    if (const Word known = cache.unions.find(set.v, emission.v); known >= 0) return {known};
    const auto span = cache.gathered[set.v];
    std::vector<Word> all(span.begin(), span.end());
    add_parts(cache, emission, all);
    sort_unique(all);
    const Gathered id{cache.gathered.intern(all).first};
    cache.unions.insert(set.v, emission.v, id.v);
    return id;
}

MaskRow Machine::make_row(Cache& cache, LexerState lexer_state, Gathered emissions) {
    const std::lock_guard lock(lock_);
    if (const Word known = cache.row_ids.find(lexer_state.v, emissions.v); known >= 0) return {known};
    const auto words = std::make_unique<std::uint32_t[]>(n_words());
    compose(cache, lexer_state, cache.gathered[emissions.v], words.get());
    const MaskRow id{cache.rows.add(words.get())};
    cache.row_ids.insert(lexer_state.v, emissions.v, id.v);
    limit(cache);
    return id;
}

MaskRow Machine::row_union(Cache& cache, MaskRow a, MaskRow b) {
    if (a == b) return a;
    if (a > b) std::swap(a, b);
    if (const Word known = cache.row_unions.find(a.v, b.v); known >= 0) return {known};
    const std::lock_guard lock(lock_);
    if (const Word known = cache.row_unions.find(a.v, b.v); known >= 0) return {known};
    std::vector<std::uint32_t> x(n_words()), y(n_words());
    cache.rows.copy(a.v, x.data());
    cache.rows.copy(b.v, y.data());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] |= y[i];
    const MaskRow id{cache.rows.add(x.data())};
    cache.row_unions.insert(a.v, b.v, id.v);
    limit(cache);
    return id;
}

MaskRow Machine::with_stops(Cache& cache, MaskRow row, StopSet set) {
    if (const Word known = cache.other_stops.find(row.v, set.v); known >= 0) return {known};
    const std::lock_guard lock(lock_);
    if (const Word known = cache.other_stops.find(row.v, set.v); known >= 0) return {known};
    std::vector<std::uint32_t> words(n_words());
    cache.rows.copy(row.v, words.data());
    const Stops& stops = *stop_sets_[set.index()];
    for (Word t : stop_tokens_) words[t >> 5] &= ~(1u << (t & 31));
    for (Word t : stops.tokens) {
        if (stops.may_end)
            words[t >> 5] |= 1u << (t & 31);
        else
            words[t >> 5] &= ~(1u << (t & 31));
    }
    const MaskRow id{cache.rows.add(words.data())};
    cache.other_stops.insert(row.v, set.v, id.v);
    limit(cache);
    return id;
}

StopSet Machine::add_stop_set(bool may_end, const std::vector<Word>& tokens) {
    Stops wanted{may_end, tokens};
    const std::lock_guard lock(lock_);
    for (std::size_t i = 0; i < stop_sets_.size(); ++i)
        if (*stop_sets_[i] == wanted) return {static_cast<Word>(i)};
    if (stop_sets_.size() == stop_sets_.capacity()) throw std::length_error("too many sets of stop tokens for one grammar");
    stop_sets_.push_back(std::make_unique<Stops>(std::move(wanted)));
    return {static_cast<Word>(stop_sets_.size()) - 1};
}

}  // namespace psc
