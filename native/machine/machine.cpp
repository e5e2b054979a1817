#include "machine/machine.hpp"

#include <algorithm>
#include <iterator>

namespace psc {

void Machine::begin() { cache_ = new_cache(); }

std::shared_ptr<RowCache> Machine::cache() const {
    const std::lock_guard lock(cache_lock_);
    return cache_;
}

std::size_t Machine::bytes() {
    const PatientLock lock(lock_);
    return cache()->bytes();
}

bool Machine::has_room_in_advance(std::size_t max_bytes) {
    const std::size_t limit = cache_limit_.load(std::memory_order_relaxed);
    return bytes() < (limit ? std::min(limit / 2, max_bytes) : max_bytes);
}

void Machine::clear() {
    auto fresh = new_cache();
    const std::lock_guard lock(cache_lock_);
    cache_->retired.store(true, std::memory_order_release);
    cache_ = std::move(fresh);
}

void Machine::retire(RowCache& cache) {
    auto fresh = new_cache();
    const std::lock_guard lock(cache_lock_);
    if (cache_.get() != &cache) return;
    cache.retired.store(true, std::memory_order_release);
    cache_.swap(fresh);
}

void Machine::limit(RowCache& cache) {
    const std::size_t max_bytes = cache_limit_.load(std::memory_order_relaxed);
    if (max_bytes && !cache.retired.load(std::memory_order_relaxed) && cache.bytes() > max_bytes) retire(cache);
}

MaskRow Machine::row_union(RowCache& cache, MaskRow a, MaskRow b) {
    if (const auto cached = cached_row_union(cache, a, b)) return *cached;
    if (a > b) std::swap(a, b);
    const PatientLock lock(lock_);
    if (const auto cached = cache.row_unions.find(a, b)) return *cached;
    const MaskRow id = cache.add_union(a, b);
    limit(cache);
    return id;
}

MaskRow Machine::with_stops(RowCache& cache, MaskRow row, StopSet set) {
    if (const auto cached = cache.other_stops.find(row, set)) return *cached;
    const PatientLock lock(lock_);
    if (const auto cached = cache.other_stops.find(row, set)) return *cached;
    auto words = std::make_unique_for_overwrite<std::uint32_t[]>(n_words());
    cache.rows.copy(row, words.get());
    put_stops(cache.stop_sets[set], words.get());
    const MaskRow id = cache.rows.add(words);
    cache.other_stops.insert(row, set, id);
    limit(cache);
    return id;
}

void Machine::put_stops(const StopSets::Set& stops, std::uint32_t* words) const {
    if (!ends_apart()) {
        for (TokenId t : stop_tokens_) clear_bit(words, t);
        for (TokenId t : stops.tokens) stops.may_end ? set_bit(words, t) : clear_bit(words, t);
        return;
    }
    for (TokenId t : stops.tokens) {
        // Its text is none; a symbol of a token that has no text is what the row says.
        const bool as_row = has_symbol(t) && !is_text(t);
        const bool requested = std::ranges::find(stops.requested, t) != stops.requested.end();
        if (stops.may_end || requested)
            set_bit(words, t);
        else if (!as_row)
            clear_bit(words, t);
    }
}

std::vector<TokenId> Machine::text_or_itself(const std::vector<TokenId>& stops) const {
    std::vector<TokenId> found;
    if (ends_apart())
        std::copy_if(stops.begin(), stops.end(), std::back_inserter(found), [&](TokenId t) { return has_symbol(t) && is_text(t); });
    return found;
}

StopSet Machine::stop_set(RowCache& cache, std::span<const TokenId> tokens, std::span<const TokenId> requested) {
    const PatientLock lock(lock_);
    const StopSet set = cache.stop_sets.id_of(tokens, requested);
    if (cache.stop_sets.is_full())
        retire(cache);
    else
        limit(cache);
    return set;
}

}  // namespace psc
