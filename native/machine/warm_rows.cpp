#include "machine/warm_rows.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/errors.hpp"
#include "base/limits.hpp"
#include "base/processor_time.hpp"

namespace psc {

namespace {

template <class A, class B, class V>
struct Entry {
    A a;
    B b;
    V value;
};

template <class A, class B, class V>
std::vector<Entry<A, B, V>> entries_of(const SharedIdMap<A, B, V>& map) {
    std::vector<Entry<A, B, V>> out;
    map.each([&](A a, B b, V value) { out.push_back({a, b, value}); });
    return out;
}

// Before one row, so that other grammars' threads that always wait do not hold the row back for ever: some 5 ms.
constexpr int kMaxPauses = 100;

}  // namespace

namespace {

// `is_named`: whether an emission has a name.
template <class Named>
WarmTables named_rows(const EngineCache& cache, const Named& is_named) {
    // A set gets its id when it is first gathered, after what it was gathered from. So, by rising ids, what an entry goes on from has a
    // name before the entry.
    auto sets = entries_of(cache.unions);
    std::sort(sets.begin(), sets.end(), [](const auto& x, const auto& y) { return std::tie(x.a, x.b) < std::tie(y.a, y.b); });
    std::unordered_map<Gathered, Maybe<WarmSet>, IdHash> set_names{{Gathered{0}, {}}};
    std::vector<Maybe<WarmSet>> set_before;
    std::vector<EmissionSet> set_emission;
    for (const auto& [before, emission, gathered] : sets) {
        const auto named = set_names.find(before);
        if (named == set_names.end() || set_before.size() == kMaxWarm || !is_named(emission)) continue;
        set_before.push_back(named->second);
        set_emission.push_back(emission);
        set_names.try_emplace(gathered, WarmSet{static_cast<Word>(set_before.size()) - 1});
    }
    auto rows = entries_of(cache.row_ids);
    std::sort(rows.begin(), rows.end(), [](const auto& x, const auto& y) { return std::tie(x.a, x.b) < std::tie(y.a, y.b); });
    std::unordered_map<MaskRow, Word, IdHash> row_names;
    std::vector<StoredView> row_state;
    std::vector<Maybe<WarmSet>> row_set;
    for (const auto& [view, gathered, row] : rows) {
        const auto named = set_names.find(gathered);
        if (named == set_names.end() || row_state.size() == kMaxWarm) continue;
        row_names.try_emplace(row, static_cast<Word>(row_state.size()));
        row_state.push_back({view.v});
        row_set.push_back(named->second);
    }
    // The larger operand of a union is older than what was first made of it.
    auto unions = entries_of(cache.row_unions);
    std::sort(unions.begin(), unions.end(), [](const auto& x, const auto& y) { return std::tie(x.b, x.a) < std::tie(y.b, y.a); });
    std::vector<WarmOperand> first, second;
    for (const auto& [a, b, row] : unions) {
        const auto x = row_names.find(a), y = row_names.find(b);
        if (x == row_names.end() || y == row_names.end() || first.size() == kMaxWarm) continue;
        first.push_back({x->second});
        second.push_back({y->second});
        row_names.try_emplace(row, static_cast<Word>(row_state.size() + first.size()) - 1);
    }
    return {std::move(set_before), std::move(set_emission), std::move(row_state),
            std::move(row_set),    std::move(first),        std::move(second)};
}

}  // namespace

WarmTables warm_tables(const EngineCache& cache) {
    return named_rows(cache, [](EmissionSet) { return true; });
}

std::pair<WarmTables, WarmReadings> warm_tables_and_readings(const EngineCache& cache, ClassifierState start) {
    auto arcs = entries_of(cache.arc_ids);
    std::sort(arcs.begin(), arcs.end(), [](const auto& x, const auto& y) { return x.value < y.value; });
    // An arc is made after one that leads to its state.
    std::unordered_map<ClassifierState, Maybe<WarmReading>, IdHash> reading_to{{start, {}}};
    std::unordered_map<EmissionSet, WarmReading, IdHash> reading_that_emits;
    std::vector<Maybe<WarmReading>> before;
    std::vector<LrState> symbol;
    for (const auto& [state, read, arc] : arcs) {
        const auto led = reading_to.find(state);
        if (led == reading_to.end() || before.size() == kMaxWarm) continue;
        const WarmReading made{static_cast<Word>(before.size())};
        before.push_back(led->second);
        symbol.push_back(read);
        const Transition& to = cache.arcs[arc.v];
        if (to.next != kDone) reading_to.try_emplace(to.next, made);
        reading_that_emits.try_emplace(to.emission, made);
    }
    WarmTables rows = named_rows(cache, [&](EmissionSet emission) { return reading_that_emits.contains(emission); });
    std::vector<WarmReading> of_set;
    for (EmissionSet emission : rows.warm_set_emission) of_set.push_back(reading_that_emits.at(emission));
    rows.warm_set_emission = std::vector<EmissionSet>(of_set.size(), EmissionSet{0});
    return {std::move(rows), {std::move(before), std::move(symbol), std::move(of_set)}};
}

void check_warm(const WarmTables& t, const WarmReadings& readings) {
    if (readings.warm_reading_before.size() > kMaxWarm) TableCheck::fail("warm_reading_before", "is too long");
    for (WarmReading reading{0}; reading.index() < readings.warm_reading_before.size(); ++reading.v)
        if (readings.warm_reading_before[reading].v >= reading.v)
            TableCheck::fail("warm_reading_before", "holds a reading that is not before its own");
    if (!readings.warm_reading_before.empty() && readings.warm_set_reading.size() != t.warm_set_before.size())
        TableCheck::fail("warm_set_reading", "has the wrong length");
    if (t.warm_set_before.size() > kMaxWarm) TableCheck::fail("warm_set_before", "is too long");
    if (t.warm_row_state.size() > kMaxWarm) TableCheck::fail("warm_row_state", "is too long");
    if (t.warm_union_first.size() > kMaxWarm) TableCheck::fail("warm_union_first", "is too long");
    for (WarmSet set{0}; set.index() < t.warm_set_before.size(); ++set.v)
        if (t.warm_set_before[set].v >= set.v) TableCheck::fail("warm_set_before", "holds a set that is not before its own");
    for (std::size_t i = 0; i < t.warm_union_first.size(); ++i) {
        const std::size_t end = t.warm_row_state.size() + i;
        if (static_cast<std::size_t>(t.warm_union_first.at(i).v) >= end)
            TableCheck::fail("warm_union_first", "holds a union that is not before its own");
        if (static_cast<std::size_t>(t.warm_union_second.at(i).v) >= end)
            TableCheck::fail("warm_union_second", "holds a union that is not before its own");
    }
}

WarmRows::WarmRows(std::shared_ptr<ArtifactMachine> machine)
    : machine_(std::move(machine)), cache_(machine_->engine_cache()), work_("steps for warm readings", limit("mask_steps")) {}

bool WarmRows::compose(double seconds, std::size_t max_bytes) {
    const double end = processor_seconds() + seconds;
    do {
        // A thread that is woken finds the lock taken again by one that never pauses.
        for (int pauses = 0; pauses < kMaxPauses && threads_waiting.load(std::memory_order_relaxed); ++pauses)
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        if (cache_->retired.load(std::memory_order_relaxed) || !machine_->has_room_in_advance(max_bytes)) return false;
        try {
            if (!compose_one()) return false;
        } catch (const LimitExceeded&) {
            return false;  // names that were altered
        }
    } while (processor_seconds() < end);
    return true;
}

bool WarmRows::compose_one() {
    const WarmTables& t = machine_->warm();
    const auto set_of = [&](Maybe<WarmSet> name) { return name ? sets_[(*name).index()] : Gathered{0}; };
    const WarmReadings& readings = machine_->warm_readings();
    if (const std::size_t i = readings_.size(); i < readings.warm_reading_before.size()) {
        const auto before = readings.warm_reading_before.at(i);
        const ClassifierState state = before ? readings_[(*before).index()].next : machine_->start_of_stacks();
        Transition to{kDone, 0, {0}};
        if (state != kDone) machine_->transition(*cache_, state, readings.warm_reading_symbol.at(i), to, work_);
        readings_.push_back(to);
    } else if (const std::size_t i = sets_.size(); i < t.warm_set_before.size()) {
        const EmissionSet emission =
            readings_.empty() ? t.warm_set_emission.at(i) : readings_[readings.warm_set_reading.at(i).index()].emission;
        sets_.push_back(machine_->with_emission(*cache_, set_of(t.warm_set_before.at(i)), emission));
    } else if (const std::size_t row = rows_.size(); row < t.warm_row_state.size()) {
        rows_.push_back(machine_->row(*cache_, {t.warm_row_state.at(row).v}, set_of(t.warm_row_set.at(row))));
    } else if (const std::size_t u = row - t.warm_row_state.size(); u < t.warm_union_first.size()) {
        const auto row_of = [&](WarmOperand x) { return rows_[static_cast<std::size_t>(x.v)]; };
        rows_.push_back(machine_->row_union(*cache_, row_of(t.warm_union_first.at(u)), row_of(t.warm_union_second.at(u))));
    } else {
        return false;
    }
    return true;
}

}  // namespace psc
