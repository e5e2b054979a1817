// The mask rows that an artifact's machine has composed, by their unions of token classes.
//
// Different stacks often lead to one union, and its classes (half a kilobyte) identify it before any token is read. A new union is
// usually close to one that was composed before, so its row is made from that one's (masks/class_rows.hpp). Close rows have a similar
// number of tokens, so the candidates are the rows next to the new one by weight, and the closest of them is the base. No tokens and all
// tokens are bases too: a union far from every row costs what it would cost to begin with nothing.
//
// Cost: an exact look-up of n_classes / 64 words; for a new row kNeighbours times as many, a copy of vocab_size / 8 bytes, and the
// flips. Memory: n_classes / 8 bytes a row besides its bits. Threads: one at a time adds, under the machine's lock.
// Tried and dropped: each new row from no tokens, which takes three times as long.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "masks/class_rows.hpp"
#include "masks/rows.hpp"

namespace psc {

class ComposedRows {
public:
    // The row of a union of classes, added to `rows` when it is new. Writers only, always with the same arguments but the last.
    MaskRow row(const ClassRows& class_rows, MaskRows& rows, ClassRows::ConstClasses classes);
    std::size_t bytes() const { return bytes_; }

private:
    struct Composed {
        std::unique_ptr<std::uint64_t[]> classes;
        MaskRow row;
        std::size_t n_tokens;  // stop tokens aside
    };
    static constexpr int kNeighbours = 8;
    static constexpr std::size_t kNear = 128;  // a base this close costs less to flip than to search for a closer one

    // Of no classes or of all when that is nearer than any row: null.
    const Composed* nearest(const ClassRows& class_rows, ClassRows::ConstClasses classes, std::size_t weight) const;

    std::vector<Composed> composed_;
    std::unordered_multimap<std::uint64_t, std::size_t> by_hash_;
    std::multimap<std::size_t, std::size_t> by_weight_;
    std::size_t bytes_ = 0;
};

}  // namespace psc
