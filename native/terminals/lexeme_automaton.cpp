#include "terminals/lexeme_automaton.hpp"

#include <algorithm>

#include "base/components.hpp"

namespace psc {

namespace {

// Calls f(target) for each arc of a state; consecutive classes with one target are one call.
template <class F>
void each_target(ClosedLexemes& automaton, DfaState state, F f) {
    Maybe<DfaState> last;
    for (Word c = 0; c < automaton.n_classes(); ++c) {
        const auto to = automaton.next(state, {static_cast<std::uint8_t>(c)});
        if (to && to != last) f(*to);
        last = to;
    }
}

}  // namespace

ClosedLexemes::ClosedLexemes(TerminalAutomaton a)
    : LexemeAutomaton(std::move(a.classes), std::move(a.starts), std::move(a.ignored)),
      n_states_(a.n_states),
      next_(std::move(a.next)),
      accept_offsets_(std::move(a.accept_offsets)),
      accepts_(std::move(a.accepts)) {
    find_unbounded();
    find_reachable();
}

void ClosedLexemes::find_unbounded() {
    const Word n = n_states_;
    extensible_.assign(n, 0);
    unbounded_.assign(n, 0);
    std::vector<Word> incomplete;
    const Grouped<> open(static_cast<std::size_t>(n), [&](const auto& add) {
        for (DfaState s{0}; s.v < n; ++s.v)
            each_target(*this, s, [&](DfaState to) {
                extensible_[s.index()] = 1;
                if (!accepts(s) && !accepts(to)) add(s.index(), to.v);
            });
    });
    for (DfaState s{0}; s.v < n; ++s.v)
        if (!accepts(s)) incomplete.push_back(s.v);
    // A component of several states, or a loop, is a cycle.
    for (const auto& component : components(n, incomplete, [&](Word s) { return open[static_cast<std::size_t>(s)]; })) {
        const auto of_first = open[static_cast<std::size_t>(component[0])];
        const bool cycle = component.size() > 1 || std::find(of_first.begin(), of_first.end(), component[0]) != of_first.end();
        for (Word s : component) unbounded_[s] = cycle;
    }
}

void ClosedLexemes::find_reachable() {
    const Word n = n_states_;
    const Grouped<> before(static_cast<std::size_t>(n), [&](const auto& add) {
        for (DfaState s{0}; s.v < n; ++s.v) each_target(*this, s, [&](DfaState to) { add(to.index(), s.v); });
    });
    const Grouped<> states_of(static_cast<std::size_t>(n_terminals()), [&](const auto& add) {
        for (DfaState s{0}; s.v < n; ++s.v)
            for (Terminal t : accepted(s)) add(t.index(), s.v);
    });
    // Terminal by terminal, against the arcs.
    std::vector<std::pair<Word, Word>> found;
    std::vector<Word> todo, last(static_cast<std::size_t>(n), -1);
    for (Word t = 0; t < n_terminals(); ++t) {
        const auto accepting = states_of[static_cast<std::size_t>(t)];
        todo.assign(accepting.begin(), accepting.end());
        while (!todo.empty()) {
            const Word s = todo.back();
            todo.pop_back();
            if (std::exchange(last[s], t) == t) continue;
            found.emplace_back(s, t);
            const auto more = before[static_cast<std::size_t>(s)];
            todo.insert(todo.end(), more.begin(), more.end());
        }
    }
    reachable_ = Grouped<>(static_cast<std::size_t>(n), [&](const auto& add) {
        for (const auto& [s, t] : found) add(static_cast<std::size_t>(s), t);
    });
}

std::size_t ClosedLexemes::bytes() const {
    const std::size_t words = next_.capacity() + accept_offsets_.capacity() + accepts_.capacity();
    return words * sizeof(Word) + reachable_.bytes() + extensible_.capacity() + unbounded_.capacity();
}

}  // namespace psc
