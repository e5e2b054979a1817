// Masks along a tree of draft tokens, for speculative decoding: one row for each node, made in one walk.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "matcher/text_matcher.hpp"

namespace psc {

struct DraftTree {
    // Per node: its first child and its next sibling, -1 for none; the draft token, which for node 0 (where the matcher
    // stands) is not looked at.
    std::span<const std::int64_t> child, sibling, token;

    // Throws MatcherError when the links are not a tree.
    void check() const;
};

// Fills row i with the mask after the tokens from the root's child down to node i; with zeros where node i is not allowed or
// ends the text, whose descendants are left alone. False when `seconds` (if positive) ran out first. The matcher is as before.
// `reached`, one for each node, tells those that have a mask.
bool fill_along(TextMatcher& matcher, const DraftTree& tree, const std::function<std::uint32_t*(std::size_t)>& row, double seconds,
                std::vector<bool>& reached);

}  // namespace psc
