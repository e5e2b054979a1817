// The bitmask of a server's batch: rows in memory that stays from step to step, and what is in each.
//
// A row of 150,000 tokens is 19 kB, nine of them for each request that has eight drafts, so most of what a batch costs would be
// writing them. But a row seldom differs much from the one before it at its place: inside a string it is the same, and between names
// and brackets both allow a few tokens. So a row that is there already is not written, and of one that is stored as a list of ids only
// what the old or the new list names alone.
//
// What it takes to write a row lies in four places, of which none is in the processor's cache when its turn comes: what is stored of
// the row, its list, the list of the row before and the words themselves. So the rows of a request are written together, and each
// place is asked for, for all of them, before it is needed.
//
// Cost: nothing for a row that is there, some nanoseconds for each id of lists of one form, else a copy of vocab_size / 8 bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "machine/machine.hpp"

namespace psc {

class MaskBuffer {
public:
    // All rows allow everything.
    MaskBuffer(std::size_t n_rows, Word vocab_size);

    std::size_t n_rows() const { return held_.size(); }
    std::size_t n_words() const { return n_words_; }
    Word vocab_size() const { return vocab_size_; }
    std::uint32_t* row(std::size_t i) const { return words_.get() + i * n_words_; }

    // Makes the rows from `first` on these of a cache. Several threads may write different rows at once.
    void put(std::size_t first, const std::shared_ptr<RowCache>& cache, std::span<const MaskRow> rows);
    // Whether what was put there has no bit.
    bool allows_nothing(std::size_t i) const { return held_[i].what == Held::What::row && held_[i].none; }
    // All bits of the row, those beyond the vocabulary too.
    void allow_all(std::size_t i);
    // Somebody else wrote to the row.
    void forget(std::size_t i) { held_[i] = {}; }

private:
    struct Held {
        enum class What : std::uint8_t { unknown, everything, row };
        What what = What::unknown;
        bool none = false;  // of a row, that it allows no token
        MaskRow row{0};
        MaskRows::Stored stored{};      // the row, as long as the cache lives
        std::weak_ptr<RowCache> cache;  // whose the row is

        bool is(const std::shared_ptr<RowCache>& other) const {  // by the object itself: an address may be used again
            return !cache.owner_before(other) && !other.owner_before(cache);
        }
    };
    void write(std::size_t i, const std::shared_ptr<RowCache>& cache, MaskRow row);
    // Rewrites a row of the same form; false where it is not worth it.
    bool exchange(std::uint32_t* words, const MaskRows::Stored& before, const MaskRows::Stored& after) const;

    Word vocab_size_;
    std::size_t n_words_;
    std::unique_ptr<std::uint32_t[]> words_;
    std::vector<Held> held_;
};

}  // namespace psc
