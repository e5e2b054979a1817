// The mask rows that an artifact's machine has composed, by their unions of token classes.
//
// Different stacks often come to one union: each is known by its classes (half a kilobyte) before any token is looked at. A new union
// is most often near one that was composed before, so its tokens are made from the tokens of that one (masks/class_rows.hpp). Rows that are
// near each other have about as many tokens, so those next to the new one by weight are looked at, and which is nearest is the base.
// No tokens and all tokens are bases too: what is far from every row costs no more than to begin with nothing.
//
// Cost: an exact look-up of n_classes / 64 words; for a new row kNeighbours times as many, a copy of vocab_size / 8 bytes, and
// the flips. Memory: n_classes / 8 bytes a row besides its bits.
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
    static constexpr std::size_t kNear = 128;  // what is as near costs less to flip than to look for a nearer one

    // Of no classes or of all when that is nearer than any row: null.
    const Composed* nearest(const ClassRows& class_rows, ClassRows::ConstClasses classes, std::size_t weight) const;

    std::vector<Composed> composed_;
    std::unordered_multimap<std::uint64_t, std::size_t> by_hash_;
    std::multimap<std::size_t, std::size_t> by_weight_;
    std::size_t bytes_ = 0;
};

}  // namespace psc
