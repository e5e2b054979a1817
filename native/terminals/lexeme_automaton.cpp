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
    std::vector<std::vector<Word>> open(n);
    std::vector<Word> incomplete;
    for (DfaState s{0}; s.v < n; ++s.v) {
        each_target(*this, s, [&](DfaState to) {
            extensible_[s.index()] = 1;
            if (!accepts(s) && !accepts(to)) open[s.index()].push_back(to.v);
        });
        if (!accepts(s)) incomplete.push_back(s.v);
    }
    // A component of several states, or a loop, is a cycle.
    for (const auto& component : components(n, incomplete, [&](Word s) { return std::span<const Word>(open[s]); })) {
        const auto& of_first = open[component[0]];
        const bool cycle = component.size() > 1 || std::find(of_first.begin(), of_first.end(), component[0]) != of_first.end();
        for (Word s : component) unbounded_[s] = cycle;
    }
}

void ClosedLexemes::find_reachable() {
    const Word n = n_states_;
    std::vector<std::vector<DfaState>> before(n), states_of(n_terminals());
    for (DfaState s{0}; s.v < n; ++s.v) {
        each_target(*this, s, [&](DfaState to) {
            if (before[to.v].empty() || before[to.v].back() != s) before[to.v].push_back(s);
        });
        for (Terminal t : accepted(s)) states_of[t.index()].push_back(s);
    }
    // Terminal by terminal, against the arcs.
    reachable_.resize(n);
    for (Terminal t{0}; t.v < n_terminals(); ++t.v) {
        std::vector<DfaState> todo = states_of[t.index()];
        while (!todo.empty()) {
            const DfaState s = todo.back();
            todo.pop_back();
            auto& terminals = reachable_[s.index()];
            if (!terminals.empty() && terminals.back() == t) continue;
            terminals.push_back(t);
            todo.insert(todo.end(), before[s.index()].begin(), before[s.index()].end());
        }
    }
}

std::size_t ClosedLexemes::bytes() const {
    std::size_t words = next_.capacity() + accept_offsets_.capacity() + accepts_.capacity();
    for (const auto& terminals : reachable_) words += terminals.capacity() + sizeof(terminals) / sizeof(Word);
    return words * sizeof(Word) + extensible_.capacity() + unbounded_.capacity();
}

}  // namespace psc
