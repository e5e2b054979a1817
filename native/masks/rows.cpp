#include "masks/rows.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/bit_counts.hpp"

namespace psc {

MaskRows::~MaskRows() {
    for (std::size_t r = 0; r < rows_.size(); ++r)
        if (auto* bits = rows_[r].bits.load(); bits != rows_[r].data.get()) delete[] bits;
}

namespace {

std::uint64_t two_words(const std::uint32_t* words) {
    std::uint64_t x;
    std::memcpy(&x, words, 8);
    return x;
}

// Four at a time, so that none waits for the one before.
std::uint64_t hash_of(const std::uint32_t* words, std::size_t n) {
    std::uint64_t lanes[4] = {1, 2, 3, 4};
    const auto add = [](std::uint64_t& h, std::uint64_t x) {
        h = (h ^ x) * 0xd6e8feb86659fd93ULL;
        h ^= h >> 32;
    };
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 4; ++k) add(lanes[k], two_words(words + i + 2 * k));
    for (; i < n; ++i) add(lanes[0], words[i]);
    for (int k = 1; k < 4; ++k) add(lanes[0], lanes[k]);
    return lanes[0];
}

}  // namespace

MaskRows::Shape MaskRows::shape_of(std::size_t n_allowed) const {
    const std::size_t refused = vocab_size_ - n_allowed;
    // A list costs a word an id, and an id costs a few word writes when the row is copied.
    const std::size_t most = n_words_ / 8;
    if (n_allowed <= most) return {Form::allowed, n_allowed, n_allowed};
    if (refused <= most) return {Form::refused, refused, refused};
    return {Form::bits, 0, n_words_};
}

MaskRows::Bits MaskRows::ids_of(const std::uint32_t* words, const Shape& shape) const {
    auto ids = std::make_unique_for_overwrite<std::uint32_t[]>(shape.count);
    std::size_t at = 0;
    const std::uint32_t flip = shape.form == Form::allowed ? 0 : ~0u;
    for (std::size_t i = 0; i < n_words_ && at < shape.count; ++i) {
        std::uint32_t word = words[i] ^ flip;
        if (i + 1 == n_words_ && vocab_size_ % 32) word &= (1u << vocab_size_ % 32) - 1;
        for (; word; word &= word - 1) ids[at++] = static_cast<std::uint32_t>(i * 32 + std::countr_zero(word));
    }
    return ids;
}

std::uint64_t MaskRows::hash(const std::uint32_t* data, const Shape& shape) const {
    return mix(hash_of(data, shape.n_words) ^ (static_cast<std::uint64_t>(shape.form) << 32 | shape.count));
}

MaskRow MaskRows::store(Bits& data, const Shape& shape) {
    const MaskRow id{size()};
    Row& r = rows_.next();
    r.form = shape.form;
    r.count = static_cast<std::uint32_t>(shape.count);
    r.data = std::move(data);
    r.bits.store(shape.form == Form::bits ? r.data.get() : nullptr, std::memory_order_release);
    rows_.publish();
    bytes_ += shape.n_words * 4 + sizeof(Row) + 48;
    return id;
}

MaskRow MaskRows::add(Bits& words) {
    for (; n_hashed_ < size(); ++n_hashed_) {
        const Row& r = rows_[static_cast<std::size_t>(n_hashed_)];
        by_hash_.emplace(hash(r.data.get(), {r.form, r.count, stored({n_hashed_}).words.size()}), MaskRow{n_hashed_});
    }
    const std::size_t n_allowed = count_bits(n_words_ / 2, [&](std::size_t i) { return two_words(words.get() + 2 * i); }) +
                                  (n_words_ % 2 ? static_cast<std::size_t>(std::popcount(words[n_words_ - 1])) : 0);
    const Shape shape = shape_of(n_allowed);
    Bits ids;
    if (shape.form != Form::bits) ids = ids_of(words.get(), shape);
    Bits& data = shape.form == Form::bits ? words : ids;
    const std::uint64_t h = hash(data.get(), shape);
    const auto [first, last] = by_hash_.equal_range(h);
    for (auto it = first; it != last; ++it) {
        const Row& r = rows_[it->second.index()];
        if (r.form == shape.form && r.count == shape.count && std::equal(data.get(), data.get() + shape.n_words, r.data.get()))
            return it->second;
    }
    const MaskRow id = store(data, shape);
    by_hash_.emplace(h, id);
    n_hashed_ = size();
    return id;
}

MaskRow MaskRows::add_new(Bits& words, std::size_t n_allowed) {
    if (n_hashed_) return add(words);
    const Shape shape = shape_of(n_allowed);
    if (shape.form == Form::bits) return store(words, shape);
    Bits ids = ids_of(words.get(), shape);
    return store(ids, shape);
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
