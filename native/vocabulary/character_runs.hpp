// Where runs of characters lead in an automaton that reads tokens: back to where they began, or k characters to a state of their
// own.
//
// Most tokens are words, and most of what is open while a model writes is a name or a text, in which all letters do the same. So
// what an automaton does with a kind of characters (vocabulary/character_kinds.hpp) is found once for a state, and a walk then
// takes a subtree of the vocabulary's trie as a whole, or tokens by their number of characters.
//
// Example: after the quote of `"[^"\\]{0,3}"`, most kinds lead on together, 0 -> 1 -> 2 -> 3, and then nowhere. follow_run() gives
// {0, 1, 2, 3} and that longer runs lead nowhere: a token of 2 such characters ends in state 2, one of 5 is not read. Without the
// count state 0 leads back to itself, and all these kinds stay.
//
// An automaton is a CharacterAutomaton. There are four: the configs of a lexer, and its states inside one lexeme
// (classifier/token_steps); a fragment of a lexer (vocabulary/index); and the sets of stacks of one text (matcher/tokens), where a
// step costs what accept() does. Two states have equal continuations where tokens that end in either need not be told apart.
//
// Cost: each byte is stepped once for each state that is asked about. stays() looks at the kinds that a walk asks about only.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/sorted.hpp"
#include "text/utf8_positions.hpp"
#include "vocabulary/character_kinds.hpp"

