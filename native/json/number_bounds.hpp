// Bounds of signed numbers from comparisons of magnitudes, however a magnitude is spelled.
//
// Example: x >= -3 is any magnitude without a sign, or one that is at most 3 with a minus sign.
//
// Cost: that of the automata. Threads: pure functions.
#pragma once

#include "json/numbers.hpp"

namespace psc {

// A set of results of comparing a magnitude with a bound's.
struct Compared {
    bool less, equal, greater;
};

// The one set's magnitudes with a minus sign, the other's without.
inline TextAutomaton with_signs(const TextAutomaton& negative, const TextAutomaton& positive) {
    TextAutomaton draft = TextAutomaton::drafted();
    if (!is_empty(negative)) draft.add_arc('-', '-', positive.size());
    const auto append = [&](const TextAutomaton& a, Word offset) {
        for (Word s = 0; s < a.size(); ++s) {
            for (Word i = a.offsets[s]; i < a.offsets[s + 1]; ++i)
                draft.add_arc(a.arcs[i].first, a.arcs[i].last, a.arcs[i].to + offset);
            draft.add_state(a.accepts[s]);
        }
    };
    append(positive, 0);
    append(negative, positive.size());
    return minimal(draft);
}

// Numbers at least as large as the bound; `downwards`: at most. magnitudes(c): the magnitudes whose comparison with the bound's is
// in c.
template <class Magnitudes>
TextAutomaton beyond(const Decimal& bound, bool downwards, bool exclusive, Magnitudes magnitudes) {
    const auto on_sides = [&](const TextAutomaton& near, const TextAutomaton& far) {
        return downwards ? with_signs(near, far) : with_signs(far, near);
    };
    if (bound.is_zero())
        return on_sides(magnitudes(Compared{false, !exclusive, true}), magnitudes(Compared{false, !exclusive, false}));
    if (bound.negative == downwards) return on_sides(magnitudes(Compared{false, !exclusive, true}), no_text());
    return on_sides(magnitudes(Compared{true, true, true}), magnitudes(Compared{true, !exclusive, false}));
}

template <class Magnitudes>
TextAutomaton equal_on_both_sides(const Decimal& value, Magnitudes magnitudes) {
    const TextAutomaton equal = magnitudes(Compared{false, true, false});
    if (value.is_zero()) return with_signs(equal, equal);
    return value.negative ? with_signs(equal, no_text()) : with_signs(no_text(), equal);
}

}  // namespace psc
