#include "rules/determinism.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>
#include <vector>

#include "base/cancellation.hpp"
#include "base/grouped.hpp"
#include "base/sorted.hpp"

namespace psc {

namespace {

using Kind = ExpressionGraph::Kind;
constexpr Word kMaxStates = 1000;    // that one terminal may have
constexpr std::int64_t kSmall = 11;  // positions: 2 to this power is about the limit

}  // namespace

// A named namespace, since the header declares the storage.
namespace determinism {

// The position automaton: each character of the expression is a state, reached by reading it.
class PositionAutomaton {
public:
    // Ascending positions, a range of sets_.
    struct Positions {
        Word begin = 0, end = 0;
        bool operator==(const Positions&) const = default;
        bool empty() const { return begin == end; }
        Word size() const { return end - begin; }
    };
    struct Fragment {
        Positions first, last;
        bool nullable;
    };

    explicit PositionAutomaton(const ExpressionGraph& graph) : graph_(graph) {}

    // Removes all nodes; the storage stays.
    void clear() {
        sets_.clear();
        ranges_.clear();
        range_ends_.clear();
        follow_.clear();
        links_.clear();
    }
    Word size() const { return static_cast<Word>(follow_.size()); }
    std::span<const Word> of(Positions positions) const {
        return std::span(sets_).subspan(static_cast<std::size_t>(positions.begin), static_cast<std::size_t>(positions.size()));
    }
    // Inclusive ranges of the characters that enter a position.
    std::span<const std::pair<Word, Word>> ranges(Word position) const {
        const std::size_t begin = position > 0 ? range_ends_[position - 1] : 0;
        return std::span(ranges_).subspan(begin, range_ends_[position] - begin);
    }
    // Calls f(positions) for sets whose union follows a position.
    template <class F>
    void each_follow(Word position, const F& f) const {
        for (Word link = follow_[position]; link >= 0; link = links_[link].next) f(links_[link].positions);
    }

    // Adds a copy of the node. Recursive: for nodes of bounded depth.
    Fragment add_copy(Expression node) {
        switch (graph_.kind(node)) {
            case Kind::chars: {
                const auto all = graph_.ranges(node);
                for (std::size_t i = 0; i < all.size(); i += 2) ranges_.emplace_back(all[i], all[i + 1]);
                range_ends_.push_back(ranges_.size());
                return row(1);
            }
            case Kind::text: {
                const auto characters = graph_.characters(node);
                for (Word c : characters) {
                    ranges_.emplace_back(c, c);
                    range_ends_.push_back(ranges_.size());
                }
                return row(static_cast<Word>(characters.size()));
            }
            case Kind::choice: {
                Fragment all{{}, {}, graph_.nullable(node)};
                for (Expression part : graph_.parts(node)) {
                    const Fragment one = add_copy(part);
                    all.first = united(all.first, one.first);
                    all.last = united(all.last, one.last);
                }
                return all;
            }
            case Kind::sequence: {
                Chain chain;
                for (Expression part : graph_.parts(node)) append(chain, part, false);
                return finished(chain);
            }
            case Kind::automaton:
            case Kind::counted:
                return arcs(node);
            default:
                return repetition(node);
        }
    }

private:
    // One part after the other; before a part marked optional, it may have ended.
    struct Chain {
        Positions first, last, ends;
        Positions again;  // the first positions of the last part
        bool nullable = true, ended_empty = false;
    };

    Positions united(Positions a, Positions b) {
        if (a.empty() || a == b) return b;
        if (b.empty()) return a;
        const auto begin = static_cast<Word>(sets_.size());
        sets_.resize(sets_.size() + static_cast<std::size_t>(a.size() + b.size()));
        const auto at = [&](Word i) { return sets_.begin() + i; };
        const auto end = std::set_union(at(a.begin), at(a.end), at(b.begin), at(b.end), at(begin));
        sets_.erase(end, sets_.end());
        return {begin, static_cast<Word>(sets_.size())};
    }

    void add_follow(Word position, Positions positions) {
        if (positions.empty()) return;
        links_.push_back({positions, follow_[position]});
        follow_[position] = static_cast<Word>(links_.size()) - 1;
    }

    // `count` new positions, which nothing follows yet.
    Positions fresh(Word count) {
        const Positions made{static_cast<Word>(sets_.size()), static_cast<Word>(sets_.size()) + count};
        for (Word i = 0; i < count; ++i) {
            sets_.push_back(size());
            follow_.push_back(-1);
        }
        return made;
    }

