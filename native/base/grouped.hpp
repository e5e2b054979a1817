// Lists of values by a key from 0 on, all in one array: an index that is built once and then read.
//
// Two passes over the same pairs of key and value: the first counts, the second fills. A vector for each key would be an allocation
// for each key; a grammar's passes build several such indices for each request.
//
// Example: of the pairs (1, a), (0, b), (1, c) the lists are {b} and {a, c}.
//
// Cost: O(keys + pairs), two allocations; a list is found in O(1). Threads: any number may read.
#pragma once

#include <span>
#include <vector>

#include "base/intern.hpp"

namespace psc {

template <class T = Word>
class Grouped {
public:
    Grouped() = default;
    // `each_pair(add)` calls add(key, value) for each pair, both times in the same order, which the lists keep.
    template <class EachPair>
    Grouped(std::size_t n_keys, const EachPair& each_pair) : ends_(n_keys + 1) {
        each_pair([&](std::size_t key, const T&) { ++ends_[key + 1]; });
        for (std::size_t key = 0; key < n_keys; ++key) ends_[key + 1] += ends_[key];
        values_.resize(static_cast<std::size_t>(ends_.back()));
        // Each key's entry moves from the begin of its list to the end.
        each_pair([&](std::size_t key, const T& value) { values_[static_cast<std::size_t>(ends_[key]++)] = value; });
    }

    std::span<const T> operator[](std::size_t key) const {
        const Word begin = key > 0 ? ends_[key - 1] : 0;
        return {values_.data() + begin, values_.data() + ends_[key]};
    }
    // Of all keys, one after the other.
    std::span<const T> values() const { return values_; }
    std::size_t bytes() const { return ends_.capacity() * sizeof(Word) + values_.capacity() * sizeof(T); }

private:
    std::vector<Word> ends_;
    std::vector<T> values_;
};

}  // namespace psc
