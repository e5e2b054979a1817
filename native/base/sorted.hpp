// Sets as sorted vectors without repetitions. O(n log n), and O(n log k) of k sorted pieces one after the other.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <vector>

#include "base/intern.hpp"

namespace psc {

// Unites sorted pieces, each without repetitions, two and two; `ends` are theirs.
template <class T>
void unite_pieces(std::vector<T>& v, std::vector<std::size_t>& ends) {
    std::vector<T> united;
    while (ends.size() > 1) {
        united.clear();
        united.reserve(v.size());
        std::size_t n = 0, begin = 0;
        for (std::size_t i = 0; i < ends.size(); i += 2) {
            const std::size_t middle = ends[i], end = i + 1 < ends.size() ? ends[i + 1] : middle;
            std::set_union(v.begin() + begin, v.begin() + middle, v.begin() + middle, v.begin() + end, std::back_inserter(united));
            begin = end;
            ends[n++] = united.size();
        }
        ends.resize(n);
        v.swap(united);
    }
}

template <class T>
void sort_unique(std::vector<T>& v) {
    // What is put together from sets is a few sorted pieces, and sorting them anew would cost most of what the classifier does.
    constexpr std::size_t kFew = 16, kShortest = 8;
    if (v.size() > kFew) {
        std::vector<std::size_t> ends;
        for (std::size_t i = 1; i <= v.size() && ends.size() * kShortest <= v.size(); ++i)
            if (i == v.size() || !(v[i - 1] < v[i])) ends.push_back(i);
        if (ends.size() * kShortest <= v.size()) return unite_pieces(v, ends);
    }
    std::sort(v.begin(), v.end());
    v.erase(std::unique(v.begin(), v.end()), v.end());
}

// Whether what may come from elsewhere is such a vector: every element larger than the one before.
template <class List>
bool is_ascending(const List& list) {
    return std::adjacent_find(list.begin(), list.end(), std::greater_equal<>()) == list.end();
}

}  // namespace psc
