#include "matcher/mask_slots.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/errors.hpp"

namespace psc {

MaskSlots::MaskSlots(Word n_slots) : n_slots_(n_slots) {}

void MaskSlots::begin() {
    ++step_;
    writes_.clear();
    pool_.clear();
}

Word MaskSlots::slot_of(const std::shared_ptr<RowCache>& cache, MaskRow row) {
    if (last_ != cache.get()) {
        Grammar& g = grammars_[cache.get()];
        if (g.cache.expired()) g.cache = cache;
        last_ = cache.get();
        last_grammar_ = &g;
    }
    auto& known = last_grammar_->slot_of_row;
    if (row.index() >= known.size()) known.resize(row.index() + 1 + known.size() / 2, -1);
    if (const Word slot = known[row.index()]; slot >= 0) {
        slots_[slot].met = true;
        slots_[slot].step = step_;
        return slot;
    }
    const Word slot = free_slot();
    slots_[slot] = {cache.get(), row, true, step_};
    Grammar& g = grammars_[cache.get()];  // free_slot() may have dropped others
    g.slot_of_row[row.index()] = slot;
    ++g.n_slots;
    const auto stored = cache->rows.stored(row);
    const Word begin = static_cast<Word>(pool_.size());
    pool_.insert(pool_.end(), stored.words.begin(), stored.words.end());
    writes_.push_back({slot, static_cast<Word>(stored.form), begin, static_cast<Word>(stored.words.size())});
    return slot;
}

Word MaskSlots::free_slot() {
    if (n_used() < n_slots_) {
        slots_.emplace_back();
        return n_used() - 1;
    }
    for (std::size_t i = 0; i < 2 * slots_.size(); ++i) {
        Slot& s = slots_[hand_];
        const Word slot = static_cast<Word>(hand_);
        hand_ = (hand_ + 1) % slots_.size();
        if (s.step == step_ || std::exchange(s.met, false)) continue;
        Grammar& g = grammars_[s.cache];
        g.slot_of_row[s.row.index()] = -1;
        if (--g.n_slots == 0 && s.cache != last_) grammars_.erase(s.cache);
        return slot;
    }
    throw BitmaskError("one step needs more than the " + std::to_string(n_slots_) +
                       " mask rows that the table holds; give it more (max_bytes)");
}

void check_write(const MaskSlots::Write& w, std::span<const std::uint32_t> pool, std::size_t n_slots, Word vocab_size) {
    const auto bits = static_cast<Word>(MaskRows::Form::bits);
    const std::size_t n_words = (static_cast<std::size_t>(vocab_size) + 31) / 32;
    if (w.slot < 0 || static_cast<std::size_t>(w.slot) >= n_slots)
        throw BitmaskError("a mask row for slot " + std::to_string(w.slot) + " of a table of " + std::to_string(n_slots));
    if (w.form < 0 || w.form > bits) throw BitmaskError("a mask row of an unknown form, " + std::to_string(w.form));
    if (w.begin < 0 || w.count < 0 || static_cast<std::size_t>(w.begin) + static_cast<std::size_t>(w.count) > pool.size())
        throw BitmaskError("a mask row that is not within its pool");
    const auto words = pool.subspan(static_cast<std::size_t>(w.begin), static_cast<std::size_t>(w.count));
    if (w.form == bits ? words.size() != n_words : std::any_of(words.begin(), words.end(), [&](std::uint32_t t) {
            return t >= static_cast<std::uint32_t>(vocab_size);
        }))
        throw BitmaskError("a mask row that does not fit a vocabulary of " + std::to_string(vocab_size));
}

void write_row(const MaskSlots::Write& w, std::span<const std::uint32_t> pool, Word vocab_size, std::uint32_t* out) {
    const auto form = static_cast<MaskRows::Form>(w.form);
    const auto words = pool.subspan(static_cast<std::size_t>(w.begin), static_cast<std::size_t>(w.count));
    const std::size_t n_words = (static_cast<std::size_t>(vocab_size) + 31) / 32;
    if (form == MaskRows::Form::bits) {
        std::memcpy(out, words.data(), n_words * 4);
        return;
    }
    if (form == MaskRows::Form::allowed) {
        std::memset(out, 0, n_words * 4);
        for (std::uint32_t t : words) out[t >> 5] |= 1u << (t & 31);
    } else {
        std::memset(out, 0xff, n_words * 4);
        for (std::uint32_t t : words) out[t >> 5] &= ~(1u << (t & 31));
        if (vocab_size % 32) out[n_words - 1] &= (1u << vocab_size % 32) - 1;
    }
}

}  // namespace psc
