// Products of automata over texts: of two automata, or of one with a count of characters. Cost: text/automaton.hpp.
#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "base/components.hpp"
#include "text/completion_lengths.hpp"
#include "text/exploration.hpp"

namespace psc {

namespace {

// The product from both starts; a side that has ended is -1. `keep`: whether a pair can lead to acceptance at all.
template <class Keep, class Accept>
TextAutomaton side_by_side(const TextAutomaton& a, const TextAutomaton& b, std::size_t max_states, Keep keep, Accept accept) {
    return explored({0, 0}, max_states, [&](std::pair<Word, Word> state, const auto& arc) {
        const auto [p, q] = state;
        const auto* x = a.arcs.data() + (p < 0 ? 0 : a.offsets[p]);
        const auto* x_end = p < 0 ? x : a.arcs.data() + a.offsets[p + 1];
        const auto* y = b.arcs.data() + (q < 0 ? 0 : b.offsets[q]);
        const auto* y_end = q < 0 ? y : b.arcs.data() + b.offsets[q + 1];
        for (Word at = 0;;) {
            while (x != x_end && x->last < at) ++x;
            while (y != y_end && y->last < at) ++y;
            const Word x_from = x == x_end ? kCodePoints : std::max(x->first, at);
            const Word y_from = y == y_end ? kCodePoints : std::max(y->first, at);
            const Word from = std::min(x_from, y_from);
            if (from == kCodePoints) break;
            const bool in_x = x_from == from, in_y = y_from == from;
            const Word last = std::min(in_x ? x->last : x_from - 1, in_y ? y->last : y_from - 1);
            const Word x_to = in_x ? x->to : -1, y_to = in_y ? y->to : -1;
            if (keep(x_to, y_to)) arc(from, last, {x_to, y_to});
            at = last + 1;
        }
        return accept(p >= 0 && a.accepts[p], q >= 0 && b.accepts[q]);
    });
}

}  // namespace

TextAutomaton intersection(const TextAutomaton& a, const TextAutomaton& b, std::size_t max_states) {
    static const auto& everything = *new TextAutomaton(any_text());
    if (a == everything || is_empty(b)) return b;
    if (b == everything || is_empty(a)) return a;
    return side_by_side(a, b, max_states, [](Word p, Word q) { return p >= 0 && q >= 0; }, [](bool p, bool q) { return p && q; });
}

TextAutomaton union_of(const TextAutomaton& a, const TextAutomaton& b, std::size_t max_states) {
    if (is_empty(a)) return b;
    if (is_empty(b)) return a;
    return side_by_side(a, b, max_states, [](Word, Word) { return true; }, [](bool p, bool q) { return p || q; });
}

TextAutomaton difference(const TextAutomaton& a, const TextAutomaton& b, std::size_t max_states) {
    if (is_empty(a) || is_empty(b)) return a;
    return side_by_side(a, b, max_states, [](Word p, Word) { return p >= 0; }, [](bool p, bool q) { return p && !q; });
}

TextAutomaton complement(const TextAutomaton& a, std::size_t max_states) { return difference(any_text(), a, max_states); }

TextAutomaton concatenation(const TextAutomaton& a, const TextAutomaton& b, std::size_t max_states) {
    // A state of a, or -1, and the states of b that the texts since some end of a text of a have led to.
    if (is_empty(a) || is_empty(b)) return no_text();
    TextAutomaton draft = TextAutomaton::drafted();
    SequenceInterner sets;
    std::vector<Word> key{0};
    if (a.accepts[0]) key.push_back(0);
    sets.intern(key);
    std::vector<Word> here, borders;
    for (Word i = 0; i < sets.size(); ++i) {
        here.assign(sets[i].begin(), sets[i].end());
        borders.clear();
        const auto add_borders = [&](const TextAutomaton& of, Word s) {
            for (Word k = of.offsets[s]; k < of.offsets[s + 1]; ++k) {
                borders.push_back(of.arcs[k].first);
                borders.push_back(of.arcs[k].last + 1);
            }
        };
        if (here[0] >= 0) add_borders(a, here[0]);
        for (std::size_t k = 1; k < here.size(); ++k) add_borders(b, here[k]);
        std::sort(borders.begin(), borders.end());
        borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
        bool accepted = false;
        for (std::size_t k = 1; k < here.size(); ++k) accepted = accepted || b.accepts[here[k]];
        for (std::size_t k = 0; k + 1 < borders.size(); ++k) {
            key.assign(1, here[0] < 0 ? -1 : a.step(here[0], borders[k]));
            if (key[0] >= 0 && a.accepts[key[0]]) key.push_back(0);
            for (std::size_t j = 1; j < here.size(); ++j)
                if (const Word to = b.step(here[j], borders[k]); to >= 0) key.push_back(to);
            if (key[0] < 0 && key.size() == 1) continue;
            std::sort(key.begin() + 1, key.end());
            key.erase(std::unique(key.begin() + 1, key.end()), key.end());
            draft.add_arc(borders[k], borders[k + 1] - 1, sets.intern(key).first);
        }
        draft.add_state(accepted);
        check_text_size(draft, sets.size(), max_states);
    }
    return minimal(draft);
}

TextAutomaton of_characters(std::vector<std::pair<Word, Word>> ranges) {
    std::sort(ranges.begin(), ranges.end());
    TextAutomaton draft = TextAutomaton::drafted();
    Word from = 0;  // what is below has an arc, or is in no range
    const auto add = [&](Word first, Word last) {
        if (first <= last) draft.add_arc(first, last, 1);
    };
    for (const auto& [low, high] : ranges) {
        const Word first = std::max(low, from), last = std::min(high, kCodePoints - 1);
        if (first > last) continue;
        add(first, std::min(last, kFirstSurrogateCode - 1));
        add(std::max(first, kLastSurrogateCode + 1), last);
        from = last + 1;
    }
    if (draft.arcs.empty()) return no_text();
    draft.add_state(false);
    draft.add_state(true);
    return draft;
}

TextAutomaton of_arcs(const std::vector<bool>& accepts, const std::vector<std::array<Word, 4>>& arcs) {
    const auto n = static_cast<Word>(accepts.size());
    TextAutomaton draft = TextAutomaton::drafted();
    std::size_t next = 0;
    for (Word s = 0; s < n; ++s) {
        for (Word from = 0; next < arcs.size() && arcs[next][0] == s; ++next) {
            const auto [source, first, last, to] = arcs[next];
            if (first < from || last < first || last >= kCodePoints || to < 0 || to >= n)
                throw std::invalid_argument("arcs are ascending ranges of code points between states");
            draft.add_arc(first, last, to);
            from = last + 1;
        }
        draft.add_state(accepts[s]);
    }
    if (n == 0 || next != arcs.size()) throw std::invalid_argument("arcs are ascending, and leave states that there are");
    return minimal(draft);
}

TextAutomaton shortest_matches(const TextAutomaton& a) {
    TextAutomaton draft = TextAutomaton::drafted();
    for (Word s = 0; s < a.size(); ++s) {
        if (!a.accepts[s])
            for (Word k = a.offsets[s]; k < a.offsets[s + 1]; ++k) draft.add_arc(a.arcs[k].first, a.arcs[k].last, a.arcs[k].to);
        draft.add_state(a.accepts[s]);
    }
    return minimal(draft);
}

namespace {

TextAutomaton empty_text() { return of_texts({std::u32string()}); }

// One or more texts of a: whenever one has ended, the next may have begun.
TextAutomaton at_least_once(const TextAutomaton& a, std::size_t max_states) {
    TextAutomaton draft = TextAutomaton::drafted();
    SequenceInterner sets;
    std::vector<Word> key{0}, here, borders;
    sets.intern(key);
    for (Word i = 0; i < sets.size(); ++i) {
        here.assign(sets[i].begin(), sets[i].end());
        borders.clear();
        bool accepted = false;
        for (const Word s : here) {
            accepted = accepted || a.accepts[s];
            for (Word k = a.offsets[s]; k < a.offsets[s + 1]; ++k) {
                borders.push_back(a.arcs[k].first);
                borders.push_back(a.arcs[k].last + 1);
            }
        }
        std::sort(borders.begin(), borders.end());
        borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
        for (std::size_t k = 0; k + 1 < borders.size(); ++k) {
            key.clear();
            bool ended = false;
            for (const Word s : here)
                if (const Word to = a.step(s, borders[k]); to >= 0) {
                    key.push_back(to);
                    ended = ended || a.accepts[to];
                }
            if (key.empty()) continue;
            if (ended) key.push_back(0);
            std::sort(key.begin(), key.end());
            key.erase(std::unique(key.begin(), key.end()), key.end());
            draft.add_arc(borders[k], borders[k + 1] - 1, sets.intern(key).first);
        }
        draft.add_state(accepted);
        check_text_size(draft, sets.size(), max_states);
    }
    return minimal(draft);
}

// n texts of a, one after the other.
TextAutomaton power(const TextAutomaton& a, std::int64_t n, std::size_t max_states) {
    if (n == 0) return empty_text();
    TextAutomaton result = power(a, n / 2, max_states);
    result = concatenation(result, result, max_states);
    return n % 2 == 0 ? result : concatenation(result, a, max_states);
}

}  // namespace

TextAutomaton repeated(const TextAutomaton& a, std::int64_t least, std::int64_t most, std::size_t max_states) {
    if (most >= 0 && least > most) return no_text();
    if (least > std::int64_t(max_states) || most > std::int64_t(max_states))
        throw LimitExceeded("states of an automaton over texts", max_states);
    if (is_empty(a)) return least == 0 ? empty_text() : a;
    if (most >= 0) {
        const TextAutomaton optional = union_of(a, empty_text(), max_states);
        return concatenation(power(a, least, max_states), power(optional, most - least, max_states), max_states);
    }
    if (least == 0) return union_of(at_least_once(a, max_states), empty_text(), max_states);
    return concatenation(power(a, least - 1, max_states), at_least_once(a, max_states), max_states);
}

bool has_length(const TextAutomaton& a, std::int64_t least, std::int64_t most) {
    if (is_empty(a) || (most >= 0 && least > most)) return false;
    const TextLengths lengths = lengths_of(a);
    if (most >= 0 && lengths.least[0] > most) return false;
    if (lengths.least[0] >= least) return true;
    if (lengths.most[0] >= 0 && lengths.most[0] <= most) return lengths.most[0] >= least;
    std::vector<CompletionLengths::Arc> arcs;
    for (Word s = 0; s < a.size(); ++s)
        for (Word k = a.offsets[s]; k < a.offsets[s + 1]; ++k) arcs.push_back({s, a.arcs[k].to, true});
    return CompletionLengths(a.size(), arcs, a.accepts).can_end(0, least, most);
}

std::size_t n_repeating(const TextAutomaton& a) {
    std::vector<Word> all(static_cast<std::size_t>(a.size()));
    std::iota(all.begin(), all.end(), 0);
    std::vector<Word> to;
    for (const TextAutomaton::Arc& arc : a.arcs) to.push_back(arc.to);
    const auto targets = [&](Word s) {
        return std::span<const Word>(to).subspan(static_cast<std::size_t>(a.offsets[s]),
                                                 static_cast<std::size_t>(a.offsets[s + 1] - a.offsets[s]));
    };
    std::size_t n = 0;
    for (const auto& component : components(a.size(), all, targets)) {
        const auto from_first = targets(component[0]);
        const bool repeats = component.size() > 1 || std::ranges::find(from_first, component[0]) != from_first.end();
        n += repeats ? component.size() : 0;
    }
    return n;
}

TextAutomaton with_count(const TextAutomaton& a, const std::vector<char>& counts, std::int64_t least, std::int64_t most,
                         std::size_t max_states) {
    std::vector<CompletionLengths::Arc> arcs;
    for (Word s = 0; s < a.size(); ++s)
        for (Word k = a.offsets[s]; k < a.offsets[s + 1]; ++k) arcs.push_back({s, a.arcs[k].to, counts[a.arcs[k].to] != 0});
    const CompletionLengths lengths(a.size(), arcs, a.accepts);
    const Word start = lengths.needed(0, 0, least, most);
    if (start == CompletionLengths::kNone) return no_text();
    return explored({0, start}, max_states, [&](std::pair<Word, Word> state, const auto& arc) {
        const auto [s, n] = state;
        for (Word k = a.offsets[s]; k < a.offsets[s + 1]; ++k) {
            const Word to = a.arcs[k].to;
            const Word count = lengths.needed(to, n == CompletionLengths::kAny ? n : n + (counts[to] ? 1 : 0), least, most);
            if (count != CompletionLengths::kNone) arc(a.arcs[k].first, a.arcs[k].last, {to, count});
        }
        return a.accepts[s] && (n == CompletionLengths::kAny || (n >= least && (most < 0 || n <= most)));
    });
}

TextAutomaton with_length(const TextAutomaton& a, std::int64_t least, std::int64_t most, std::size_t max_states) {
    if (is_empty(a) || (most >= 0 && least > most)) return no_text();
    const TextLengths lengths = lengths_of(a);
    // The count that a state is paired with: -1 where every continuation fits, -2 where none does.
    const auto count_at = [&](Word s, Word n) -> Word {
        const std::int64_t shortest_end = std::int64_t{n} + lengths.least[s], longest_end = std::int64_t{n} + lengths.most[s];
        const bool endless = lengths.most[s] < 0;
        if ((most >= 0 && shortest_end > most) || (!endless && longest_end < least)) return -2;
        const bool long_enough = shortest_end >= least, short_enough = most < 0 || (!endless && longest_end <= most);
        return long_enough && short_enough ? -1 : n;
    };
    if (count_at(0, 0) == -1) return a;
    if (count_at(0, 0) == -2) return no_text();
    return explored({0, 0}, max_states, [&](std::pair<Word, Word> state, const auto& arc) {
        const auto [s, n] = state;
        for (Word k = a.offsets[s]; k < a.offsets[s + 1]; ++k) {
            const Word count = n < 0 ? -1 : count_at(a.arcs[k].to, n + 1);
            if (count != -2) arc(a.arcs[k].first, a.arcs[k].last, {a.arcs[k].to, count});
        }
        return a.accepts[s] && (n < 0 || n >= least);
    });
}

}  // namespace psc
