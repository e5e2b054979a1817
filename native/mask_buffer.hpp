// The bitmask of a server's batch: rows in memory that stays from step to step, and what is in each.
//
// A row of 150,000 tokens is 19 kB, nine of them for each request that has eight drafts, so most of what a batch costs would be
// writing them. But a row seldom differs much from the one before it at its place: inside a string it is the same, and between names
// and brackets both allow a few tokens. So a row that is there already is not written, and of one that is stored as a list of ids only
// what the old and the new list name.
//
// Cost: nothing for a row that is there, some nanoseconds for each id of lists of one form, else a copy of vocab_size / 8 bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "machine.hpp"

namespace psc {

class MaskBuffer {
public:
    // All rows allow everything.
    MaskBuffer(std::size_t n_rows, Word vocab_size);

    std::size_t n_rows() const { return held_.size(); }
    std::size_t n_words() const { return n_words_; }
    Word vocab_size() const { return vocab_size_; }
    std::uint32_t* row(std::size_t i) const { return words_.get() + i * n_words_; }

    // Makes row `i` the mask row `row` of a cache. Several threads may write different rows at once.
    void put(std::size_t i, const std::shared_ptr<Machine::Cache>& cache, MaskRow row);
    // All bits of the row, those beyond the vocabulary too.
    void allow_all(std::size_t i);
    // Somebody else wrote to the row.
    void forget(std::size_t i) { held_[i] = {}; }

private:
    struct Held {
        enum class What : std::uint8_t { unknown, everything, row };
        What what = What::unknown;
        MaskRow row{0};
        std::weak_ptr<Machine::Cache> cache;  // whose the row is

        bool is(const std::shared_ptr<Machine::Cache>& other) const {  // by the object itself: an address may be used again
            return !cache.owner_before(other) && !other.owner_before(cache);
        }
    };
    // Rewrites a row of the same form; false where it is not worth it.
    bool exchange(std::uint32_t* words, const MaskRows::Stored& before, const MaskRows::Stored& after) const;

    Word vocab_size_;
    std::size_t n_words_;
    std::unique_ptr<std::uint32_t[]> words_;
    std::vector<Held> held_;
};

}  // namespace psc
