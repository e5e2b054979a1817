#include "determinism.hpp"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "sorted.hpp"

namespace psc {

namespace {

using Kind = ExpressionGraph::Kind;
using Positions = std::vector<Word>;  // sorted

constexpr Word kMaxStates = 1000;    // that one terminal may have
constexpr std::int64_t kSmall = 11;  // positions: 2 to this power is about the limit

void add(Positions& to, const Positions& more) {
    if (more.empty()) return;
    Positions both;
    both.reserve(to.size() + more.size());
    std::set_union(to.begin(), to.end(), more.begin(), more.end(), std::back_inserter(both));
    to = std::move(both);
}

// The position automaton: each character of the expression is a state, reached by reading it.
class PositionAutomaton {
public:
    struct Fragment {
        Positions first, last;
        bool nullable;
    };

    explicit PositionAutomaton(const ExpressionGraph& graph) : graph_(graph) {}

    std::vector<std::vector<Word>> ranges;  // per position: first, last, first, last, ...
    std::vector<Positions> follow;

    // Adds a copy of the node. Recursive: for nodes of bounded depth.
    Fragment add_copy(Expression node) {
        switch (graph_.kind(node)) {
            case Kind::chars: {
                const auto all = graph_.ranges(node);
                return row({{all.begin(), all.end()}});
            }
            case Kind::text: {
                std::vector<std::vector<Word>> characters;
                for (Word c : graph_.characters(node)) characters.push_back({c, c});
                return row(std::move(characters));
            }
            case Kind::choice: {
                Fragment all{{}, {}, graph_.nullable(node)};
                for (Expression part : graph_.parts(node)) {
                    const Fragment one = add_copy(part);
                    add(all.first, one.first);
                    add(all.last, one.last);
                }
                return all;
            }
            case Kind::sequence: {
                Chain chain;
                for (Expression part : graph_.parts(node)) append(chain, part, false);
                return finished(std::move(chain));
            }
            case Kind::automaton:
                return arcs(node);
            default:
                return repetition(node);
        }
    }

private:
    // One part after the other; before a part marked optional, it may have ended.
    struct Chain {
        Positions first, last, ends;
        Positions again;  // what the last part begins with
        bool nullable = true, ended_empty = false;
    };

    // Each arc is a position.
    Fragment arcs(Expression node) {
        const auto accepts = graph_.accepts(node), all = graph_.arcs(node);
        const Word start = static_cast<Word>(ranges.size());
        std::vector<Positions> leaving(accepts.size());
        for (std::size_t i = 0; i < all.size(); i += 4)
            leaving[static_cast<std::size_t>(all[i])].push_back(start + static_cast<Word>(i / 4));
        Fragment out{leaving[0], {}, accepts[0] != 0};
        for (std::size_t i = 0; i < all.size(); i += 4) {
            const auto to = static_cast<std::size_t>(all[i + 3]);
            ranges.push_back({all[i + 1], all[i + 2]});
            follow.push_back(leaving[to]);
            if (accepts[to]) out.last.push_back(start + static_cast<Word>(i / 4));
        }
        return out;
    }

    Fragment repetition(Expression node) {
        const Expression body = graph_.parts(node)[0];
        const Bounds b = graph_.bounds(node);
        Chain chain;
        if (!b.open()) {
            for (std::int64_t i = 0; i < b.most; ++i) append(chain, body, i >= b.least);
            return finished(std::move(chain));
        }
        // x{m,} is m copies of which the last one comes again.
        for (std::int64_t i = 0; i < std::max<std::int64_t>(b.least, 1); ++i) append(chain, body, false);
        const Positions again = chain.again;
        Fragment all = finished(std::move(chain));
        for (Word position : all.last) add(follow[position], again);
        all.nullable |= b.least == 0;
        return all;
    }

    Fragment row(std::vector<std::vector<Word>> characters) {
        if (characters.empty()) return {{}, {}, true};
        const Word start = static_cast<Word>(ranges.size()), end = start + static_cast<Word>(characters.size()) - 1;
        for (Word position = start; position <= end; ++position) {
            ranges.push_back(std::move(characters[position - start]));
            follow.push_back(position < end ? Positions{position + 1} : Positions{});
        }
        return {{start}, {end}, false};
    }