    // Each arc is a position.
    Fragment arcs(Expression node) {
        const auto accepts = graph_.accepts(node), all = graph_.arcs(node);
        for (std::size_t i = 0; i < all.size(); i += 4) {
            ranges_.emplace_back(all[i + 1], all[i + 2]);
            range_ends_.push_back(ranges_.size());
        }
        const Word start = size();
        const Positions made = fresh(static_cast<Word>(all.size() / 4));
        std::vector<Positions> leaving(accepts.size());
        for (Word i = made.begin; i < made.end; ++i) {
            Positions& of = leaving[static_cast<std::size_t>(all[static_cast<std::size_t>(i - made.begin) * 4])];
            if (of.empty()) of.begin = i;
            of.end = i + 1;
        }
        Fragment out{leaving[0], {}, accepts[0] != 0};
        const auto begin = static_cast<Word>(sets_.size());
        for (std::size_t i = 0; i < all.size(); i += 4) {
            const auto to = static_cast<std::size_t>(all[i + 3]);
            const Word position = start + static_cast<Word>(i / 4);
            add_follow(position, leaving[to]);
            if (accepts[to] & 1) sets_.push_back(position);
        }
        out.last = {begin, static_cast<Word>(sets_.size())};
        return out;
    }

    Fragment repetition(Expression node) {
        const Expression body = graph_.parts(node)[0];
        const Bounds b = graph_.bounds(node);
        Chain chain;
        if (!b.open()) {
            for (std::int64_t i = 0; i < b.most; ++i) append(chain, body, i >= b.least);
            return finished(chain);
        }
        // x{m,} is m copies, of which the last one repeats.
        for (std::int64_t i = 0; i < std::max<std::int64_t>(b.least, 1); ++i) append(chain, body, false);
        Fragment all = finished(chain);
        for (Word position : of(all.last)) add_follow(position, chain.again);
        all.nullable |= b.least == 0;
        return all;
    }

    // A sequence of positions whose ranges were added already.
    Fragment row(Word count) {
        if (count == 0) return {{}, {}, true};
        const Positions made = fresh(count);
        for (Word i = made.begin; i + 1 < made.end; ++i) add_follow(sets_[i], {i + 1, i + 2});
        return {{made.begin, made.begin + 1}, {made.end - 1, made.end}, false};
    }

    void append(Chain& chain, Expression part, bool optional) {
        const Fragment one = add_copy(part);
        if (optional) {
            chain.ends = united(chain.ends, chain.last);
            chain.ended_empty |= chain.nullable;
        }
        for (Word position : of(chain.last)) add_follow(position, one.first);
        if (chain.nullable) chain.first = united(chain.first, one.first);
        chain.last = one.nullable ? united(chain.last, one.last) : one.last;
        chain.nullable &= one.nullable;
        chain.again = one.first;
    }

    Fragment finished(const Chain& chain) {
        return {chain.first, united(chain.last, chain.ends), chain.nullable || chain.ended_empty};
    }

    struct Link {
        Positions positions;
        Word next;  // or -1
    };
    const ExpressionGraph& graph_;
    std::vector<Word> sets_;
    std::vector<std::pair<Word, Word>> ranges_;
    std::vector<std::size_t> range_ends_;  // per position
    std::vector<Word> follow_;             // per position the first of its links, or -1
    std::vector<Link> links_;
};

// Whether two of some positions have a character in common.
class Overlaps {
public:
    explicit Overlaps(const PositionAutomaton& automaton) : automaton_(automaton) {}

    // For another automaton in the same storage.
    void clear() { before_.clear(); }

    bool operator()(std::span<const Word> positions) {
        if (positions.size() < 2) return false;
        pieces_.clear();
        for (Word p : positions) {
            const auto ranges = automaton_.ranges(p);
            pieces_.insert(pieces_.end(), ranges.begin(), ranges.end());
        }
        std::sort(pieces_.begin(), pieces_.end());
        for (std::size_t i = 0; i + 1 < pieces_.size(); ++i)
            if (pieces_[i].second >= pieces_[i + 1].first) return true;
        return false;
    }

    // Whether two of those that follow a position have.
    bool after(Word position) {
        positions_.clear();
        automaton_.each_follow(position, [&](PositionAutomaton::Positions some) {
            const auto all = automaton_.of(some);
            positions_.insert(positions_.end(), all.begin(), all.end());
        });
        if (positions_.size() < 2) return false;
        sort_unique(positions_);
        if (positions_ == before_) return false;  // neighbours often have the same successors, which were checked
        before_ = positions_;
        return (*this)(positions_);
    }

private:
    const PositionAutomaton& automaton_;
    std::vector<std::pair<Word, Word>> pieces_;
    std::vector<Word> positions_, before_;
};

// The subset construction, over sets of positions as bits.
class PositionSubsets {
public:
    explicit PositionSubsets(const PositionAutomaton& automaton)
        : words_((static_cast<std::size_t>(automaton.size()) + 31) / 32),
          follow_(words_ * static_cast<std::size_t>(automaton.size())) {
        std::vector<Word> cuts;
        for (Word p = 0; p < automaton.size(); ++p)
            for (const auto& [first, last] : automaton.ranges(p)) cuts.insert(cuts.end(), {first, last + 1});
        sort_unique(cuts);
        std::vector<Word> at_cuts(words_ * cuts.size());
        const auto at_cut = [&](std::size_t c) { return std::span(at_cuts).subspan(c * words_, words_); };
        for (Word p = 0; p < automaton.size(); ++p)
            for (const auto& [first, last] : automaton.ranges(p)) {
                auto cut = std::lower_bound(cuts.begin(), cuts.end(), first);
                for (; *cut <= last; ++cut) set(at_cut(static_cast<std::size_t>(cut - cuts.begin())), p);
            }
        for (std::size_t c = 0; c < cuts.size(); ++c) readings_.intern(at_cut(c));
        readings_of_ = Grouped(static_cast<std::size_t>(automaton.size()), [&](const auto& add) {
            for (Word r = 0; r < readings_.size(); ++r)
                each_bit(readings_[r], [&](Word p) { add(static_cast<std::size_t>(p), r); });
        });
        for (Word p = 0; p < automaton.size(); ++p)
            automaton.each_follow(p, [&](PositionAutomaton::Positions after) {
                for (Word q : automaton.of(after)) set(follow_of(p), q);
            });
    }

