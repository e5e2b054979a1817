// Mask rows: sets of token ids, stored once each, in the smallest form: the ids allowed, the ids refused, or all bits.
//
// Rows are added under a lock and read without one. words() makes the bits of a row a second time, and keeps them, for callers that read
// them in place.
//
// Example: inside a JSON string nearly every token is allowed, so the row is the list of the refused ids; after `tru` it is the list of
// the few allowed ones.
//
// Cost: add() is a few passes over vocab_size / 32 words, at 16 bytes in one or two nanoseconds; add_new() is none if all bits are
// stored. copy() writes as many words, and sets the exceptions. allowed() is O(log n) at most.
// Threads: one adds at a time; any number reads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/concurrent.hpp"
#include "base/ids.hpp"

namespace psc {

// Masks: token j is allowed when bit j % 32 of word j / 32 is set.
inline void set_bit(std::uint32_t* words, TokenId token) { words[token.v >> 5] |= 1u << (token.v & 31); }
inline void clear_bit(std::uint32_t* words, TokenId token) { words[token.v >> 5] &= ~(1u << (token.v & 31)); }

class MaskRows {
public:
    explicit MaskRows(Word vocab_size) : vocab_size_(vocab_size), n_words_((static_cast<std::size_t>(vocab_size) + 31) / 32) {}
    MaskRows(const MaskRows&) = delete;
    MaskRows& operator=(const MaskRows&) = delete;
    ~MaskRows();

    using Bits = std::unique_ptr<std::uint32_t[]>;
    // The id of the row with these bits, which are taken where they are what is stored. Writers only.
    MaskRow add(Bits& words);
    // The same for a row with `n_allowed` bits that differs from all rows that were added. It is hashed only when a row arrives that may
    // be the same.
    MaskRow add_new(Bits& words, std::size_t n_allowed);

    Word size() const { return static_cast<Word>(rows_.size()); }
    Word vocab_size() const { return vocab_size_; }
    std::size_t n_words() const { return n_words_; }
    std::size_t bytes() const { return bytes_; }
    bool allowed(MaskRow row, TokenId token) const;
    void copy(MaskRow row, std::uint32_t* out) const;
    // The ids allowed, ascending.
    std::vector<TokenId> tokens(MaskRow row) const;
    bool all(MaskRow row) const { return rows_[row.index()].form == Form::refused && rows_[row.index()].count == 0; }
    bool none(MaskRow row) const { return rows_[row.index()].form == Form::allowed && rows_[row.index()].count == 0; }
    // The row's bits, at an address that stays.
    const std::uint32_t* words(MaskRow row);

    enum class Form : std::uint8_t { allowed, refused, bits };
    struct Stored {
        Form form;
        std::span<const std::uint32_t> words;  // the ids, ascending, or all bits
    };
    // Prefetches the row for a caller that will read it soon.
    void prefetch(MaskRow row) const { __builtin_prefetch(&rows_[row.index()]); }
    Stored stored(MaskRow row) const {
        const Row& r = rows_[row.index()];
        return {r.form, {r.data.get(), r.form == Form::bits ? n_words_ : r.count}};
    }

private:
    struct Row {
        Form form;
        std::uint32_t count;  // of ids, ascending; 0 of bits
        std::unique_ptr<std::uint32_t[]> data;
        std::atomic<std::uint32_t*> bits;  // of a row that words() has read
    };

    struct Shape {
        Form form;
        std::size_t count, n_words;  // as in Row; that are stored
    };
    Shape shape_of(std::size_t n_allowed) const;
    Bits ids_of(const std::uint32_t* words, const Shape& shape) const;
    MaskRow store(Bits& data, const Shape& shape);
    std::uint64_t hash(const std::uint32_t* data, const Shape& shape) const;

    Word vocab_size_;
    std::size_t n_words_;
    StableVector<Row> rows_;
    std::unordered_multimap<std::uint64_t, MaskRow> by_hash_;
    Word n_hashed_ = 0;                  // rows in `by_hash_`, the first ones
    std::atomic<std::size_t> bytes_{0};  // rows are added and looked at under different locks
    std::mutex looking_;
};

}  // namespace psc
