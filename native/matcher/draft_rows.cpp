#include "matcher/draft_rows.hpp"

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
        matcher.find_cached_row();
        if (!matcher.accept(draft(tokens[n]))) return n;
    }
    if (!matcher.stopped()) matcher.find_cached_row();
    return n;
}

DraftRows fill_drafts(TextMatcher& matcher, std::span<const std::int64_t> drafts, MaskBuffer& out, std::size_t first) noexcept {
    DraftRows result;
    const std::size_t end = first + drafts.size() + 1;
    std::size_t at = first;
    try {
        std::shared_ptr<RowCache> cache;
        std::vector<MaskRow> rows;  // of this cache, from `at` on
        rows.reserve(drafts.size() + 1);
        const auto write = [&] {
            out.put(at, cache, rows);
            for (std::size_t i = 0; i < rows.size(); ++i, ++at)
                if (out.allows_nothing(at)) result.empty.push_back(at - first);
            rows.clear();
        };
        const TakenBack back(matcher);
        while (!matcher.stopped()) {
            const MaskRow row = matcher.mask_row();
            if (cache != matcher.shared_cache()) {  // the matcher has changed over to another one
                if (cache) write();
                cache = matcher.shared_cache();
            }
            const std::size_t n = at - first + rows.size();  // drafts that were taken
            rows.push_back(row);
            if (n == drafts.size() || drafts[n] == kPadding) break;
            if (!matcher.accept(draft(drafts[n]))) {
                result.refused = n;
                rows.insert(rows.end(), drafts.size() - n, row);
                break;
            }
        }
        if (cache) write();
    } catch (...) {
        result = {{}, {}, std::current_exception()};
        at = first;
    }
    for (; at < end; ++at) out.allow_all(at);
    return result;
}

}  // namespace psc
