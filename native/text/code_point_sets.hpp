// Sets of code points as flat lists of inclusive ranges (first, last, first, last, ...), ascending and not touching.
//
// Cost: O(r log r) for r ranges. Threads: pure functions.
#pragma once

#include <algorithm>
#include <vector>

#include "base/intern.hpp"

namespace psc {

using CodePointSet = std::vector<Word>;

// The same set from ranges in any order.
inline CodePointSet united_ranges(const CodePointSet& ranges) {
    std::vector<std::pair<Word, Word>> sorted;
    for (std::size_t i = 0; i < ranges.size(); i += 2) sorted.emplace_back(ranges[i], ranges[i + 1]);
    std::sort(sorted.begin(), sorted.end());
    CodePointSet set;
    for (const auto& [first, last] : sorted)
        if (!set.empty() && first <= set.back() + 1)
            set.back() = std::max(set.back(), last);
        else
            set.insert(set.end(), {first, last});
    return set;
}

// All other code points, surrogates among them.
inline CodePointSet other_code_points(const CodePointSet& set) {
    CodePointSet others;
    Word from = 0;
    for (std::size_t i = 0; i < set.size(); i += 2) {
        if (set[i] > from) others.insert(others.end(), {from, set[i] - 1});
        from = set[i + 1] + 1;
    }
    if (from <= 0x10FFFF) others.insert(others.end(), {from, 0x10FFFF});
    return others;
}

inline CodePointSet without_surrogates(const CodePointSet& set) {
    CodePointSet result;
    for (std::size_t i = 0; i < set.size(); i += 2) {
        const Word first = set[i], last = set[i + 1];
        if (first < 0xD800) result.insert(result.end(), {first, std::min(last, Word{0xD7FF})});
        if (last > 0xDFFF) result.insert(result.end(), {std::max(first, Word{0xE000}), last});
    }
    return result;
}

}  // namespace psc
