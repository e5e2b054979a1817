// The masks of linked machines (linked/matcher.hpp).
//
// Free text can end behind nearly every beginning of a token, so a row there has some hundred thousand boundaries, of which a few hundred
// have a token that goes on with what can follow. They are looked up in the trie in its order, which they are numbered in.
#include <algorithm>

#include "base/errors.hpp"
#include "base/long_work.hpp"
#include "linked/matcher.hpp"

namespace psc {

namespace {

constexpr Word kSpent = -3;  // in the content of a context: some of what a place is in is spent

// Where beginnings of tokens are in the vocabulary. In the trie's order each goes on from the one before.
class NodesOfBeginnings {
public:
    explicit NodesOfBeginnings(const VocabularyIndex& index) : index_(index) {}

    // None where no token begins so, and for the empty one.
    std::optional<VocabularyNode> find(std::span<const std::uint8_t> beginning) {
        std::size_t depth = 0;
        while (depth < std::min(path_.size(), beginning.size()) && index_[path_[depth]].byte == beginning[depth]) ++depth;
        std::optional<VocabularyNode> passed;
        if (depth < path_.size() && depth < beginning.size() && index_[path_[depth]].byte < beginning[depth]) passed = path_[depth];
        path_.resize(depth);
        for (; depth < beginning.size(); ++depth) {
            const VocabularyNode end = depth ? index_[path_.back()].end : index_.end();
            VocabularyNode node{depth ? path_.back().v + 1 : 0};
            if (passed) node = index_[*passed].end;
            passed = {};
            while (node < end && index_[node].byte < beginning[depth]) node = index_[node].end;
            if (!(node < end) || index_[node].byte != beginning[depth]) return std::nullopt;
            path_.push_back(node);
        }
        return path_.empty() ? std::nullopt : std::optional(path_.back());
    }

private:
    const VocabularyIndex& index_;
    std::vector<VocabularyNode> path_;  // to the one that was found last, or to where it would be
};

}  // namespace

// --- masks

MaskRow LinkedMatcher::mask_row() {
    if (stopped()) throw MatcherError("the matcher has terminated: a stop token was accepted; rollback() or reset() it first");
    refresh();
    if (row_) return *row_;
    bool complete = false;
    near_ = false;
    Maybe<MaskRow> row;
    for (Place& place : own().places) {
        const auto of = known(place);
        near_ |= of.near;
        complete |= of.complete;
        row = row ? base_->row_union(*cache_, *row, of.row) : of.row;
    }
    row_ = with_stops(*row, complete);
    return *row_;
}

// The row with what the stop tokens are here.
MaskRow LinkedMatcher::with_stops(MaskRow row, bool complete) {
    return stops_.put_into(row, *base_, *cache_, complete, [&](TokenId token) { return !as_itself(token).empty(); });
}

LinkedMachine::Known LinkedMatcher::known(const Place& place) {
    const MaskRow inner = place.at->mask_row();
    const auto& of = place.at->shared_cache();
    const bool spent = is_spent(place);
    if (const auto found = linked().find(*cache_, of, {place.part, inner, -1}); found && !found->near && !spent) return *found;
    // Behind an end is what is below; behind a call, the place itself.
    Word context = place.below && !linked().may_call(place.part) ? place.below->context : context_of(place);
    if (spent && context >= 0) {
        std::vector<Word> content = spent_content(place);
        content.push_back(context);
        content.push_back(kSpent);
        context = linked().context(content);
    }
    if (const auto found = linked().find(*cache_, of, {place.part, inner, context})) return *found;
    before_long_work();
    return own_row(place, inner, context);
}

// The row of a place: what its own machine allows, what goes over a boundary within a token, and what goes on behind boundaries at which
// the text is now.
LinkedMachine::Known LinkedMatcher::own_row(const Place& place, MaskRow inner, Word context) {
    const auto of = place.at->shared_cache();
    const std::size_t n = place.at->machine()->n_words();
    auto words = std::make_unique_for_overwrite<std::uint32_t[]>(n);
    place.at->cache().rows.copy(inner, words.get());
    const auto near = linked().boundaries(place.part, words.get());
    LinkedMachine::Known result{};
    const auto ends_text = [&](const LinkedMachine::Boundary& b) { return !place.below && !b.is_call && b.before.empty(); };
    result.complete = std::any_of(near.begin(), near.end(), ends_text);
    result.near = !std::all_of(near.begin(), near.end(), ends_text);
    const bool spent = is_spent(place);
    if (!result.near && !spent) return linked().add(*cache_, of, {place.part, inner, -1}, words, result);
    // That a boundary is near is so in every context.
    auto own = std::make_unique_for_overwrite<std::uint32_t[]>(n);
    std::copy_n(words.get(), n, own.get());
    linked().add(*cache_, of, {place.part, inner, -1}, own, result);
    bool is_here = spent;  // a second end is not in rows
    if (must_leave(place))
        std::fill_n(words.get(), n, 0);
    else
        add_over(place, near, words.get());
    for (const auto& boundary : near) is_here |= boundary.before.empty() && !ends_text(boundary);
    if (is_here) {
        Places behind;
        add_crossed(place, true, behind);
        close(behind, true);
        for (Place& next : behind) {
            if (must_leave(next)) continue;
            const MaskRow row = next.at->mask_row();
            const std::size_t wide = next.at->machine()->n_words();
            auto bits = std::make_unique_for_overwrite<std::uint32_t[]>(wide);
            next.at->cache().rows.copy(row, bits.get());
            const auto near_next = linked().boundaries(next.part, bits.get());
            for (const auto& boundary : near_next) result.complete |= boundary.before.empty() && !next.below && !boundary.is_call;
            add_over(next, near_next, words.get());
            for (std::size_t i = 0; i < base_->n_words(); ++i) words[i] |= bits[i];
        }
    }
    return linked().add(*cache_, of, {place.part, inner, context}, words, result);
}

void LinkedMatcher::add_over(const Place& place, const std::vector<LinkedMachine::Boundary>& near, std::uint32_t* words) {
    NodesOfBeginnings nodes(linked().tokens());
    Places behind_end;  // the same behind each end of a part
    ByteSet read_there;
    for (const auto& boundary : near) {
        if (boundary.before.empty() || (!boundary.is_call && !place.below)) continue;
        const auto node = nodes.find(boundary.before);
        if (!node) continue;
        if (!boundary.is_call) {
            if (behind_end.empty()) {
                behind_end.push_back(place.below->place.copy());
                close(behind_end, false);
                read_there = first_bytes(behind_end);
            }
            add_tokens(*node, behind_end, read_there, words);
            continue;
        }
        Place at = place.copy();
        if (!read_on(at, boundary.before, false)) continue;
        Places called;
        add_called(at, called);
        close(called, false);
        add_tokens(*node, called, ByteSet().set(), words);
    }
}

ByteSet LinkedMatcher::first_bytes(const Places& places) {
    ByteSet bytes;
    for (std::size_t b = 0; b < bytes.size(); ++b) {
        const auto byte = static_cast<std::uint8_t>(b);
        bytes[b] = std::any_of(places.begin(), places.end(), [&](const Place& place) { return can_read(*place.at, {&byte, 1}); });
    }
    return bytes;
}

void LinkedMatcher::add_tokens(VocabularyNode node, const Places& places, const ByteSet& first, std::uint32_t* words) {
    const VocabularyIndex& index = linked().tokens();
    const VocabularyNode stop = index[node].end;
    const std::size_t above = index[node].depth;
    std::vector<Places> path;  // to which each node's text leads, below the first one
    std::size_t n_read = 0;
    for (VocabularyNode n{node.v + 1}; n < stop;) {
        const auto& at = index[n];
        const std::size_t depth = at.depth - above;
        path.resize(depth - 1);
        Places next;
        if (depth > 1 || first[at.byte]) {
            for (const Place& place : depth > 1 ? path.back() : places) {
                if (++n_read > kMaxRead) throw LimitExceeded("bytes read behind boundaries for one mask", kMaxRead);
                Place after = place.copy();
                if (read_on(after, {&at.byte, 1}, false)) next.push_back(std::move(after));
            }
        }
        if (next.empty()) {
            n = at.end;
            continue;
        }
        close(next, false);
        for (Word i = at.first_token; i < index.own_tokens_end(n); ++i) set_bit(words, index.token_at(i));
        path.push_back(std::move(next));
        ++n.v;
    }
}

}  // namespace psc
