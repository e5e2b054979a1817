#include "mask_rows.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

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

// How many bits are set: in bytes side by side, which compilers make wide instructions of on any processor.
std::size_t count_bits(const std::uint32_t* words, std::size_t n) {
    constexpr std::uint64_t kBytes = 0x0101010101010101, kPairs = 0x5555555555555555, kQuads = 0x3333333333333333;
    constexpr std::size_t kMost = 2 * 31;  // words whose counts fit a byte
    std::size_t all = 0, i = 0;
    for (; i + 1 < n;) {
        std::uint64_t bytes = 0;
        for (const std::size_t end = std::min(n & ~std::size_t{1}, i + kMost); i < end; i += 2) {
            std::uint64_t x = two_words(words + i);
            x -= x >> 1 & kPairs;
            x = (x & kQuads) + (x >> 2 & kQuads);
            bytes += (x + (x >> 4)) & 0x0f * kBytes;
        }
        constexpr std::uint64_t kEven = 0x00ff00ff00ff00ff;
        all += ((bytes & kEven) + (bytes >> 8 & kEven)) * 0x0001000100010001 >> 48;
    }
    return all + (i < n ? static_cast<std::size_t>(std::popcount(words[i])) : 0);
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

MaskRow MaskRows::add(Bits& words) {
    const std::size_t allowed = count_bits(words.get(), n_words_);
    const std::size_t refused = vocab_size_ - allowed;
    // A list costs a word an id, and an id costs a few word writes when the row is copied.
    const std::size_t most = n_words_ / 8;
    const Form form = allowed <= most ? Form::allowed : refused <= most ? Form::refused : Form::bits;
    const std::size_t count = form == Form::bits ? 0 : form == Form::allowed ? allowed : refused;
    const std::size_t size = form == Form::bits ? n_words_ : count;
    Bits ids;
    if (form != Form::bits) {
        ids = std::make_unique_for_overwrite<std::uint32_t[]>(count);
        std::size_t at = 0;
        const std::uint32_t flip = form == Form::allowed ? 0 : ~0u;
        for (std::size_t i = 0; i < n_words_ && at < count; ++i) {
            std::uint32_t word = words[i] ^ flip;
            if (i + 1 == n_words_ && vocab_size_ % 32) word &= (1u << vocab_size_ % 32) - 1;
            for (; word; word &= word - 1) ids[at++] = static_cast<std::uint32_t>(i * 32 + std::countr_zero(word));
        }
    }
    Bits& data = form == Form::bits ? words : ids;
    const std::uint64_t h = mix(hash_of(data.get(), size) ^ (static_cast<std::uint64_t>(form) << 32 | count));
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
