#include "lexeme_automaton.hpp"

#include <algorithm>

namespace psc {

namespace {

// Calls f(target) for where a state's arcs lead; targets of classes that follow each other once.
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
    for (DfaState s{0}; s.v < n; ++s.v)
        each_target(*this, s, [&](DfaState to) {
            extensible_[s.index()] = 1;
            if (!accepts(s) && !accepts(to)) open[s.index()].push_back(to.v);
        });
    // Tarjan's components, iteratively; a component of several states, or a loop, is a cycle.
    std::vector<Word> index(n, 0), low(n, 0), stack;
    std::vector<char> on_stack(n, 0);
    Word counter = 0;
    for (Word root = 0; root < n; ++root) {
        if (index[root] || accepts({root})) continue;
        std::vector<std::pair<Word, std::size_t>> frames;
        auto enter = [&](Word s) {
            index[s] = low[s] = ++counter;
            stack.push_back(s);
            on_stack[s] = 1;
            frames.emplace_back(s, 0);
        };
        enter(root);
        while (!frames.empty()) {
            const Word s = frames.back().first;
            if (frames.back().second < open[s].size()) {
                const Word to = open[s][frames.back().second++];
                if (!index[to])
                    enter(to);
                else if (on_stack[to])
                    low[s] = std::min(low[s], index[to]);
                continue;
            }
            frames.pop_back();
            if (!frames.empty()) low[frames.back().first] = std::min(low[frames.back().first], low[s]);
            if (low[s] != index[s]) continue;
            const bool loop = std::find(open[s].begin(), open[s].end(), s) != open[s].end();
            const bool several = stack.back() != s;
            Word member;
            do {
                member = stack.back();
                stack.pop_back();
                on_stack[member] = 0;
                unbounded_[member] = loop || several;
            } while (member != s);
        }
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

}  // namespace psc
