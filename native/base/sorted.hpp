// Sets as sorted vectors without repetitions.
//
// sort_unique() first looks for sorted runs, since most inputs are a few sets one after the other, and merges these.
//
// Cost: O(n log n), and O(n log k) for k sorted runs. Threads: pure functions.
// Tried and dropped: std::sort of everything, which took most of the classifier's time when a grammar was closed.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <vector>

#include "base/intern.hpp"

namespace psc {

// Merges sorted runs, each without repetitions, pairwise; `ends` has where each run ends.
template <class T>
void merge_runs(std::vector<T>& v, std::vector<std::size_t>& ends) {
    std::vector<T> merged;
    while (ends.size() > 1) {
        merged.clear();
        merged.reserve(v.size());
        std::size_t n = 0, begin = 0;
        for (std::size_t i = 0; i < ends.size(); i += 2) {
            const std::size_t middle = ends[i], end = i + 1 < ends.size() ? ends[i + 1] : middle;
            std::set_union(v.begin() + begin, v.begin() + middle, v.begin() + middle, v.begin() + end, std::back_inserter(merged));
            begin = end;
            ends[n++] = merged.size();
        }
        ends.resize(n);
        v.swap(merged);
    }
}

template <class T>
void sort_unique(std::vector<T>& v) {
    constexpr std::size_t kFew = 16, kShortest = 8;
    if (v.size() > kFew) {
        std::vector<std::size_t> ends;
        for (std::size_t i = 1; i <= v.size() && ends.size() * kShortest <= v.size(); ++i)
            if (i == v.size() || !(v[i - 1] < v[i])) ends.push_back(i);
        if (ends.size() * kShortest <= v.size()) return merge_runs(v, ends);
    }
    std::sort(v.begin(), v.end());
    v.erase(std::unique(v.begin(), v.end()), v.end());
}

// Whether every element is larger than the one before, for lists from untrusted sources.
template <class List>
bool is_ascending(const List& list) {
    return std::adjacent_find(list.begin(), list.end(), std::greater_equal<>()) == list.end();
}

}  // namespace psc
