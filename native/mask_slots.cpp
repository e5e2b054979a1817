#include "mask_slots.hpp"

#include <string>

#include "errors.hpp"

namespace psc {

MaskSlots::MaskSlots(Word n_slots) : slots_(static_cast<std::size_t>(n_slots)) {}

void MaskSlots::begin() {
    ++step_;
    writes_.clear();
    pool_.clear();
}

Word MaskSlots::slot_of(const std::shared_ptr<Machine::Cache>& cache, Word row) {
    if (last_ != cache.get()) {
        Grammar& g = grammars_[cache.get()];
        if (g.cache.expired()) g.cache = cache;
        last_ = cache.get();
        last_grammar_ = &g;
    }
    auto& known = last_grammar_->slot_of_row;
    if (static_cast<std::size_t>(row) >= known.size()) known.resize(static_cast<std::size_t>(row) + 1 + known.size() / 2, -1);
    if (const Word slot = known[row]; slot >= 0) {
        slots_[slot].met = true;
        slots_[slot].step = step_;
        return slot;
    }
    const Word slot = free_slot();
    slots_[slot] = {cache.get(), row, true, step_};
    Grammar& g = grammars_[cache.get()];  // free_slot() may have dropped others
    g.slot_of_row[row] = slot;
    ++g.n_slots;
    const auto stored = cache->rows.stored(row);
    const Word begin = static_cast<Word>(pool_.size());
    pool_.insert(pool_.end(), stored.words.begin(), stored.words.end());
    writes_.push_back({slot, static_cast<Word>(stored.form), begin, static_cast<Word>(stored.words.size())});
    return slot;
}

Word MaskSlots::free_slot() {
    if (n_used_ < n_slots()) return n_used_++;
    for (std::size_t i = 0; i < 2 * slots_.size(); ++i) {
        Slot& s = slots_[hand_];
        const Word slot = static_cast<Word>(hand_);
        hand_ = (hand_ + 1) % slots_.size();
        if (s.step == step_ || std::exchange(s.met, false)) continue;
        Grammar& g = grammars_[s.cache];
        g.slot_of_row[s.row] = -1;
        if (--g.n_slots == 0 && s.cache != last_) grammars_.erase(s.cache);
        return slot;
    }
    throw BitmaskError("one step needs more than the " + std::to_string(slots_.size()) +
                       " mask rows that the table holds; give it more (max_bytes)");
}

}  // namespace psc
