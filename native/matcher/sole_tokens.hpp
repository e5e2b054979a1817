// Tokens of which a mask allows no other: whatever a model prefers, they come next.
//
// Example: in a vocabulary of bytes every byte of `true` after `t`; in one with the tokens `rue` and `ru`, none.
//
// Cost: a mask and a step for each, on a fork.
#pragma once

#include <span>
#include <vector>

#include "matcher/text_matcher.hpp"

namespace psc {

// Those that come after the given tokens, which the matcher takes; at most kMaxSoleTokens, and no stop token.
std::vector<TokenId> sole_tokens(const TextMatcher& matcher, std::span<const TokenId> after);

}  // namespace psc
