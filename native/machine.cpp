#include "machine.hpp"

#include <algorithm>

#include "sorted.hpp"

namespace psc {

std::size_t Machine::Cache::bytes() const {
    return rows.bytes() + unions.bytes() + row_ids.bytes() + row_unions.bytes() + other_stops.bytes() + starts.bytes() +
           arc_ids.bytes() + arcs.size() * sizeof(Arc) + emission_sets.bytes();
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

bool Machine::stored_transition(Word state, Word symbol, Arc& out) const {
    const ClassifierTables& t = classifier_;
    const auto symbols = t.arc_symbol[t.arc_offsets[ClassifierState{state}]];
    const auto at = std::lower_bound(symbols.begin(), symbols.end(), LrState{symbol});
    if (at == symbols.end() || at->v != symbol) return false;
    const std::size_t i = &*at - t.arc_symbol.data();
    out = {t.arc_next.at(i).v, t.arc_skip.at(i).v, t.arc_emission.at(i).v};
    return true;
}

Word Machine::make_union(Cache& cache, Word set, Word emission) {
    const std::lock_guard lock(lock_);
    if (const Word known = cache.unions.find(set, emission); known >= 0) return known;
    const auto span = cache.emission_sets[set];
    std::vector<Word> all(span.begin(), span.end());
    add_parts(cache, emission, all);
    sort_unique(all);
    const Word id = cache.emission_sets.intern(all).first;
    cache.unions.insert(set, emission, id);
    return id;
}

Word Machine::make_row(Cache& cache, Word lexer_state, Word emissions) {
    const std::lock_guard lock(lock_);
    if (const Word known = cache.row_ids.find(lexer_state, emissions); known >= 0) return known;
    const auto words = std::make_unique<std::uint32_t[]>(n_words());
    compose(cache, lexer_state, cache.emission_sets[emissions], words.get());
    const Word id = cache.rows.add(words.get());
    cache.row_ids.insert(lexer_state, emissions, id);
    limit(cache);
    return id;
}

Word Machine::row_union(Cache& cache, Word a, Word b) {
    if (a == b) return a;
    if (a > b) std::swap(a, b);
    if (const Word known = cache.row_unions.find(a, b); known >= 0) return known;
    const std::lock_guard lock(lock_);
    if (const Word known = cache.row_unions.find(a, b); known >= 0) return known;
    std::vector<std::uint32_t> x(n_words()), y(n_words());
    cache.rows.copy(a, x.data());
    cache.rows.copy(b, y.data());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] |= y[i];
    const Word id = cache.rows.add(x.data());
    cache.row_unions.insert(a, b, id);
    limit(cache);
    return id;
}

Word Machine::with_stops(Cache& cache, Word row, Word set) {
    if (const Word known = cache.other_stops.find(row, set); known >= 0) return known;
    const std::lock_guard lock(lock_);
    if (const Word known = cache.other_stops.find(row, set); known >= 0) return known;
    std::vector<std::uint32_t> words(n_words());
    cache.rows.copy(row, words.data());
    // Where the set's first entry says so the text may end: a row does not know, if the grammar has no stop token.
    const auto& tokens = *stop_sets_[set];
    for (Word t : stop_tokens_) words[t >> 5] &= ~(1u << (t & 31));
    for (std::size_t i = 1; i < tokens.size(); ++i) {
        const Word t = tokens[i];
        if (tokens[0])
            words[t >> 5] |= 1u << (t & 31);
        else
            words[t >> 5] &= ~(1u << (t & 31));
    }
    const Word id = cache.rows.add(words.data());
    cache.other_stops.insert(row, set, id);
    limit(cache);
    return id;
}

Word Machine::add_stop_set(const std::vector<Word>& tokens) {
    const std::lock_guard lock(lock_);
    for (std::size_t i = 0; i < stop_sets_.size(); ++i)
        if (*stop_sets_[i] == tokens) return static_cast<Word>(i);
    if (stop_sets_.size() == stop_sets_.capacity()) throw std::length_error("too many sets of stop tokens for one grammar");
    stop_sets_.push_back(std::make_unique<std::vector<Word>>(tokens));
    return static_cast<Word>(stop_sets_.size()) - 1;
}

}  // namespace psc
