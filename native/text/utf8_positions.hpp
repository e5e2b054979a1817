// Where a text of bytes is within a character of UTF-8, and where all characters beyond ASCII lead from a state of an automaton.
//
// A position is what may follow: nothing of a character is open, or one to three continuation bytes, the first of them perhaps in a
// narrower range (after 0xE0, 0xED, 0xF0 and 0xF4: no character is spelled longer than it has to be, is a surrogate or is beyond
// Unicode).
//
// Cost: a position is a comparison or two a byte; after_wide() takes a step of each byte at each position of each state, some 300
// where all characters lead one way. Source: Unicode 15, table 3-7.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace psc {

enum class Utf8Position : std::uint8_t { between, one_more, two_more, three_more, after_e0, after_ed, after_f0, after_f4 };

// The bytes that may follow, for characters beyond ASCII.
constexpr std::pair<int, int> wide_bytes_at(Utf8Position position) {
    switch (position) {
        case Utf8Position::between:
            return {0xc2, 0xf4};
        case Utf8Position::after_e0:
            return {0xa0, 0xbf};
        case Utf8Position::after_ed:
            return {0x80, 0x9f};
        case Utf8Position::after_f0:
            return {0x90, 0xbf};
        case Utf8Position::after_f4:
            return {0x80, 0x8f};
        default:
            return {0x80, 0xbf};
    }
}

constexpr bool begins_character(int byte) { return (byte & 0xc0) != 0x80; }
constexpr bool begins_wide(int byte) { return byte >= 0xc2 && byte <= 0xf4; }

// The position after a byte of wide_bytes_at().
constexpr Utf8Position position_after(Utf8Position position, int byte) {
    switch (position) {
        case Utf8Position::between:
            if (byte < 0xe0) return Utf8Position::one_more;
            if (byte < 0xf0)
                return byte == 0xe0 ? Utf8Position::after_e0 : byte == 0xed ? Utf8Position::after_ed : Utf8Position::two_more;
            return byte == 0xf0 ? Utf8Position::after_f0 : byte == 0xf4 ? Utf8Position::after_f4 : Utf8Position::three_more;
        case Utf8Position::one_more:
            return Utf8Position::between;
        case Utf8Position::three_more:
        case Utf8Position::after_f0:
        case Utf8Position::after_f4:
            return Utf8Position::two_more;
        default:
            return Utf8Position::one_more;
    }
}

// Where the characters of a kind lead from some states of an automaton.
template <class State>
struct CharacterTargets {
    std::vector<State> ends;    // after a character; one may be there several times
    std::vector<State> within;  // between the bytes of one
    bool some_dead = false;     // whether a byte leads nowhere, or there were too many states to go on

    bool leads_nowhere() const { return some_dead && ends.empty() && within.empty(); }
    std::optional<State> only_end() const {
        const bool one = !some_dead && !ends.empty() && std::ranges::all_of(ends, [&](State end) { return end == ends[0]; });
        return one ? std::optional(ends[0]) : std::nullopt;
    }
};

// Where the characters beyond ASCII lead. `step(state, byte)`: an optional state, or a Maybe. Reading stops at the first byte that
// leads nowhere if another one leads on, and, with `only_one`, at a second end: what was read until then tells that it is so.
template <class State, class Step>
CharacterTargets<State> after_wide(std::span<const State> from, Step step, std::size_t max_visited, bool only_one) {
    CharacterTargets<State> targets;
    std::vector<std::pair<State, Utf8Position>> visited;
    for (State state : from) visited.emplace_back(state, Utf8Position::between);
    for (std::size_t i = 0; i < visited.size(); ++i) {
        const auto [state, position] = visited[i];
        const auto [first, last] = wide_bytes_at(position);
        for (int byte = first; byte <= last; ++byte) {
            const auto to = step(state, static_cast<std::uint8_t>(byte));
            const Utf8Position after = position_after(position, byte);
            if (!to) {
                targets.some_dead = true;
            } else if (after == Utf8Position::between) {
                if (!targets.ends.empty() && targets.ends.back() == *to) continue;
                targets.ends.push_back(*to);
                if (only_one && targets.ends.size() > 1) return targets;
            } else if (const std::pair next{State(*to), after};
                       std::find(visited.rbegin(), visited.rend(), next) == visited.rend()) {
                targets.some_dead |= visited.size() == max_visited;
                visited.push_back(next);
                targets.within.push_back(*to);
            }
            if (targets.some_dead && !targets.leads_nowhere()) return targets;
        }
    }
    return targets;
}

}  // namespace psc
