#include "lexer.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace psc {

Lexer::Lexer(const TerminalAutomaton& automaton) : dfa_(automaton) {
    emissions_.intern({});
    find_byte_classes();
    find_unbounded();
    build();
    find_futures();
}

Word Lexer::state_id(State s) {
    const Word key[3] = {s.dfa, s.fallback_emission, s.fallback_state};
    return states_.intern(key).first;
}

// Ignored terminals leave no trace in an emission.
Word Lexer::emission_id(std::span<const Word> terminals) {
    std::vector<Word> kept;
    for (Word t : terminals)
        if (!dfa_.ignored[t]) kept.push_back(t);
    return emissions_.intern(kept).first;
}

Word Lexer::append(Word emission, Word more) {
    const auto head = emissions_[emission], tail = emissions_[more];
    std::vector<Word> joined(head.begin(), head.end());
    joined.insert(joined.end(), tail.begin(), tail.end());
    return emissions_.intern(joined).first;
}

void Lexer::find_byte_classes() {
    std::map<std::vector<Word>, Word> seen;
    for (int byte = 0; byte < 256; ++byte) {
        std::vector<Word> column(dfa_.n_states);
        for (Word s = 0; s < dfa_.n_states; ++s) column[s] = dfa_.next[s * 256 + byte];
        const auto [it, fresh] = seen.emplace(std::move(column), static_cast<Word>(seen.size()));
        if (fresh) representative_.push_back(static_cast<std::uint8_t>(byte));
        tables_.byte_class[byte] = static_cast<std::uint8_t>(it->second);
    }
    tables_.n_classes = static_cast<Word>(seen.size());
}

