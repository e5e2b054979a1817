#include "terminals/nfa.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/reaching.hpp"

namespace psc {

namespace {

using PositionKind = TerminalPositions::Kind;

constexpr std::array<Word, 1> kNoSets{0};

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

// A position over an empty set of characters is not live.
void TerminalNfa::find_live() {
    const auto& all = positions_.nodes();
    std::vector<char> live(all.size());
    for (std::size_t n = 0; n < all.size(); ++n)
        live[n] = all[n].kind == PositionKind::match || all[n].kind == PositionKind::match_all;
    const bool are_all = mark_reaching(live, [&](std::size_t n, const auto& f) {
        if (all[n].kind != PositionKind::character || !classes_.members(all[n].a).empty())
            TerminalPositions::each_target(all[n], f);
    });
    if (!are_all) live_ = std::move(live);
}

bool TerminalNfa::find_sound() const {
    const auto& all = positions_.nodes();
    std::vector<char> seen(all.size(), 0), matched(positions_.terminals(), 0);
    std::vector<Word> todo(positions_.entries().begin(), positions_.entries().end()), characters;
    bool sound = true;
    // Round 0 follows what needs no character; round 1 everything after a character.
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
                TerminalPositions::each_target(node, [&](Word to) {
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
