#include "terminal_nfa.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace psc {

namespace {

using PositionKind = TerminalPositions::Kind;

constexpr std::array<Word, 1> kNoSets{0};

// Calls f(position) for where a position leads.
template <class F>
void each_target(const TerminalPositions::Node& node, F f) {
    if (node.kind == PositionKind::split && node.a >= 0) f(node.a);
    if ((node.kind == PositionKind::split || node.kind == PositionKind::character) && node.b >= 0) f(node.b);
}

}  // namespace

TerminalNfa::TerminalNfa(std::span<const Word> programs, std::span<const Word> offsets, std::span<const Word> ranges,
                         std::span<const Word> range_offsets, std::size_t max_positions)
    : positions_(programs, offsets, static_cast<Word>(range_offsets.size()) - 1, max_positions),
      classes_(positions_.failed() < 0 ? ranges : std::span<const Word>(),
               positions_.failed() < 0 ? range_offsets : std::span<const Word>(kNoSets)) {
    if (positions_.failed() >= 0) return;
    find_live();
    sound_ = !positions_.has_exceptions() && find_sound();
}

// Programs fall through from piece to piece, so that going back through the positions mostly finds all at once.
void TerminalNfa::find_live() {
    const auto& all = positions_.nodes();
    std::vector<char> live(all.size(), 0);
    const auto leads_on = [&](Word n) { return n >= 0 && live[n]; };
    const auto goes_on = [&](const TerminalPositions::Node& node) {
        switch (node.kind) {
            case PositionKind::character:
                return leads_on(node.b) && !classes_.members(node.a).empty();
            case PositionKind::split:
                return leads_on(node.a) || leads_on(node.b);
            default:
                return true;
        }
    };
    std::size_t n_live = 0;
    for (int round = 0; round < 2 && n_live < all.size(); ++round)
        for (std::size_t n = all.size(); n-- > 0;)
            if (!live[n] && goes_on(all[n])) live[n] = 1, ++n_live;
    if (n_live == all.size()) return;
    std::vector<Word> count(all.size() + 1, 0), todo;
    for (const auto& node : all) each_target(node, [&](Word to) { ++count[to + 1]; });
    for (std::size_t n = 0; n < all.size(); ++n) count[n + 1] += count[n];
    std::vector<Word> sources(count.back()), at(count.begin(), count.end() - 1);
    for (std::size_t n = 0; n < all.size(); ++n) each_target(all[n], [&](Word to) { sources[at[to]++] = static_cast<Word>(n); });
    for (std::size_t n = 0; n < all.size(); ++n)
        if (live[n]) todo.push_back(static_cast<Word>(n));
    while (!todo.empty()) {
        const Word n = todo.back();
        todo.pop_back();
        for (Word i = count[n]; i < count[n + 1]; ++i)
            if (!live[sources[i]] && goes_on(all[sources[i]])) live[sources[i]] = 1, ++n_live, todo.push_back(sources[i]);
    }
    if (n_live < all.size()) live_ = std::move(live);
}

bool TerminalNfa::find_sound() const {
    const auto& all = positions_.nodes();
    std::vector<char> seen(all.size(), 0), matched(positions_.terminals(), 0);
    std::vector<Word> todo(positions_.entries().begin(), positions_.entries().end()), characters;
    bool sound = true;
    // Without a character first.
    for (int round = 0; round < 2; ++round) {
        while (!todo.empty()) {
            const Word n = todo.back();
            todo.pop_back();
            if (std::exchange(seen[n], 1)) continue;
            const auto& node = all[n];
            if (node.kind == PositionKind::match) {
                matched[node.a] = 1;
                sound &= round > 0;
            } else if (node.kind == PositionKind::match_all) {
                for (Word t : positions_.list(node.a)) matched[t] = 1;
                sound &= round > 0;
            } else if (node.kind == PositionKind::character && round == 0) {
                characters.push_back(n);
            } else {
                each_target(node, [&](Word to) {
                    if (is_live(to) && is_live(n)) todo.push_back(to);
                });
            }
        }
        for (Word n : characters)
            if (is_live(n)) todo.push_back(all[n].b);
    }
    return sound && std::find(matched.begin(), matched.end(), 0) == matched.end();
}

}  // namespace psc
