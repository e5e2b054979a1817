#include "json/digit_loops.hpp"

#include <algorithm>
#include <numeric>

#include "base/components.hpp"
#include "text/exploration.hpp"

namespace psc {

namespace {

std::span<const TextAutomaton::Arc> arcs_from(const TextAutomaton& a, Word state) {
    const auto at = static_cast<std::size_t>(state);
    const auto begin = static_cast<std::size_t>(a.offsets[at]), end = static_cast<std::size_t>(a.offsets[at + 1]);
    return std::span(a.arcs).subspan(begin, end - begin);
}

bool is_digits(const TextAutomaton::Arc& arc) { return arc.first >= '0' && arc.last <= '9'; }

// Per state the number of its loop of digits, or -1.
std::vector<Word> digit_loops(const TextAutomaton& a) {
    std::vector<Word> targets, nodes(static_cast<std::size_t>(a.size())), loop(nodes.size(), -1);
    for (const auto& arc : a.arcs) targets.push_back(arc.to);
    std::iota(nodes.begin(), nodes.end(), 0);
    const auto successors = [&](Word state) {
        const auto at = static_cast<std::size_t>(state);
        const auto begin = static_cast<std::size_t>(a.offsets[at]), end = static_cast<std::size_t>(a.offsets[at + 1]);
        return std::span<const Word>(targets).subspan(begin, end - begin);
    };
    Word number = 0;
    for (const std::vector<Word>& group : components(a.size(), nodes, successors)) {
        for (const Word state : group) loop[static_cast<std::size_t>(state)] = number;
        bool repeats = false, digits = true;
        for (const Word state : group)
            for (const auto& arc : arcs_from(a, state))
                if (loop[static_cast<std::size_t>(arc.to)] == number) {
                    repeats = true;
                    digits = digits && is_digits(arc);
                }
        if (!repeats || !digits)
            for (const Word state : group) loop[static_cast<std::size_t>(state)] = -1;
        ++number;
    }
    return loop;
}

}  // namespace

TextAutomaton with_digits(const TextAutomaton& texts, Word most, std::size_t max_states) {
    const std::vector<Word> loop = digit_loops(texts);
    if (std::all_of(loop.begin(), loop.end(), [](Word l) { return l < 0; })) return texts;
    const auto counted = explored({0, 0}, max_states, [&](std::pair<Word, Word> state, const auto& arc) {
        const auto [s, count] = state;
        for (const auto& a : arcs_from(texts, s)) {
            const Word there = loop[static_cast<std::size_t>(a.to)];
            // The digit that leads into a loop is one of it.
            const Word next = there < 0 ? 0 : there == loop[static_cast<std::size_t>(s)] ? count + 1 : is_digits(a) ? 1 : 0;
            if (next <= most) arc(a.first, a.last, {a.to, next});
        }
        return texts.accepts[static_cast<std::size_t>(s)] != 0;
    });
    return is_empty(counted) ? texts : counted;
}

std::optional<TextAutomaton> as_integers(const TextAutomaton& numbers) {
    // What can be read behind a point.
    std::vector<char> seen(static_cast<std::size_t>(numbers.size()), 0);
    std::vector<Word> todo;
    const auto visit = [&](Word state) {
        if (!seen[static_cast<std::size_t>(state)]) todo.push_back(state);
        seen[static_cast<std::size_t>(state)] = 1;
    };
    for (const auto& arc : numbers.arcs)
        if (arc.first == '.') visit(arc.to);
    for (; !todo.empty();) {
        const Word state = todo.back();
        todo.pop_back();
        for (const auto& arc : arcs_from(numbers, state)) {
            if (arc.first != '0' || arc.last != '0') return std::nullopt;
            visit(arc.to);
        }
    }
    TextAutomaton whole = TextAutomaton::drafted();
    for (Word s = 0; s < numbers.size(); ++s) {
        for (const auto& arc : arcs_from(numbers, s))
            if (arc.first != '.') whole.add_arc(arc.first, arc.last, arc.to);
        whole.add_state(numbers.accepts[static_cast<std::size_t>(s)] != 0);
    }
    static const auto& written_minus_zero = *new TextAutomaton(of_texts({U"-0"}));
    whole = minimal(whole);
    return accepts(whole, U"-0") ? difference(whole, written_minus_zero, static_cast<std::size_t>(whole.size()) + 8) : whole;
}

}  // namespace psc
