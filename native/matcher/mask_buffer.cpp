#include "matcher/mask_buffer.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace psc {

namespace {

constexpr std::size_t kFewIds = 32;  // words that are worth being asked for one by one

void ask_for_list(const MaskRows::Stored& row) {
    if (row.form == MaskRows::Form::bits) return;
    const auto ids = row.words.first(std::min(kFewIds, row.words.size()));
    for (std::size_t i = 0; i < ids.size(); i += 16) __builtin_prefetch(&ids[i]);
}

// Calls one function for each number that the first of two ascending lists has alone, the other for each that the second has alone.
// Mostly they have most in common: the tokens of blanks, say.
template <class First, class Second>
void each_alone(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b, const First& first, const Second& second) {
    constexpr std::size_t kAtOnce = 4;
    std::size_t i = 0, j = 0;
    while (i < a.size() && j < b.size()) {
        if (i + kAtOnce <= a.size() && j + kAtOnce <= b.size() && std::memcmp(&a[i], &b[j], kAtOnce * sizeof(a[0])) == 0) {
            i += kAtOnce;
            j += kAtOnce;
        } else if (a[i] == b[j]) {
            ++i;
            ++j;
        } else if (a[i] < b[j]) {
            first(a[i++]);
        } else {
            second(b[j++]);
        }
    }
    for (; i < a.size(); ++i) first(a[i]);
    for (; j < b.size(); ++j) second(b[j]);
}

void ask_for_words(std::uint32_t* words, const MaskRows::Stored& row) {
    if (row.form == MaskRows::Form::bits || row.words.size() > kFewIds) return;
    for (std::uint32_t t : row.words) __builtin_prefetch(words + (t >> 5), 1);
}

}  // namespace

MaskBuffer::MaskBuffer(std::size_t n_rows, Word vocab_size)
    : vocab_size_(vocab_size),
      n_words_((static_cast<std::size_t>(vocab_size) + 31) / 32),
      words_(std::make_unique_for_overwrite<std::uint32_t[]>(n_rows * n_words_)),
      held_(n_rows) {
    std::memset(words_.get(), 0xff, n_rows * n_words_ * 4);
    for (Held& held : held_) held.what = Held::What::everything;
}

void MaskBuffer::put(std::size_t first, const std::shared_ptr<RowCache>& cache, std::span<const MaskRow> rows) {
    const auto is_there = [&](std::size_t k) {
        const Held& held = held_[first + k];
        return held.what == Held::What::row && held.row == rows[k] && held.is(cache);
    };
    constexpr std::size_t kTogether = 16;
    for (; !rows.empty(); first += std::min(kTogether, rows.size()), rows = rows.subspan(std::min(kTogether, rows.size()))) {
        std::array<std::size_t, kTogether> others;
        std::size_t n = 0;
        for (std::size_t k = 0; k < std::min(kTogether, rows.size()); ++k) {
            if (is_there(k)) continue;
            others[n++] = k;
            cache->rows.prefetch(rows[k]);
        }
        const auto each = [&](auto f) {
            for (std::size_t i = 0; i < n; ++i) f(first + others[i], rows[others[i]]);
        };
        each([&](std::size_t i, MaskRow row) {
            ask_for_list(cache->rows.stored(row));
            if (held_[i].what == Held::What::row && held_[i].is(cache)) ask_for_list(held_[i].stored);
        });
        each([&](std::size_t i, MaskRow row) {
            ask_for_words(this->row(i), cache->rows.stored(row));
            if (held_[i].what == Held::What::row && held_[i].is(cache)) ask_for_words(this->row(i), held_[i].stored);
        });
        each([&](std::size_t i, MaskRow row) { write(i, cache, row); });
    }
}

void MaskBuffer::write(std::size_t i, const std::shared_ptr<RowCache>& cache, MaskRow row) {
    Held& held = held_[i];
    std::uint32_t* const words = this->row(i);
    const MaskRows::Stored after = cache->rows.stored(row);
    const bool same_cache = held.what == Held::What::row && held.is(cache);
    bool done = false;
    if (same_cache) {
        done = exchange(words, held.stored, after);
    } else if (held.what == Held::What::row) {
        if (const auto before = held.cache.lock()) done = exchange(words, held.stored, after);
    }
    if (!done) cache->rows.copy(row, words);
    held.what = Held::What::row;
    held.none = cache->rows.none(row);
    held.row = row;
    held.stored = after;
    if (!same_cache) held.cache = cache;
}

void MaskBuffer::allow_all(std::size_t i) {
    Held& held = held_[i];
    if (held.what == Held::What::everything) return;
    std::memset(row(i), 0xff, n_words_ * 4);
    held = {};
    held.what = Held::What::everything;
}

bool MaskBuffer::exchange(std::uint32_t* words, const MaskRows::Stored& before, const MaskRows::Stored& after) const {
    if (before.form != after.form || before.form == MaskRows::Form::bits) return false;
    // So many differ at least. To write all lines of the row, one after the other, takes less than to write as many here and there.
    const std::size_t more = std::max(before.words.size(), after.words.size()),
                      less = std::min(before.words.size(), after.words.size());
    if (more - less > n_words_ / 16 + kFewIds) return false;
    const auto allow = [&](std::uint32_t t) { words[t >> 5] |= 1u << (t & 31); };
    const auto refuse = [&](std::uint32_t t) { words[t >> 5] &= ~(1u << (t & 31)); };
    if (before.form == MaskRows::Form::allowed)
        each_alone(before.words, after.words, refuse, allow);
    else
        each_alone(before.words, after.words, allow, refuse);
    return true;
}

}  // namespace psc
