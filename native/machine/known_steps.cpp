#include "machine/known_steps.hpp"

#include <algorithm>

namespace psc {

KnownSteps::Slot& KnownSteps::free_slot(Table& table, std::uint64_t tag) {
    std::size_t at = tag & table.mask;
    while (table.slots[at].tag.load(std::memory_order_relaxed) != 0) at = (at + 1) & table.mask;
    return table.slots[at];
}

// For one more step.
void KnownSteps::make_room() {
    const Table* const old = table_.load(std::memory_order_relaxed);
    if (old && (n_.load(std::memory_order_relaxed) + 1) * 2 <= old->mask) return;
    constexpr std::size_t kFirst = 64;
    const std::size_t size = old ? (old->mask + 1) * 2 : kFirst;
    auto grown = std::make_unique<Table>(Table{size - 1, std::make_unique<Slot[]>(size)});
    for (std::size_t at = 0; old && at <= old->mask; ++at) {
        const Slot& from = old->slots[at];
        const std::uint64_t tag = from.tag.load(std::memory_order_relaxed);
        if (tag == 0) continue;
        Slot& to = free_slot(*grown, tag);
        to.key = from.key;
        to.to = from.to;
        to.row = from.row;
        to.counts = from.counts;
        if (from.counts.n_states() > kFew)
            to.in_long = from.in_long;
        else
            to.few = from.few;
        to.tag.store(tag, std::memory_order_relaxed);
    }
    tables_.push_back(std::move(grown));
    table_.store(tables_.back().get(), std::memory_order_release);
}

void KnownSteps::add(const Step& step) {
    if (is_closed(step.key)) return;
    std::size_t n_of_key = 0;
    const bool is_there =
        find(step.key, [&](Counts counts, const LrState* states) {
            ++n_of_key;
            return counts.n_seen == step.counts.n_seen && std::equal(states, states + counts.n_seen, step.states.begin());
        }).has_value();
    if (is_there) return;
    if (n_of_key == kMaxOfKey) return close(step.key);
    make_room();
    const std::uint64_t tag = tag_of(step.key);
    Slot& slot = free_slot(*tables_.back(), tag);
    if (step.counts.n_states() > kFew) {
        slot.in_long = static_cast<std::uint32_t>(long_.size());
        long_.push_back(step.states);
    } else {
        std::copy_n(step.states.begin(), kFew, slot.few.begin());
    }
    slot.key = step.key;
    slot.to = step.to;
    slot.row = step.row;
    slot.counts = step.counts;
    slot.tag.store(tag, std::memory_order_release);
    n_.store(n_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void KnownSteps::close(const Key& key) {
    if (is_closed(key)) return;
    make_room();
    const std::uint64_t tag = tag_of(key);
    Slot& slot = free_slot(*tables_.back(), tag);
    slot.key = key;
    slot.counts = {};
    slot.tag.store(tag, std::memory_order_release);
    n_.store(n_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace psc
