#include "machine/engine.hpp"

#include <algorithm>
#include <iterator>
#include <new>

#include "base/sorted.hpp"
#include "vocabulary/index.hpp"

namespace psc {

std::size_t EngineCache::bytes() const {
    return RowCache::bytes() + unions.bytes() + row_ids.bytes() + gathered.bytes() + steps.bytes() + views.bytes() +
           starts.size() * sizeof(ClassifierState) + arc_ids.bytes() + arcs.size() * sizeof(Transition) + read_counts.bytes() +
           read_rows.bytes() + (growing ? growing->classifier.bytes() : 0);
}

bool Engine::is_text(TokenId token) const { return readable_ && readable_->is_text(token); }

void Engine::set_leads(const LeadTables& t) {
    if (t.lead_states.empty()) return;
    const Word n_states = n_lexer_states();
    lead_offsets_.resize(static_cast<std::size_t>(n_states) + 1);
    for (Lead lead{0}; lead.index() < t.lead_states.size(); ++lead.v) {
        ++lead_offsets_[t.lead_states[lead].index() + 1];
        leads_.push_back({t.lead_terminals[lead], {n_states + lead.v}});
    }
    for (std::size_t i = 1; i < lead_offsets_.size(); ++i) lead_offsets_[i] += lead_offsets_[i - 1];
}

bool Engine::stored_transition(ClassifierState state, LrState symbol, Transition& out) const {
    const ClassifierTables& t = classifier_;
    const auto symbols = t.arc_symbol[t.arc_offsets[state]];
    const auto at = std::lower_bound(symbols.begin(), symbols.end(), symbol);
    if (at == symbols.end() || *at != symbol) return false;
    const std::size_t i = &*at - t.arc_symbol.data();
    out = {t.arc_next.at(i), t.arc_skip.at(i).v, t.arc_emission.at(i)};
    return true;
}

Transition Engine::build_transition(EngineCache& cache, ClassifierState state, LrState symbol, Work& work) {
    const PatientLock lock(lock_);
    if (const auto known = cache.arc_ids.find(state, symbol)) return cache.arcs[known.v];
    const Work::Lent lent(cache.growing->allowance, work);
    const Transition arc = cache.growing->classifier.step(state, symbol);
    cache.arcs.push_back(arc);
    cache.arc_ids.insert(state, symbol, ArcId{static_cast<Word>(cache.arcs.size()) - 1});
    limit(cache);
    return arc;
}

void Engine::add_members(const EngineCache& cache, EmissionSet set, std::vector<Word>& out) const {
    const auto add = [&](std::span<const Word> members) { out.insert(out.end(), members.begin(), members.end()); };
    if (!cache.growing) return add(words_of(classifier_.labels[classifier_.label_offsets[set]]));
    const Classifier& classifier = cache.growing->classifier;
    for (Emission emission : classifier.emissions_of(set)) add(words_of(classifier.sequences_of(emission)));
}

std::vector<std::vector<Terminal>> Engine::emitted_sequences(const EngineCache& cache, EmissionSet set) const {
    if (!cache.growing) return {};
    const PatientLock lock(lock_);
    std::vector<Word> members;
    add_members(cache, set, members);
    return cache.growing->trie.terminals_of(ids_of<SequenceNode>(std::span<const Word>(members)));
}

Gathered Engine::make_union(EngineCache& cache, Gathered set, EmissionSet emission) {
    const PatientLock lock(lock_);
    if (const auto cached = cache.unions.find(set, emission)) return *cached;
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

MaskRow Engine::make_row(EngineCache& cache, LexerView view, Gathered emissions) {
    const PatientLock lock(lock_);
    if (const auto cached = cache.row_ids.find(view, emissions)) return *cached;
    const MaskRow id = compose(cache, view, cache.gathered[emissions]);
    cache.row_ids.insert(view, emissions, id);
    limit(cache);
    return id;
}

MaskRow Engine::read_row(EngineCache& cache, MaskRows::Bits& words) {
    const PatientLock lock(lock_);
    const std::size_t before = cache.rows.bytes();
    const MaskRow id = cache.rows.add(words);
    cache.read_bytes += cache.rows.bytes() - before;
    if (cache.read_bytes + cache.read_rows.bytes() > kMaxReadBytes)
        retire(cache);
    else
        limit(cache);
    return id;
}

void Engine::keep_step(EngineCache& cache, const KnownSteps::Step& step, bool is_described) {
    const std::unique_lock lock(lock_, std::try_to_lock);
    if (!lock.owns_lock()) return;
    const std::size_t before = cache.steps.bytes(), max_bytes = cache_limit_.load(std::memory_order_relaxed);
    constexpr std::size_t kPartOfAll = 8;
    if (max_bytes && before > max_bytes / kPartOfAll) return;
    try {
        if (is_described)
            cache.steps.add(step);
        else
            cache.steps.close(step.key);
    } catch (const std::bad_alloc&) {
        return;  // what there is no memory for is not cached
    }
    if (cache.steps.bytes() != before) limit(cache);
}

}  // namespace psc
