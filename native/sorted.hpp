// Sets as sorted vectors without repetitions. O(n log n).
#pragma once

#include <algorithm>
#include <vector>

#include "intern.hpp"

namespace psc {

template <class T>
void sort_unique(std::vector<T>& v) {
    std::sort(v.begin(), v.end());
    v.erase(std::unique(v.begin(), v.end()), v.end());
}

}  // namespace psc
