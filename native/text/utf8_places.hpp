// Where a text of bytes is within a character of UTF-8, and where all characters beyond ASCII lead from a state of an automaton.
//
// A place is what may follow: nothing of a character is open, or so many continuation bytes, the first of them perhaps in a
// narrower range (after 0xE0, 0xED, 0xF0 and 0xF4: no character is spelled longer than it has to be, is a surrogate or is beyond
// Unicode).
//
// Cost: a place is a comparison or two a byte; after_wide() asks for a step of each byte at each place, some 300, and stops at the
// first that leads elsewhere.
// Source: Unicode 15, table 3-7.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace psc {

enum class Utf8Place : std::uint8_t { between, one_more, two_more, three_more, after_e0, after_ed, after_f0, after_f4 };

// The bytes that may follow, for characters beyond ASCII.
constexpr std::pair<int, int> wide_bytes_at(Utf8Place place) {
    switch (place) {
        case Utf8Place::between:
            return {0xc2, 0xf4};
        case Utf8Place::after_e0:
            return {0xa0, 0xbf};
        case Utf8Place::after_ed:
            return {0x80, 0x9f};
        case Utf8Place::after_f0:
            return {0x90, 0xbf};
        case Utf8Place::after_f4:
            return {0x80, 0x8f};
        default:
            return {0x80, 0xbf};
    }
}

constexpr bool begins_character(int byte) { return (byte & 0xc0) != 0x80; }
constexpr bool begins_wide(int byte) { return byte >= 0xc2 && byte <= 0xf4; }

// The place after a byte of wide_bytes_at().
constexpr Utf8Place place_after(Utf8Place place, int byte) {
    switch (place) {
        case Utf8Place::between:
            if (byte < 0xe0) return Utf8Place::one_more;
            if (byte < 0xf0) return byte == 0xe0 ? Utf8Place::after_e0 : byte == 0xed ? Utf8Place::after_ed : Utf8Place::two_more;
            return byte == 0xf0 ? Utf8Place::after_f0 : byte == 0xf4 ? Utf8Place::after_f4 : Utf8Place::three_more;
        case Utf8Place::one_more:
            return Utf8Place::between;
        case Utf8Place::three_more:
        case Utf8Place::after_f0:
        case Utf8Place::after_f4:
            return Utf8Place::two_more;
        default:
            return Utf8Place::one_more;
    }
}

// The state to which every character beyond ASCII leads from `from`; none where they lead to several, or a byte leads nowhere.
// `step(state, byte)`: an optional state, or a Maybe; `within(state)` is told the states between a character's bytes. Gives up
// where these are many.
template <class State, class Step, class Within>
std::optional<State> after_wide(State from, Step step, Within within) {
    constexpr std::size_t kMost = 64;
    std::vector<std::pair<State, Utf8Place>> met{{from, Utf8Place::between}};
    std::optional<State> end;
    for (std::size_t i = 0; i < met.size(); ++i) {
        const auto [state, place] = met[i];
        const auto [first, last] = wide_bytes_at(place);
        for (int byte = first; byte <= last; ++byte) {
            const auto to = step(state, static_cast<std::uint8_t>(byte));
            if (!to) return std::nullopt;
            const std::pair next{*to, place_after(place, byte)};
            if (next.second == Utf8Place::between) {
                if (end && *end != *to) return std::nullopt;
                end = *to;
            } else if (next != met.back() && std::find(met.begin() + 1, met.end(), next) == met.end()) {
                if (met.size() == kMost) return std::nullopt;
                met.push_back(next);
                within(*to);
            }
        }
    }
    return end;
}

template <class State, class Step>
std::optional<State> after_wide(State from, Step step) {
    return after_wide(from, step, [](State) {});
}

}  // namespace psc