    // Whether there are at most `limit` subsets.
    bool within(std::span<const Word> first, Word limit) {
        SequenceInterner states, steps;
        std::vector<Word> open(words_), on(words_), after(words_), last_state(static_cast<std::size_t>(readings_.size()), -1);
        for (Word p : first) set(open, p);
        states.intern(open);
        for (Word s = 0; s < states.size(); ++s) {
            stop_if_cancelled();
            open.assign(states[s].begin(), states[s].end());
            bool few = true;
            const auto read = [&](Word r) {
                if (std::exchange(last_state[static_cast<std::size_t>(r)], s) == s || !few) return;
                const auto reading = readings_[r];
                for (std::size_t i = 0; i < words_; ++i) on[i] = open[i] & reading[i];
                if (!steps.intern(on).second) return;
                std::fill(after.begin(), after.end(), 0);
                each_bit(on, [&](Word p) {
                    const auto follow = follow_of(p);
                    for (std::size_t i = 0; i < words_; ++i) after[i] |= follow[i];
                });
                states.intern(after);
                few = states.size() <= limit;
            };
            each_bit(open, [&](Word p) {
                for (Word r : readings_of_[static_cast<std::size_t>(p)]) read(r);
            });
            if (!few) return false;
        }
        return true;
    }

private:
    static void set(std::span<Word> bits, Word p) { bits[static_cast<std::size_t>(p / 32)] |= static_cast<Word>(1u << (p % 32)); }
    template <class F>
    static void each_bit(std::span<const Word> bits, const F& f) {
        for (std::size_t w = 0; w < bits.size(); ++w)
            for (auto left = static_cast<std::uint32_t>(bits[w]); left; left &= left - 1)
                f(static_cast<Word>(w * 32) + std::countr_zero(left));
    }
    std::span<Word> follow_of(Word p) { return std::span(follow_).subspan(words_ * static_cast<std::size_t>(p), words_); }

    std::size_t words_;
    SequenceInterner readings_;  // the distinct sets of positions that one character can lead to
    std::vector<Word> follow_;   // per position
    Grouped<> readings_of_;      // per position, those that have it
};

}  // namespace determinism

bool is_plain(const ExpressionGraph& graph, Expression node) {
    const auto is_text = [&](Expression p) { return graph.kind(p) == Kind::text; };
    const auto is_simple = [&](Expression p) { return is_text(p) || graph.kind(p) == Kind::chars; };
    const auto parts = graph.parts(node);
    switch (graph.kind(node)) {
        case Kind::sequence:
            return std::all_of(parts.begin(), parts.end(), is_simple);
        case Kind::choice:
            return std::all_of(parts.begin(), parts.end(), is_text);
        default:
            return is_simple(node);
    }
}

struct DeterminismCheck::Storage {
    explicit Storage(const ExpressionGraph& graph) : automaton(graph) {}

    determinism::PositionAutomaton automaton;
    determinism::Overlaps overlaps{automaton};
};

DeterminismCheck::DeterminismCheck(const ExpressionGraph& graph) : graph_(graph), storage_(std::make_unique<Storage>(graph)) {}
DeterminismCheck::~DeterminismCheck() = default;

bool DeterminismCheck::stays_small(Expression node) {
    if (graph_.positions(node) <= kSmall || is_plain(graph_, node) || graph_.kind(node) == Kind::automaton) return true;
    auto& [automaton, overlaps] = *storage_;
    automaton.clear();
    overlaps.clear();
    const auto first = automaton.add_copy(node).first;
    bool ambiguous = overlaps(automaton.of(first));
    for (Word p = 0; p < automaton.size() && !ambiguous; ++p) ambiguous = overlaps.after(p);
    return !ambiguous || determinism::PositionSubsets(automaton).within(automaton.of(first), kMaxStates);
}

}  // namespace psc
