// The masks of linked machines (linked/matcher.hpp).
//
// Free text can end after nearly every beginning of a token, so a row there has some hundred thousand boundaries, of which a few hundred
// have a token that goes on with what can follow. They are looked up in the trie in its order, which they are numbered in.
#include <algorithm>

#include "base/errors.hpp"
#include "base/long_work.hpp"
#include "linked/matcher.hpp"

namespace psc {

namespace {

constexpr Word kExhausted = -3;  // in the content of a context: a part that a position is in is exhausted

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
    std::vector<VocabularyNode> path_;  // to the last one that was searched for, or to where it would be
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
    for (Position& position : own().positions) {
        const auto of = linked_row(position);
        near_ |= of.near;
        complete |= of.complete;
        row = row ? base_->row_union(*cache_, *row, of.row) : of.row;
    }
    row_ = with_stops(*row, complete);
    return *row_;
}

// The row with what the stop tokens are here.
MaskRow LinkedMatcher::with_stops(MaskRow row, bool complete) {
    return stops_.put_into(row, *base_, *cache_, complete,
                           [&](TokenId token) { return !as_itself(token, copies(top_->positions)).empty(); });
}

LinkedMachine::LinkedRow LinkedMatcher::linked_row(Position& position) {
    return position.unique ? unique_row(position) : shared_row(position);
}

LinkedMachine::LinkedRow LinkedMatcher::shared_row(const Position& position) {
    const MaskRow inner = position.matcher->mask_row();
    const auto& of = position.matcher->shared_cache();
    const bool exhausted = position.budget.is_exhausted(now());
    if (const auto found = linked().find(*cache_, of, {position.part, inner, -1}); found && !found->near && !exhausted)
        return *found;
    // After an end the caller goes on; after a call, the position itself.
    Word context = position.caller && !linked().may_call(position.part) ? position.caller->context : context_of(position);
    if (exhausted && context >= 0) {
        std::vector<Word> content = exhausted_content(position);
        content.push_back(context);
        content.push_back(kExhausted);
        context = linked().context(content);
    }
    if (const auto found = linked().find(*cache_, of, {position.part, inner, context})) return *found;
    before_long_work();
    return own_row(position, inner, context);
}

// The row of a position: what its own engine allows, what goes over a boundary within a token, and what goes on after boundaries at which
// the text is now.
LinkedMachine::LinkedRow LinkedMatcher::own_row(const Position& position, MaskRow inner, Word context) {
    const auto of = position.matcher->shared_cache();
    const std::size_t n = position.matcher->machine()->n_words();
    auto words = std::make_unique_for_overwrite<std::uint32_t[]>(n);
    position.matcher->cache().rows.copy(inner, words.get());
    const auto near = linked().boundaries(position.part, words.get());
    LinkedMachine::LinkedRow result{};
    const auto ends_text = [&](const LinkedMachine::Boundary& b) { return !position.caller && !b.is_call && b.before.empty(); };
    result.complete = std::any_of(near.begin(), near.end(), ends_text);
    result.near = !std::all_of(near.begin(), near.end(), ends_text);
    const bool exhausted = position.budget.is_exhausted(now());
    if (!result.near && !exhausted) return linked().add(*cache_, of, {position.part, inner, -1}, words, result);
    // A boundary is near in every context then.
    auto own = std::make_unique_for_overwrite<std::uint32_t[]>(n);
    std::copy_n(words.get(), n, own.get());
    linked().add(*cache_, of, {position.part, inner, -1}, own, result);
    bool is_here = exhausted;  // a second end is not in rows
    if (must_leave(position))
        std::fill_n(words.get(), n, 0);
    else
        add_over(position, near, words.get());
    for (const auto& boundary : near) is_here |= boundary.before.empty() && !ends_text(boundary);
    if (is_here) {
        Positions behind;
        add_crossed(position, true, behind);
        close(behind, true);
        for (Position& next : behind) {
            if (must_leave(next)) continue;
            const MaskRow row = next.matcher->mask_row();
            const std::size_t wide = next.matcher->machine()->n_words();
            auto bits = std::make_unique_for_overwrite<std::uint32_t[]>(wide);
            next.matcher->cache().rows.copy(row, bits.get());
            const auto near_next = linked().boundaries(next.part, bits.get());
            for (const auto& boundary : near_next) result.complete |= boundary.before.empty() && !next.caller && !boundary.is_call;
            add_over(next, near_next, words.get());
            for (std::size_t i = 0; i < base_->n_words(); ++i) words[i] |= bits[i];
        }
    }
    return linked().add(*cache_, of, {position.part, inner, context}, words, result);
}

void LinkedMatcher::add_over(const Position& position, const std::vector<LinkedMachine::Boundary>& near, std::uint32_t* words) {
    NodesOfBeginnings nodes(linked().tokens());
    Positions behind_end;  // the same after each end of a part
    ByteSet read_there;
    for (const auto& boundary : near) {
        if (boundary.before.empty() || (!boundary.is_call && !position.caller)) continue;
        const auto node = nodes.find(boundary.before);
        if (!node) continue;
        if (!boundary.is_call) {
            if (behind_end.empty()) {
                behind_end.push_back(position.caller->position.copy());
                close(behind_end, false);
                read_there = first_bytes(behind_end);
            }
            add_tokens(*node, behind_end, read_there, words);
            continue;
        }
        Position at = position.copy();
        if (!read_on(at, boundary.before, false)) continue;
        Positions called;
        add_called(at, called);
        close(called, false);
        add_tokens(*node, called, ByteSet().set(), words);
    }
}

ByteSet LinkedMatcher::first_bytes(const Positions& positions) {
    ByteSet bytes;
    for (std::size_t b = 0; b < bytes.size(); ++b) {
        const auto byte = static_cast<std::uint8_t>(b);
        bytes[b] = std::any_of(positions.begin(), positions.end(),
                               [&](const Position& position) { return can_read(*position.matcher, {&byte, 1}); });
    }
    return bytes;
}

void LinkedMatcher::add_tokens(VocabularyNode node, const Positions& positions, const ByteSet& first, std::uint32_t* words) {
    const VocabularyIndex& index = linked().tokens();
    const VocabularyNode stop = index[node].end;
    const std::size_t above = index[node].depth;
    std::vector<Positions> path;  // to which each node's text leads, below the first one
    std::size_t n_read = 0;
    for (VocabularyNode n{node.v + 1}; n < stop;) {
        const auto& at = index[n];
        const std::size_t depth = at.depth - above;
        path.resize(depth - 1);
        Positions next;
        if (depth > 1 || first[at.byte]) {
            for (const Position& position : depth > 1 ? path.back() : positions) {
                if (++n_read > kMaxRead) throw LimitExceeded("bytes read after boundaries for one mask", kMaxRead);
                Position after = position.copy();
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