namespace psc {

template <class A>
concept CharacterAutomaton = requires(A& automaton, typename A::State state, std::uint8_t byte) {
    { *automaton.step(state, byte) } -> std::convertible_to<typename A::State>;  // an optional state, or a Maybe
    { automaton.continuation(state) == automaton.continuation(state) } -> std::convertible_to<bool>;
};

// --- characters that lead back

// Of a state, the kinds whose characters all lead back to it, as far as anything asked.
class StayingKinds {
public:
    // Whether characters of all these kinds do, if next_unknown() of them is 0.
    bool all_stay(CharacterKinds kinds) const { return !(kinds & leaving_); }
    CharacterKinds next_unknown(CharacterKinds kinds) const {
        const CharacterKinds open = kinds & ~known_;
        return kinds & leaving_ ? 0 : open & (~open + 1);
    }
    bool some_are_known() const { return known_ != 0; }
    void set(CharacterKinds kinds, CharacterKinds leaving) {
        known_ |= kinds;
        leaving_ |= leaving;
    }
    // What holds of two states together.
    StayingKinds operator&(const StayingKinds& other) const {
        StayingKinds both;
        both.set((known_ & other.known_) | leaving_ | other.leaving_, leaving_ | other.leaving_);
        return both;
    }

private:
    CharacterKinds known_ = 0, leaving_ = 0;
};

// Where all characters beyond ASCII lead, and whether a token that ends within one has the continuation of that.
template <class State>
struct WideEnd {
    std::optional<State> state;
    bool is_alike = false;
};

template <CharacterAutomaton A, class State = typename A::State>
WideEnd<State> wide_end(A& automaton, State state) {
    constexpr std::size_t kMaxVisited = 64;
    const auto step = [&](State from, std::uint8_t byte) { return automaton.step(from, byte); };
    const auto targets = after_wide(std::span<const State>(&state, 1), step, kMaxVisited, true);
    const auto end = targets.only_end();
    if (!end) return {};
    const auto continuation = automaton.continuation(*end);
    const auto is_alike = [&](State within) { return automaton.continuation(within) == continuation; };
    return {end, std::ranges::all_of(targets.within, is_alike)};
}

// Sets what `of(state)`, which may move while the automaton steps, says of these kinds, as far as it decides whether all of them
// stay. `wide(state)`: the automaton's wide_end().
template <CharacterAutomaton A, class State, class Of, class Wide>
void find_staying(A& automaton, State state, CharacterKinds kinds, Of of, Wide wide) {
    namespace kind = character_kinds;
    while (const CharacterKinds next = of(state).next_unknown(kinds)) {
        if (next > kind::kCut) {  // parts of characters
            of(state).set(next, next);
        } else if (next >= kind::kWide) {
            const WideEnd<State> end = wide(state);
            const bool leaves = end.state != state;
            of(state).set(kind::kWide | kind::kCut, (leaves ? kind::kWide : 0) | (leaves || !end.is_alike ? kind::kCut : 0));
        } else {
            const bool leaves = std::ranges::any_of(kind::characters_of(next), [&](std::uint8_t byte) {
                const auto to = automaton.step(state, byte);
                return !to || *to != state;
            });
            of(state).set(next, leaves ? next : 0);
        }
    }
}

// --- characters that lead on

// Which kinds lead on together with those of which all characters lead to one state.
enum class Together {
    one_state,  // others that lead there
    uncounted,  // others that lead to states with its continuation, if that is what it was before; and characters beyond ASCII
    alike,      // all that lead to states with its continuation
};

// Where most kinds lead on together from states with one continuation: to one state, or to several that have one, too.
template <class Next>
struct Onward {
    Next next;
    CharacterKinds kinds = 0;
    CharacterKinds dead = 0;  // of which no byte leads anywhere
};

template <CharacterAutomaton A, class State = typename A::State>
std::array<CharacterTargets<State>, character_kinds::kCount> targets_of_kinds(A& automaton, std::span<const State> from,
                                                                              std::size_t max_states, Together together) {
    namespace kind = character_kinds;
    std::array<CharacterTargets<State>, kind::kCount> by_kind;
    std::array<CharacterKinds, 256> seen{};  // per class of bytes
    const int end = together == Together::one_state ? 0x80 : 0xc0;
    for (int byte = 0; byte < end; ++byte) {
        const CharacterKinds of_byte = byte < 0x80 ? kind::of(byte) : kind::kRest;
        const ByteClass byte_class = automaton.byte_class(static_cast<std::uint8_t>(byte));
        if (seen[byte_class.index()] & of_byte) continue;
        seen[byte_class.index()] |= of_byte;
        CharacterTargets<State>& targets = by_kind[static_cast<std::size_t>(std::countr_zero(of_byte))];
        for (State state : from) {
            if (const auto to = automaton.step(state, static_cast<std::uint8_t>(byte)))
                targets.ends.push_back(*to);
            else
                targets.some_dead = true;
        }
    }
    const auto step = [&](State state, std::uint8_t byte) { return automaton.step(state, byte); };
    by_kind[static_cast<std::size_t>(std::countr_zero(kind::kWide))] =
        after_wide(from, step, max_states * 8, together == Together::one_state);
    for (CharacterTargets<State>& targets : by_kind) sort_unique(targets.ends);
    return by_kind;
}

// Whether every byte of these kinds of ASCII leads on.
template <CharacterAutomaton A>
bool reads_all(A& automaton, typename A::State state, CharacterKinds kinds) {
    for (int byte = 0; byte < 0x80; ++byte)
        if ((character_kinds::of(byte) & kinds) && !automaton.step(state, static_cast<std::uint8_t>(byte))) return false;
    return true;
}

// The state to which the characters of most kinds lead, of kinds that lead to one state each, and these kinds; none if there are
// none.
template <class State>
std::optional<std::pair<State, CharacterKinds>> target_of_most(
    const std::array<CharacterTargets<State>, character_kinds::kCount>& by_kind) {
    std::map<State, CharacterKinds> kinds_of;
    for (int k = 0; k < character_kinds::kCount; ++k) {
        const auto& targets = by_kind[static_cast<std::size_t>(k)];
        if (targets.ends.size() == 1 && !targets.some_dead && targets.within.empty())
            kinds_of[targets.ends[0]] |= CharacterKinds{1} << k;
    }
    const auto weighs_less = [](const auto& a, const auto& b) { return std::popcount(a.second) < std::popcount(b.second); };
    const auto most = std::ranges::max_element(kinds_of, weighs_less);
    return most == kinds_of.end() ? std::nullopt : std::optional<std::pair<State, CharacterKinds>>(*most);
}

// Most kinds lead to one state. Others go with them where they lead to states with the same continuation that read on: in a string,
// `"` and what follows a backslash do not. Where that is more than `max_states`, no kinds lead on together. `next` is ascending.
template <CharacterAutomaton A, class State = typename A::State>
Onward<std::vector<State>> onward(A& automaton, std::span<const State> from, std::size_t max_states, Together together) {
    namespace kind = character_kinds;
    const auto by_kind = targets_of_kinds(automaton, from, max_states, together);
    const auto targets_of = [&](CharacterKinds one) -> const auto& {
        return by_kind[static_cast<std::size_t>(std::countr_zero(one))];
    };
    Onward<std::vector<State>> found;
    for (int k = 0; k < kind::kCount; ++k)
        if (by_kind[static_cast<std::size_t>(k)].leads_nowhere()) found.dead |= CharacterKinds{1} << k;
    if (found.dead & kind::kWide) found.dead |= kind::kCut;

    const auto own = automaton.continuation(from[0]);
    const auto most = target_of_most(by_kind);
    const auto after = most ? automaton.continuation(most->first) : own;
    const auto is_alike = [&](State to) { return automaton.continuation(to) == after; };
    CharacterKinds read = most ? most->second : 0;  // what states have to read to which others lead
    if (!most)
        for (char c : {'a', 'A', '0'})
            if (const auto& targets = targets_of(kind::of(c)); !targets.some_dead && std::ranges::all_of(targets.ends, is_alike))
                read |= kind::of(c);
    if (!read) return found;
    if (most) found = {{most->first}, most->second, found.dead};
    const auto goes_on = [&](State to) {
        return (most && to == most->first) || (together != Together::one_state && reads_all(automaton, to, read));
    };
    for (int k = 0; k < kind::kCount; ++k) {
        const CharacterKinds one = CharacterKinds{1} << k;
        const auto& targets = targets_of(one);
        if ((found.kinds & one) || targets.some_dead || targets.ends.empty()) continue;
        if (together != Together::alike && after != own && one != kind::kWide) continue;
        if (!std::ranges::all_of(targets.ends, is_alike) || !std::ranges::all_of(targets.within, is_alike) ||
            !std::ranges::all_of(targets.ends, goes_on))
            continue;
        found.kinds |= one == kind::kWide ? one | kind::kCut : one;
        found.next.insert(found.next.end(), targets.ends.begin(), targets.ends.end());
    }
    sort_unique(found.next);
    if (found.next.size() > max_states) found.kinds = 0;
    return found;
}

// How a run of characters of some kinds goes on from the last of these states, which `by_length` gets: one for each number of
// characters, until it stays. `onward(state, k)`: a pointer to, or an optional, Onward of a state, which k characters have led to.
// Returns whether longer runs lead nowhere; none where these kinds do not lead on together, or `onward` gives none.
template <class State, class NextOf>
std::optional<bool> follow_run(std::vector<State>& by_length, CharacterKinds kinds, int max_length, NextOf onward) {
    for (int k = 0; k < max_length; ++k) {
        const auto to = onward(by_length.back(), k);
        if (!to) return {};
        if ((kinds & ~to->dead) == 0 && !(kinds & character_kinds::kRest)) return true;
        if ((kinds & ~to->kinds) != 0) return {};
        if (to->next == by_length.back()) break;
        by_length.push_back(to->next);
    }
    return false;
}

}  // namespace psc
