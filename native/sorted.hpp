// Sets as sorted vectors without repetitions. O(n log n).
#pragma once

#include <algorithm>
#include <vector>

#include "intern.hpp"

namespace psc {

inline void sort_unique(std::vector<Word>& v) {
    std::sort(v.begin(), v.end());
    v.erase(std::unique(v.begin(), v.end()), v.end());
}

}  // namespace psc
