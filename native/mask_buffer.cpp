#include "mask_buffer.hpp"

#include <algorithm>
#include <cstring>

namespace psc {

MaskBuffer::MaskBuffer(std::size_t n_rows, Word vocab_size)
    : vocab_size_(vocab_size),
      n_words_((static_cast<std::size_t>(vocab_size) + 31) / 32),
      words_(std::make_unique_for_overwrite<std::uint32_t[]>(n_rows * n_words_)),
      held_(n_rows) {
    std::memset(words_.get(), 0xff, n_rows * n_words_ * 4);
    for (Held& held : held_) held.what = Held::What::everything;
}

void MaskBuffer::put(std::size_t i, const std::shared_ptr<Machine::Cache>& cache, MaskRow row) {
    Held& held = held_[i];
    std::uint32_t* const words = this->row(i);
    const bool same_cache = held.what == Held::What::row && held.is(cache);
    if (same_cache && held.row == row) return;
    bool done = false;
    if (same_cache) {
        done = exchange(words, cache->rows.stored(held.row), cache->rows.stored(row));
    } else if (held.what == Held::What::row) {
        if (const auto before = held.cache.lock()) done = exchange(words, before->rows.stored(held.row), cache->rows.stored(row));
    }
    if (!done) cache->rows.copy(row, words);
    held.what = Held::What::row;
    held.row = row;
    if (!same_cache) held.cache = cache;
}

void MaskBuffer::allow_all(std::size_t i) {
    Held& held = held_[i];
    if (held.what == Held::What::everything) return;
    std::memset(row(i), 0xff, n_words_ * 4);
    held = {Held::What::everything, {0}, {}};
}

bool MaskBuffer::exchange(std::uint32_t* words, const MaskRows::Stored& before, const MaskRows::Stored& after) const {
    if (before.form != after.form || before.form == MaskRows::Form::bits) return false;
    if (before.form == MaskRows::Form::allowed) {
        for (std::uint32_t t : before.words) words[t >> 5] = 0;
        for (std::uint32_t t : after.words) words[t >> 5] |= 1u << (t & 31);
        return true;
    }
    // As MaskRows::copy() does: no bit beyond the vocabulary.
    const std::uint32_t last = vocab_size_ % 32 ? (1u << vocab_size_ % 32) - 1 : ~0u;
    for (std::uint32_t t : before.words) words[t >> 5] = (t >> 5) + 1 == n_words_ ? last : ~0u;
    for (std::uint32_t t : after.words) words[t >> 5] &= ~(1u << (t & 31));
    return true;
}

}  // namespace psc
