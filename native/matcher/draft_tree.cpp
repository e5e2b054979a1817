#include "matcher/draft_tree.hpp"

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/errors.hpp"

namespace psc {

void DraftTree::check() const {
    const auto n = static_cast<std::int64_t>(token.size());
    if (n == 0) throw MatcherError("the draft tree has no node; node 0 is where the matcher stands");
    if (static_cast<std::int64_t>(child.size()) != n || static_cast<std::int64_t>(sibling.size()) != n)
        throw MatcherError("retrieve_next_token, retrieve_next_sibling and draft_tokens must have one length");
    if (sibling[0] != -1) throw MatcherError("the root of the draft tree, node 0, has a sibling");
    std::vector<char> reached(n);
    for (const auto& [name, links] : {std::pair{"retrieve_next_token", child}, std::pair{"retrieve_next_sibling", sibling}})
        for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t to = links[i];
            if (to < -1 || to >= n)
                throw MatcherError(std::string(name) + "[" + std::to_string(i) + "] is " + std::to_string(to) +
                                   "; it must be -1 or a node below " + std::to_string(n));
            if (to == 0 || (to > 0 && std::exchange(reached[to], 1)))
                throw MatcherError("the draft tree is no tree: " + std::string(name) + "[" + std::to_string(i) +
                                   "] leads to node " + std::to_string(to) + ", which is the root or has another link already");
        }
}

bool fill_along(TextMatcher& matcher, const DraftTree& tree, const std::function<std::uint32_t*(std::size_t)>& row, double seconds,
                std::vector<bool>& reached) {
    reached.assign(tree.token.size(), false);
    using Clock = std::chrono::steady_clock;
    const auto until =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds > 0 ? seconds : 0));
    const std::size_t words = matcher.machine()->n_words(), before = matcher.n_steps();
    // The matcher is as before, also when a step throws.
    struct Back {
        TextMatcher& matcher;
        std::size_t before;
        ~Back() { matcher.rollback(matcher.n_steps() - before); }
    };
    const auto fill = [&](std::size_t i) {
        const MaskRow r = matcher.mask_row();
        matcher.cache().rows.copy(r, row(i));
        reached[i] = true;
    };
    const auto clear = [&](std::size_t i) { std::memset(row(i), 0, words * 4); };
    if (matcher.stopped()) {
        clear(0);
        return true;
    }
    const Back back{matcher, before};
    fill(0);
    std::vector<std::int64_t> path;  // nodes taken, below the root
    bool finished = true;
    for (std::int64_t at = tree.child[0];;) {
        if (at < 0) {
            if (path.empty()) break;
            at = tree.sibling[path.back()];
            path.pop_back();
            matcher.rollback(1);
            continue;
        }
        if (seconds > 0 && Clock::now() > until) {
            finished = false;
            break;
        }
        const std::int64_t token = tree.token[at];
        const bool taken = token >= 0 && token < matcher.machine()->vocabulary().size && matcher.accept({static_cast<Word>(token)});
        if (!taken || matcher.stopped()) {
            clear(at);
            if (taken) matcher.rollback(1);
            at = tree.sibling[at];
            continue;
        }
        fill(at);
        path.push_back(at);
        at = tree.child[at];
    }
    return finished;
}

}  // namespace psc
