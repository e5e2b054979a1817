// Sets as sorted vectors without repetitions. O(n log n).
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "intern.hpp"

namespace psc {

template <class T>
void sort_unique(std::vector<T>& v) {
    std::sort(v.begin(), v.end());
    v.erase(std::unique(v.begin(), v.end()), v.end());
}

// Whether what may come from elsewhere is such a vector: every element larger than the one before.
template <class List>
bool is_ascending(const List& list) {
    return std::adjacent_find(list.begin(), list.end(), std::greater_equal<>()) == list.end();
}

}  // namespace psc
