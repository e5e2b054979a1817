#include "matcher/sole_tokens.hpp"

#include <algorithm>
#include <bit>
#include <memory>

#include "base/errors.hpp"

namespace psc {

namespace {

constexpr std::size_t kMaxSoleTokens = 256;  // a language without end may have such a text

// The one id of a row; negative where there are more, or none.
TokenId only_token(const MaskRows& rows, MaskRow row) {
    const auto [form, words] = rows.stored(row);
    if (form == MaskRows::Form::allowed) return words.size() == 1 ? TokenId{static_cast<Word>(words[0])} : TokenId{-1};
    if (form == MaskRows::Form::refused && words.size() + 1 != static_cast<std::size_t>(rows.vocab_size())) return {-1};
    const auto all = rows.tokens(row);
    return all.size() == 1 ? all[0] : TokenId{-1};
}

}  // namespace

std::vector<TokenId> sole_tokens(const TextMatcher& matcher, std::span<const TokenId> after) {
    std::vector<TokenId> out;
    const auto here = matcher.fork();
    for (TokenId token : after)
        if (!here->accept(token)) return out;
    try {
        while (out.size() < kMaxSoleTokens && !here->is_terminated()) {
            const MaskRow row = here->mask_row();
            const TokenId token = only_token(here->cache().rows, row);
            const auto& stops = here->stop_tokens();
            if (token.v < 0 || std::find(stops.begin(), stops.end(), token) != stops.end() || !here->accept(token)) break;
            out.push_back(token);
        }
    } catch (const LimitExceeded&) {
        // What was found is so all the same.
    }
    return out;
}

}  // namespace psc
