#include "mask_rows.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace psc {

MaskRows::~MaskRows() {
    for (std::size_t r = 0; r < rows_.size(); ++r)
        if (auto* bits = rows_[r].bits.load(); bits != rows_[r].data.get()) delete[] bits;
}

MaskRow MaskRows::add(const std::uint32_t* words) {
    std::size_t allowed = 0;
    for (std::size_t i = 0; i < n_words_; ++i) allowed += std::popcount(words[i]);
    const std::size_t refused = vocab_size_ - allowed;
    // A list costs a word an id, and an id costs a few word writes when the row is copied.
    const std::size_t most = n_words_ / 8;
    const Form form = allowed <= most ? Form::allowed : refused <= most ? Form::refused : Form::bits;
    std::unique_ptr<std::uint32_t[]> data;
    std::size_t size = n_words_, count = 0;
    if (form == Form::bits) {
        data = std::make_unique_for_overwrite<std::uint32_t[]>(n_words_);
        std::memcpy(data.get(), words, n_words_ * 4);
    } else {
        size = count = form == Form::allowed ? allowed : refused;
        data = std::make_unique_for_overwrite<std::uint32_t[]>(count);
        std::size_t at = 0;
        for (std::size_t i = 0; i < n_words_; ++i) {
            std::uint32_t word = form == Form::allowed ? words[i] : ~words[i];
            if (i + 1 == n_words_ && vocab_size_ % 32) word &= (1u << vocab_size_ % 32) - 1;
            for (; word; word &= word - 1) data[at++] = static_cast<std::uint32_t>(i * 32 + std::countr_zero(word));
        }
    }
    std::uint64_t h = static_cast<std::uint64_t>(form) << 32 | count;
    for (std::size_t i = 0; i + 1 < size; i += 2) {
        std::uint64_t x;
        std::memcpy(&x, data.get() + i, 8);
        h = (h ^ x) * 0xd6e8feb86659fd93ULL;
        h ^= h >> 32;
    }
    if (size % 2) h = mix(h ^ data[size - 1]);
    const auto [first, last] = by_hash_.equal_range(h);
    for (auto it = first; it != last; ++it) {
        const Row& r = rows_[it->second.index()];
        if (r.form == form && r.count == count && std::equal(data.get(), data.get() + size, r.data.get())) return it->second;
    }
    const MaskRow id{this->size()};
    Row& r = rows_.grow();
    r.form = form;
    r.count = static_cast<std::uint32_t>(count);
    r.data = std::move(data);
    r.bits.store(form == Form::bits ? r.data.get() : nullptr, std::memory_order_release);
    by_hash_.emplace(h, id);
    bytes_ += size * 4 + sizeof(Row) + 48;
    return id;
}

bool MaskRows::allowed(MaskRow row, TokenId token) const {
    const Row& r = rows_[row.index()];
    const auto t = static_cast<std::uint32_t>(token.v);
    if (r.form == Form::bits) return r.data[t >> 5] >> (t & 31) & 1;
    return std::binary_search(r.data.get(), r.data.get() + r.count, t) == (r.form == Form::allowed);
}

void MaskRows::copy(MaskRow row, std::uint32_t* out) const {
    const Row& r = rows_[row.index()];
    if (r.form == Form::bits) {
        std::memcpy(out, r.data.get(), n_words_ * 4);
    } else if (r.form == Form::allowed) {
        std::memset(out, 0, n_words_ * 4);
        for (std::uint32_t i = 0; i < r.count; ++i) out[r.data[i] >> 5] |= 1u << (r.data[i] & 31);
    } else {
        std::memset(out, 0xff, n_words_ * 4);
        if (vocab_size_ % 32) out[n_words_ - 1] = (1u << vocab_size_ % 32) - 1;
        for (std::uint32_t i = 0; i < r.count; ++i) out[r.data[i] >> 5] &= ~(1u << (r.data[i] & 31));
    }
}

std::vector<TokenId> MaskRows::tokens(MaskRow row) const {
    const Row& r = rows_[row.index()];
    std::vector<TokenId> out;
    if (r.form == Form::allowed) {
        for (std::uint32_t i = 0; i < r.count; ++i) out.push_back({static_cast<Word>(r.data[i])});
        return out;
    }
    std::vector<std::uint32_t> bits(n_words_);
    copy(row, bits.data());
    for (std::size_t i = 0; i < n_words_; ++i)
        for (std::uint32_t word = bits[i]; word; word &= word - 1)
            out.push_back({static_cast<Word>(i * 32 + std::countr_zero(word))});
    return out;
}

const std::uint32_t* MaskRows::words(MaskRow row) {
    Row& r = rows_[row.index()];
    if (const auto* bits = r.bits.load(std::memory_order_acquire)) return bits;
    const std::lock_guard lock(looking_);
    if (const auto* bits = r.bits.load(std::memory_order_relaxed)) return bits;
    auto bits = std::make_unique_for_overwrite<std::uint32_t[]>(n_words_);
    copy(row, bits.get());
    bytes_ += n_words_ * 4;
    r.bits.store(bits.get(), std::memory_order_release);
    return bits.release();
}

}  // namespace psc
