// The masks of a request of a server's batch: where its text is, and after each of its drafts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <vector>

#include "matcher/mask_buffer.hpp"
#include "matcher/text_matcher.hpp"

namespace psc {

constexpr std::int64_t kPadding = -1;  // in the place of a draft: there is none, and none after it

// How many of the tokens are allowed, one after the other, up to one that ends the text. The matcher is as before, also when a step
// throws; masks that are known already are found on the way, since they are asked for next.
std::size_t count_allowed(TextMatcher& matcher, std::span<const std::int64_t> tokens);

struct DraftRows {
    std::optional<std::size_t> refused;  // the draft that is not allowed
    std::vector<std::size_t> empty;      // rows, from the first one on, in which nothing is allowed
    std::exception_ptr error;            // why there are no masks: all rows allow everything
};
// Writes 1 + drafts.size() rows of `out`, from `first` on: row k is the mask after k drafts. After a draft that is refused the row
// before it is repeated; after the end of the text, and after padding, rows allow everything. The matcher is as before. Throws nothing.
DraftRows fill_drafts(TextMatcher& matcher, std::span<const std::int64_t> drafts, MaskBuffer& out, std::size_t first) noexcept;

}  // namespace psc
