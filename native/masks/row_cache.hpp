// The mask rows that a machine has composed, and the rows that were made from others: the memory that a limit bounds.
//
// A cache only grows. When it passes its machine's limit, the machine begins an empty one and sets `retired`. A matcher changes to the new
// cache at its next step, and the last matcher that uses the old one frees it. Ids of rows and of sets of stop tokens are valid in
// their cache alone.
//
// Cost: a look-up takes no lock; a missing entry is added under the machine's lock. Threads: any number.
#pragma once

#include <atomic>
#include <cstddef>

#include "base/interned.hpp"
#include "masks/rows.hpp"
#include "masks/stop_sets.hpp"

namespace psc {

class RowCache {
public:
    explicit RowCache(Word vocab_size) : rows(vocab_size) {}
    virtual ~RowCache() = default;
    RowCache(const RowCache&) = delete;
    RowCache& operator=(const RowCache&) = delete;

    virtual std::size_t bytes() const;
    // The row of two different rows' union, with the smaller id first. Writers only; it must not be present.
    MaskRow add_union(MaskRow a, MaskRow b);

    MaskRows rows;
    SharedIdMap<MaskRow, MaskRow, MaskRow> row_unions;
    SharedIdMap<MaskRow, StopSet, MaskRow> other_stops;
    StopSets stop_sets;                // of `other_stops`; under the lock
    std::atomic<bool> retired{false};  // last: an engine's steps come next, in the same line of memory
};

}  // namespace psc