// Marks the non-accepting states on a cycle of non-accepting states, and the states that some byte extends.
void Lexer::find_unbounded() {
    const Word n = dfa_.n_states;
    extensible_.assign(n, 0);
    unbounded_.assign(n, 0);
    std::vector<std::vector<Word>> open(n);
    for (Word s = 0; s < n; ++s)
        for (std::uint8_t byte : representative_) {
            const Word to = dfa_.next[s * 256 + byte];
            if (to == kFail) continue;
            extensible_[s] = 1;
            if (dfa_.accept[s] == kFail && dfa_.accept[to] == kFail) open[s].push_back(to);
        }
    // Tarjan's components, iteratively; a component of several states, or a loop, is a cycle.
    std::vector<Word> index(n, 0), low(n, 0), stack;
    std::vector<char> on_stack(n, 0);
    Word counter = 0;
    for (Word root = 0; root < n; ++root) {
        if (index[root] || dfa_.accept[root] != kFail) continue;
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

Lexer::Step Lexer::step(Word state, std::uint8_t byte) {
    const auto key = states_[state];
    const State s{key[0], key[1], key[2]};
    const Word to = dfa_.next[s.dfa * 256 + byte];
    const Word accepted = dfa_.accept[s.dfa];
    if (to != kFail) {
        if (dfa_.accept[to] != kFail) {
            if (extensible_[to]) return {state_id({to, kFail, kFail}), 0};
            return {state_id({0, kFail, kFail}), emission_id({&dfa_.accept[to], 1})};
        }
        if (unbounded_[to]) return {state_id({to, kFail, kFail}), 0};
        // The longer lexeme is open: keep what happens if it fails up to date.
        Step again{kFail, 0};
        Word emitted = 0;
        if (accepted != kFail) {
            emitted = emission_id({&accepted, 1});
            again = step(state_id({0, kFail, kFail}), byte);
        } else if (s.fallback_state != kFail) {
            emitted = s.fallback_emission;
            again = step(s.fallback_state, byte);
        }
        if (again.state == kFail || !can_fall_back(to, again.state)) return {state_id({to, kFail, kFail}), 0};
        return {state_id({to, append(emitted, again.emission), again.state}), 0};
    }
    Word emitted, from;
    if (accepted != kFail) {
        emitted = emission_id({&accepted, 1});
        from = state_id({0, kFail, kFail});
    } else if (s.fallback_state != kFail) {
        emitted = s.fallback_emission;
        from = s.fallback_state;
    } else {
        return {kFail, 0};
    }
    const Step rest = step(from, byte);
    if (rest.state == kFail) return {kFail, 0};
    return {rest.state, append(emitted, rest.emission)};
}

// Whether the lexeme open in DFA state `open` can fail where the lexer in state `again`, which has read the same text,
// goes on. Where it cannot (the rest of a character that both need), carrying the fall-back would only multiply states.
// `open` does not accept and is not unbounded, so the search along it ends; should a step of `again` ask the same question
// meanwhile, the answer is yes: keeping a fall-back is always right.
bool Lexer::can_fall_back(Word open, Word again) {
    if (const Word known = fall_back_.find(open, again); known >= 0) return known;
    if (asked_.find(open, again) >= 0) return true;
    asked_.insert(open, again, 0);
    bool found = emission_at_end(again) != kFail;
    for (std::size_t c = 0; c < representative_.size() && !found; ++c) {
        const Word to = dfa_.next[open * 256 + representative_[c]];
        if (to != kFail && (dfa_.accept[to] != kFail || unbounded_[to])) continue;
        const Step s = step(again, representative_[c]);
        if (s.state != kFail) found = to == kFail || can_fall_back(to, s.state);
    }
    fall_back_.insert(open, again, found);
    return found;
}

// What is emitted if the text ends in `state`; kFail where a lexeme is incomplete.
Word Lexer::emission_at_end(Word state) {
    Word emission = 0;
    while (state != 0) {
        const auto key = states_[state];
        if (const Word accepted = dfa_.accept[key[0]]; accepted != kFail) return append(emission, emission_id({&accepted, 1}));
        if (key[2] == kFail) return kFail;
        emission = append(emission, key[1]);
        state = key[2];
    }
    return emission;
}

void Lexer::build() {
    state_id({0, kFail, kFail});
    for (Word q = 0; q < states_.size(); ++q)
        for (std::uint8_t byte : representative_) {
            const Step s = step(q, byte);
            tables_.next.push_back(s.state);
            tables_.emit.push_back(s.emission);
        }
    tables_.n_states = states_.size();
    for (Word q = 0; q < states_.size(); ++q) tables_.at_end.push_back(emission_at_end(q));
}

// The set of sequences of which none is a prefix of another, sorted.
static std::vector<std::vector<Word>> without_extensions(std::set<std::vector<Word>> all) {
    std::vector<std::vector<Word>> kept;
    for (const auto& x : all) {  // a prefix sorts before its extensions
        const bool extends = !kept.empty() && kept.back().size() <= x.size() &&
                             std::equal(kept.back().begin(), kept.back().end(), x.begin());
        if (!extends) kept.push_back(x);
    }
    return kept;
}

std::vector<std::vector<Word>> Lexer::future_of(Word state, std::size_t budget) {
    const Word end_terminal = static_cast<Word>(dfa_.ignored.size());
    const auto root = states_[state];
    if (state == 0) return {{}};
    std::set<std::vector<Word>> found;
    for (Word t : reachable_accepts_[root[0]]) {
        if (dfa_.ignored[t]) return {{}};
        found.insert({t});
    }
    if (root[2] == kFail) return without_extensions(std::move(found));
    if (budget == 0) return {};
    if (const auto known = memo_.find({state, budget}); known != memo_.end()) return known->second;
    // The open lexeme may also fail: follow every way in which it can, while it is not complete.
    std::set<Word> seen{state};
    std::vector<Word> todo{state};
    auto record = [&](Word emission, const std::vector<std::vector<Word>>& then) {
        const auto head = emissions_[emission];
        const std::vector<Word> prefix(head.begin(), head.end());
        for (const auto& tail : then) {
            auto x = prefix;
            x.insert(x.end(), tail.begin(), tail.end());
            found.insert(std::move(x));
        }
    };
    while (!todo.empty()) {
        const Word q = todo.back();
        todo.pop_back();
        const auto key = states_[q];
        const Word dfa = key[0];
        if (key[2] == kFail) continue;
        for (Word c = 0; c < tables_.n_classes; ++c) {
            const Word to = tables_.next[q * tables_.n_classes + c];
            if (to == kFail) continue;
            const Word dfa_to = dfa_.next[dfa * 256 + representative_[c]];
            if (dfa_to == kFail) {
                const Word emission = tables_.emit[q * tables_.n_classes + c];
                const std::size_t emitted = std::max<std::size_t>(1, emissions_[emission].size());
                record(emission, future_of(to, budget > emitted ? budget - emitted : 0));
            } else if (dfa_.accept[dfa_to] == kFail && seen.insert(to).second) {
                todo.push_back(to);
            }
        }
        if (tables_.at_end[q] != kFail) record(tables_.at_end[q], {{end_terminal}});
    }
    return memo_[{state, budget}] = without_extensions(std::move(found));
}

void Lexer::find_futures() {
    const Word n = dfa_.n_states;
    // Terminals each DFA state can still reach, by propagation against the arcs.
    std::vector<std::vector<Word>> before(n);
    for (Word s = 0; s < n; ++s)
        for (std::uint8_t byte : representative_)
            if (const Word to = dfa_.next[s * 256 + byte]; to != kFail) before[to].push_back(s);
    std::vector<std::set<Word>> reach(n);
    for (Word s = 0; s < n; ++s) {
        const Word t = dfa_.accept[s];
        if (t == kFail) continue;
        std::vector<Word> todo{s};
        while (!todo.empty()) {
            const Word at = todo.back();
            todo.pop_back();
            if (!reach[at].insert(t).second) continue;
            todo.insert(todo.end(), before[at].begin(), before[at].end());
        }
    }
    for (const auto& r : reach) reachable_accepts_.emplace_back(r.begin(), r.end());
    for (Word q = 0; q < tables_.n_states; ++q) futures_.push_back(future_of(q, kMaxFallback));
    tables_.emission_offsets.push_back(0);
    for (Word e = 0; e < emissions_.size(); ++e) {
        const auto x = emissions_[e];
        tables_.emission_terminals.insert(tables_.emission_terminals.end(), x.begin(), x.end());
        tables_.emission_offsets.push_back(static_cast<Word>(tables_.emission_terminals.size()));
    }
}

}  // namespace psc
