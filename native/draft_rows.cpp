#include "draft_rows.hpp"

namespace psc {

namespace {

// What a token is to a matcher: one that no vocabulary has where the number is out of range.
TokenId draft(std::int64_t token) { return {token < 0 || token > 0x7fffffff ? -1 : static_cast<Word>(token)}; }

// Takes a matcher's tokens back when it ends.
class TakenBack {
public:
    explicit TakenBack(TextMatcher& matcher) : matcher_(matcher), before_(matcher.n_steps()) {}
    ~TakenBack() { matcher_.rollback(matcher_.n_steps() - before_); }
    TakenBack(const TakenBack&) = delete;
    TakenBack& operator=(const TakenBack&) = delete;

private:
    TextMatcher& matcher_;
    std::size_t before_;
};

}  // namespace

std::size_t count_allowed(TextMatcher& matcher, std::span<const std::int64_t> tokens) {
    const TakenBack back(matcher);
    std::size_t n = 0;
    for (; n < tokens.size() && !matcher.stopped(); ++n) {
        matcher.find_known_row();
        if (!matcher.accept(draft(tokens[n]))) return n;
    }
    if (!matcher.stopped()) matcher.find_known_row();
    return n;
}

DraftRows fill_drafts(TextMatcher& matcher, std::span<const std::int64_t> drafts, MaskBuffer& out, std::size_t first) noexcept {
    DraftRows result;
    const std::size_t end = first + drafts.size() + 1;
    std::size_t at = first;
    try {
        const TakenBack back(matcher);
        while (!matcher.stopped()) {
            const MaskRow row = matcher.mask_row();
            const auto& cache = matcher.shared_cache();
            const auto put = [&] {
                if (cache->rows.none(row)) result.empty.push_back(at - first);
                out.put(at++, cache, row);
            };
            put();
            if (at == end || drafts[at - first - 1] == kPadding) break;
            if (!matcher.accept(draft(drafts[at - first - 1]))) {
                result.refused = at - first - 1;
                while (at < end) put();
            }
            if (at == end) break;
        }
    } catch (...) {
        result = {{}, {}, std::current_exception()};
        at = first;
    }
    for (; at < end; ++at) out.allow_all(at);
    return result;
}

}  // namespace psc
