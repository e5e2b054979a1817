#include "machine/machine.hpp"

#include <algorithm>
#include <iterator>

#include "base/sorted.hpp"
#include "vocabulary/index.hpp"

namespace psc {

std::size_t Machine::Cache::bytes() const {
    return rows.bytes() + unions.bytes() + row_ids.bytes() + row_unions.bytes() + other_stops.bytes() + views.bytes() +
           starts.size() * sizeof(ClassifierState) + arc_ids.bytes() + arcs.size() * sizeof(Transition) + gathered.bytes() +
           stop_sets.bytes() + n_read.size() * sizeof(Word) + read_rows.bytes() + steps.bytes();
}

void Machine::begin() { cache_ = new_cache(); }

std::shared_ptr<Machine::Cache> Machine::cache() const {
    const std::lock_guard lock(cache_lock_);
    return cache_;
}

std::size_t Machine::bytes() {
    const PatientLock lock(lock_);
    return cache()->bytes();
}

bool Machine::has_room_in_advance(std::size_t most_bytes) {
    const std::size_t limit = cache_limit_.load(std::memory_order_relaxed);
    return bytes() < (limit ? std::min(limit / 2, most_bytes) : most_bytes);
}

void Machine::clear() {
    auto fresh = new_cache();
    const std::lock_guard lock(cache_lock_);
    cache_->retired.store(true, std::memory_order_release);
    cache_ = std::move(fresh);
}

void Machine::retire(Cache& cache) {
    auto fresh = new_cache();
    const std::lock_guard lock(cache_lock_);
    if (cache_.get() != &cache) return;
    cache.retired.store(true, std::memory_order_release);
    cache_.swap(fresh);
}

void Machine::limit(Cache& cache) {
    const std::size_t most = cache_limit_.load(std::memory_order_relaxed);
    if (most && !cache.retired.load(std::memory_order_relaxed) && cache.bytes() > most) retire(cache);
}

bool Machine::stored_transition(ClassifierState state, LrState symbol, Transition& out) const {
    const ClassifierTables& t = classifier_;
    const auto symbols = t.arc_symbol[t.arc_offsets[state]];
    const auto at = std::lower_bound(symbols.begin(), symbols.end(), symbol);
    if (at == symbols.end() || *at != symbol) return false;
    const std::size_t i = &*at - t.arc_symbol.data();
    out = {t.arc_next.at(i), t.arc_skip.at(i).v, t.arc_emission.at(i)};
    return true;
}

Gathered Machine::make_union(Cache& cache, Gathered set, EmissionSet emission) {
    const PatientLock lock(lock_);
    if (const auto known = cache.unions.find(set, emission)) return *known;
    more_.clear();
    add_members(cache, emission, more_);
    if (!is_ascending(more_)) sort_unique(more_);
    united_.clear();
    const auto before = cache.gathered[set];
    std::set_union(before.begin(), before.end(), more_.begin(), more_.end(), std::back_inserter(united_));
    const Gathered id = cache.gathered.id_of(united_);
    cache.unions.insert(set, emission, id);
    return id;
}

std::vector<std::vector<Terminal>> Machine::emitted_sequences(Cache& cache, EmissionSet set) {
    const PatientLock lock(lock_);
    return sequences_of(cache, set);
}

MaskRow Machine::make_row(Cache& cache, LexerView view, Gathered emissions) {
    const PatientLock lock(lock_);
    if (const auto known = cache.row_ids.find(view, emissions)) return *known;
    const MaskRow id = compose(cache, view, cache.gathered[emissions]);
    cache.row_ids.insert(view, emissions, id);
    limit(cache);
    return id;
}

MaskRow Machine::row_union(Cache& cache, MaskRow a, MaskRow b) {
    if (a == b) return a;
    if (a > b) std::swap(a, b);
    if (const auto known = cache.row_unions.find(a, b)) return *known;
    const PatientLock lock(lock_);
    if (const auto known = cache.row_unions.find(a, b)) return *known;
    auto x = std::make_unique_for_overwrite<std::uint32_t[]>(n_words());
    const auto y = std::make_unique_for_overwrite<std::uint32_t[]>(n_words());
    cache.rows.copy(a, x.get());
    cache.rows.copy(b, y.get());
    for (std::size_t i = 0; i < n_words(); ++i) x[i] |= y[i];
    const MaskRow id = cache.rows.add(x);
    cache.row_unions.insert(a, b, id);
    limit(cache);
    return id;
}

MaskRow Machine::read_row(Cache& cache, MaskRows::Bits& words) {
    const PatientLock lock(lock_);
    const std::size_t before = cache.rows.bytes();
    const MaskRow id = cache.rows.add(words);
    cache.read_bytes += cache.rows.bytes() - before;
    if (cache.read_bytes + cache.read_rows.bytes() > kMostReadBytes)
        retire(cache);
    else
        limit(cache);
    return id;
}

void Machine::keep_step(Cache& cache, const KnownSteps::Step& step, bool is_known) {
    const std::unique_lock lock(lock_, std::try_to_lock);
    if (!lock.owns_lock()) return;
    const std::size_t before = cache.steps.bytes(), most = cache_limit_.load(std::memory_order_relaxed);
    constexpr std::size_t kPartOfAll = 8;
    if (most && before > most / kPartOfAll) return;
    try {
        if (is_known)
            cache.steps.add(step);
        else
            cache.steps.close(step.key);
    } catch (const std::bad_alloc&) {
        return;  // what there is no memory for is not kept
    }
    if (cache.steps.bytes() != before) limit(cache);
}

bool Machine::reads_tokens(Cache& cache, LexerState lexer_state) {
    const PatientLock lock(lock_);
    if (cache.n_read.size() <= lexer_state.index()) cache.n_read.resize(lexer_state.index() + 1);
    return cache.n_read[lexer_state.index()]++ < most_read();
}

void Machine::has_read_there(Cache& cache, LexerState lexer_state, std::size_t steps, bool kept) {
    constexpr std::size_t kStepsOfOne = 1 << 14, kMost = 1 << 10;
    constexpr Word kNotKept = 8;
    const PatientLock lock(lock_);
    if (lexer_state.index() < cache.n_read.size())
        cache.n_read[lexer_state.index()] += static_cast<Word>(std::min(steps / kStepsOfOne, kMost)) + (kept ? 0 : kNotKept);
}

void Machine::has_read(std::size_t steps) {
    std::size_t before = put_off_.load(std::memory_order_relaxed);
    while (before && !put_off_.compare_exchange_weak(before, before - std::min(before, steps), std::memory_order_relaxed)) {
    }
}

MaskRow Machine::with_stops(Cache& cache, MaskRow row, StopSet set) {
    if (const auto known = cache.other_stops.find(row, set)) return *known;
    const PatientLock lock(lock_);
    if (const auto known = cache.other_stops.find(row, set)) return *known;
    auto words = std::make_unique_for_overwrite<std::uint32_t[]>(n_words());
    cache.rows.copy(row, words.get());
    const StopSets::Set stops = cache.stop_sets[set];
    if (ends_apart()) {
        for (TokenId t : stops.tokens) {
            // Its text is none; a symbol of a token that has no text is what the row says.
            const bool as_row = has_symbol(t) && !is_text(t);
            const bool requested = std::ranges::find(stops.requested, t) != stops.requested.end();
            if (stops.may_end || requested)
                set_bit(words.get(), t);
            else if (!as_row)
                clear_bit(words.get(), t);
        }
    } else {
        for (TokenId t : stop_tokens_) clear_bit(words.get(), t);
        for (TokenId t : stops.tokens) stops.may_end ? set_bit(words.get(), t) : clear_bit(words.get(), t);
    }
    const MaskRow id = cache.rows.add(words);
    cache.other_stops.insert(row, set, id);
    limit(cache);
    return id;
}

bool Machine::is_text(TokenId token) const { return readable_ && readable_->is_text(token); }

std::vector<TokenId> Machine::text_or_itself(const std::vector<TokenId>& stops) const {
    std::vector<TokenId> found;
    if (ends_apart())
        std::copy_if(stops.begin(), stops.end(), std::back_inserter(found), [&](TokenId t) { return has_symbol(t) && is_text(t); });
    return found;
}

StopSet Machine::stop_set(Cache& cache, std::span<const TokenId> tokens, std::span<const TokenId> requested) {
    const PatientLock lock(lock_);
    const StopSet set = cache.stop_sets.id_of(tokens, requested);
    if (cache.stop_sets.is_full())
        retire(cache);
    else
        limit(cache);
    return set;
}

}  // namespace psc