    void append(Chain& chain, Expression part, bool optional) {
        Fragment one = add_copy(part);
        if (optional) {
            add(chain.ends, chain.last);
            chain.ended_empty |= chain.nullable;
        }
        for (Word position : chain.last) add(follow[position], one.first);
        if (chain.nullable) add(chain.first, one.first);
        if (one.nullable) {
            add(chain.last, one.last);
        } else {
            chain.last = std::move(one.last);
        }
        chain.nullable &= one.nullable;
        chain.again = std::move(one.first);
    }

    static Fragment finished(Chain chain) {
        add(chain.last, chain.ends);
        return {std::move(chain.first), std::move(chain.last), chain.nullable || chain.ended_empty};
    }

    const ExpressionGraph& graph_;
};

bool overlap(const PositionAutomaton& automaton, const Positions& positions) {
    if (positions.size() < 2) return false;
    std::vector<std::pair<Word, Word>> pieces;
    for (Word p : positions)
        for (std::size_t i = 0; i < automaton.ranges[p].size(); i += 2)
            pieces.emplace_back(automaton.ranges[p][i], automaton.ranges[p][i + 1]);
    std::sort(pieces.begin(), pieces.end());
    for (std::size_t i = 0; i + 1 < pieces.size(); ++i)
        if (pieces[i].second >= pieces[i + 1].first) return true;
    return false;
}

// The subset construction, over sets of positions as bits.
class PositionSubsets {
public:
    explicit PositionSubsets(const PositionAutomaton& automaton) : words_((automaton.follow.size() + 31) / 32) {
        std::vector<Word> cuts;
        for (const auto& ranges : automaton.ranges)
            for (std::size_t i = 0; i < ranges.size(); i += 2) cuts.insert(cuts.end(), {ranges[i], ranges[i + 1] + 1});
        sort_unique(cuts);
        SequenceInterner distinct;
        for (Word c : cuts) {
            Bits reading(words_);
            for (std::size_t p = 0; p < automaton.ranges.size(); ++p)
                for (std::size_t i = 0; i < automaton.ranges[p].size(); i += 2)
                    if (automaton.ranges[p][i] <= c && c <= automaton.ranges[p][i + 1]) set(reading, static_cast<Word>(p));
            if (distinct.intern(reading).second) readings_.push_back(std::move(reading));
        }
        for (const Positions& after : automaton.follow) follow_.push_back(bits(after));
    }

    // Whether there are at most so many.
    bool within(const Positions& first, Word limit) const {
        SequenceInterner states, steps;
        states.intern(bits(first));
        Bits open, on(words_), after(words_);
        for (Word s = 0; s < states.size(); ++s) {
            open.assign(states[s].begin(), states[s].end());
            for (const Bits& reading : readings_) {
                Word some = 0;
                for (std::size_t i = 0; i < words_; ++i) some |= on[i] = open[i] & reading[i];
                if (some == 0 || !steps.intern(on).second) continue;
                std::fill(after.begin(), after.end(), 0);
                for (std::size_t w = 0; w < words_; ++w)
                    for (auto left = static_cast<std::uint32_t>(on[w]); left; left &= left - 1) {
                        const Bits& follow = follow_[w * 32 + static_cast<std::size_t>(std::countr_zero(left))];
                        for (std::size_t i = 0; i < words_; ++i) after[i] |= follow[i];
                    }
                states.intern(after);
                if (states.size() > limit) return false;
            }
        }
        return true;
    }

private:
    using Bits = std::vector<Word>;

    static void set(Bits& bits, Word p) { bits[p / 32] |= static_cast<Word>(1u << (p % 32)); }
    Bits bits(const Positions& positions) const {
        Bits all(words_);
        for (Word p : positions) set(all, p);
        return all;
    }

    std::size_t words_;
    std::vector<Bits> readings_;  // the distinct sets of positions that one character can lead to
    std::vector<Bits> follow_;
};

}  // namespace

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

bool stays_small(const ExpressionGraph& graph, Expression node) {
    if (graph.positions(node) <= kSmall || is_plain(graph, node) || graph.kind(node) == Kind::automaton) return true;
    PositionAutomaton automaton(graph);
    const Positions first = automaton.add_copy(node).first;
    const auto ambiguous = [&](const Positions& positions) { return overlap(automaton, positions); };
    if (!ambiguous(first) && std::none_of(automaton.follow.begin(), automaton.follow.end(), ambiguous)) return true;
    return PositionSubsets(automaton).within(first, kMaxStates);
}

}  // namespace psc
