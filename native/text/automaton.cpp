#include "text/automaton.hpp"

#include <algorithm>

#include "base/cancellation.hpp"

namespace psc {

Word TextAutomaton::step(Word state, Word code_point) const {
    const auto begin = arcs.begin() + offsets[state], end = arcs.begin() + offsets[state + 1];
    const auto arc = std::lower_bound(begin, end, code_point, [](const Arc& a, Word c) { return a.last < c; });
    return arc != end && arc->first <= code_point ? arc->to : -1;
}

TextAutomaton TextAutomaton::drafted() {
    TextAutomaton a;
    a.offsets = {0};
    a.accepts.clear();
    return a;
}

void TextAutomaton::add_arc(Word first, Word last, Word to) {
    if (static_cast<Word>(arcs.size()) > offsets.back() && arcs.back().to == to && arcs.back().last == first - 1)
        arcs.back().last = last;
    else
        arcs.push_back({first, last, to});
}

// Every pass that makes an automaton owns it, so here it can be called off.
void TextAutomaton::add_state(bool accepts_here) {
    stop_if_cancelled();
    offsets.push_back(static_cast<Word>(arcs.size()));
    accepts.push_back(accepts_here);
}

TextAutomaton no_text() { return {}; }

TextAutomaton any_text() {
    TextAutomaton a = TextAutomaton::drafted();
    a.add_arc(0, kFirstSurrogateCode - 1, 0);
    a.add_arc(kLastSurrogateCode + 1, kCodePoints - 1, 0);
    a.add_state(true);
    return a;
}

bool is_empty(const TextAutomaton& a) { return a.size() == 1 && !a.accepts[0]; }

bool accepts(const TextAutomaton& a, std::u32string_view text) {
    Word state = 0;
    for (char32_t c : text) {
        if (c >= static_cast<char32_t>(kCodePoints)) return false;
        state = a.step(state, static_cast<Word>(c));
        if (state < 0) return false;
    }
    return a.accepts[state];
}

std::optional<std::u32string> shortest(const TextAutomaton& a) {
    if (is_empty(a)) return std::nullopt;
    const std::vector<Word> least = lengths_of(a).least;
    std::u32string text;
    for (Word s = 0; least[s] > 0;) {
        auto arc = a.arcs.begin() + a.offsets[s];
        while (least[arc->to] != least[s] - 1) ++arc;
        text.push_back(static_cast<char32_t>(arc->first));
        s = arc->to;
    }
    return text;
}

Grouped<> sources_of(const TextAutomaton& a) {
    return {static_cast<std::size_t>(a.size()), [&](const auto& add) {
                for (Word s = 0; s < a.size(); ++s)
                    for (Word i = a.offsets[s]; i < a.offsets[s + 1]; ++i) add(static_cast<std::size_t>(a.arcs[i].to), s);
            }};
}

TextLengths lengths_of(const TextAutomaton& a) {
    const std::size_t n = a.size();
    const Grouped<> sources = sources_of(a);
    TextLengths lengths{std::vector<Word>(n, -1), std::vector<Word>(n, -1)};
    std::vector<Word> queue;
    queue.reserve(n);
    CancellationWatch watch;
    for (std::size_t s = 0; s < n; ++s)
        if (a.accepts[s]) {
            lengths.least[s] = 0;
            queue.push_back(static_cast<Word>(s));
        }
    for (std::size_t i = 0; i < queue.size(); ++i) {
        const auto before = sources[static_cast<std::size_t>(queue[i])];
        watch.step(1 + before.size());
        for (Word source : before)
            if (lengths.least[source] < 0) {
                lengths.least[source] = lengths.least[queue[i]] + 1;
                queue.push_back(source);
            }
    }
    // A live state has a longest text once all live states that it leads to have one.
    std::vector<Word> open(n, 0), longest(n, 0);
    for (Word s : queue)
        for (Word i = a.offsets[s]; i < a.offsets[s + 1]; ++i) open[s] += lengths.least[a.arcs[i].to] >= 0;
    std::vector<Word> known;
    known.reserve(n);
    for (Word s : queue)
        if (open[s] == 0) known.push_back(s);
    for (std::size_t i = 0; i < known.size(); ++i) {
        const Word s = known[i];
        lengths.most[s] = longest[s];
        watch.step(1 + sources[static_cast<std::size_t>(s)].size());
        for (Word source : sources[static_cast<std::size_t>(s)]) {
            longest[source] = std::max(longest[source], longest[s] + 1);
            if (--open[source] == 0) known.push_back(source);
        }
    }
    return lengths;
}

}  // namespace psc
