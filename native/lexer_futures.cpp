// F(q) of the lexer: the terminal sequences of which one must be viable for the text read so far to have a continuation.
//
// The lexeme that is open in q becomes some terminal that its automaton can still reach; or it fails, and what falls back emits some
// terminals and goes on in another state, whose lexeme becomes something or fails in turn. So
//
//     F(q) = {t : the open lexeme can become t}  +  e F(p) for each way (e, p) in which it can fail  +  e $END where the text may end
//
// which is solved for so many terminals that have fallen back. The sets share their ends (sequence_sets.hpp): states whose lexemes
// fail alike have one set, and ways that go on alike are one set from there on, so that what doubles with every terminal as
// a list grows by one set.
//
// Cost: for each state, its steps once; then a union for each way to fail and each number of terminals left.
#include <algorithm>
#include <set>

#include "lexer.hpp"
#include "limits.hpp"

namespace psc {

Word Lexer::futures(Word state) {
    if (const Word known = known_futures(state); known >= 0) return known;
    const Word set = future_set(state, kMaxFallback);
    states_[state].futures.store(set + 1, std::memory_order_release);
    return set;
}

Word Lexer::future_set(Word state, std::size_t budget) {
    if (is_start(state)) return SequenceSets::kOne;
    const Word dfa = states_[state].dfa;
    std::vector<Word> edges;
    for (Word t : reachable_[dfa]) {
        if (dfa_.ignored[t]) return SequenceSets::kOne;
        edges.insert(edges.end(), {t, SequenceSets::kOne});
    }
    const Word becomes = future_sets_.intern(edges);
    if (states_[state].fallback == 0) return becomes;
    if (budget == 0) return SequenceSets::kNone;
    if (const Word known = future_ids_.find(state, static_cast<Word>(budget)); known >= 0) return known;
    const Failures ways = failures(state);
    std::vector<Word> sets{becomes}, then;
    for (std::size_t i = 0; i < ways.size();) {
        const Word emission = ways[i].first;
        const std::size_t emitted = std::max<std::size_t>(1, emissions_[emission].size());
        then.clear();
        for (; i < ways.size() && ways[i].first == emission; ++i) {
            const Word to = ways[i].second;
            then.push_back(to == kFail ? SequenceSets::kOne : future_set(to, budget > emitted ? budget - emitted : 0));
        }
        sets.push_back(put_before(emission, future_sets_.unite(then)));
    }
    const Word all = future_sets_.unite(std::move(sets));
    future_ids_.insert(state, static_cast<Word>(budget), all);
    return all;
}

// The ways in which the open lexeme can fail, at once or after bytes that go on with it while it is not complete. With kFail: the
// text ends, and the emission has the end in it.
const Lexer::Failures& Lexer::failures(Word state) {
    if (const auto known = failures_.find(state); known != failures_.end()) return known->second;
    const Word end_terminal = static_cast<Word>(dfa_.ignored.size());
    Failures found;
    std::vector<Word> todo{state};
    std::set<Word> seen{state};
    while (!todo.empty()) {
        const Word q = todo.back();
        todo.pop_back();
        if (states_[q].fallback == 0) continue;
        const Word dfa = states_[q].dfa;
        for (Word c = 0; c < n_classes(); ++c) {
            const auto next = steps(q, c);
            const Word dfa_to = dfa_.next[dfa * 256 + representative_[c]];
            for (std::size_t i = 0; i < next.size(); i += 2) {
                if (dfa_to == kFail) {
                    found.emplace_back(next[i], next[i + 1]);
                } else if (dfa_.accept(dfa_to).empty() && seen.insert(next[i + 1]).second) {
                    todo.push_back(next[i + 1]);
                }
            }
        }
        for (Word last : at_end(q)) found.emplace_back(append(last, emission_id({&end_terminal, 1})), kFail);
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return failures_[state] = std::move(found);
}

// The emission, then each sequence of the set. Two conditions with nothing between them are on the same stack: their intersection.
Word Lexer::put_before(Word emission, Word set) {
    const auto symbols = emissions_[emission];
    if (symbols.empty() || set == SequenceSets::kNone) return set;
    std::size_t n = symbols.size();
    if (is_condition(symbols.back()) && set != SequenceSets::kOne) {
        --n;
        std::vector<Word> joined;
        const std::vector<Word> edges(future_sets_.edges(set).begin(), future_sets_.edges(set).end());
        for (std::size_t i = 0; i < edges.size(); i += 2) {
            const Word first = edges[i];
            if (!is_condition(first)) {
                joined.push_back(future_sets_.before(symbols.back(), future_sets_.before(first, edges[i + 1])));
                continue;
            }
            const auto a = condition(symbols.back()), b = condition(first);
            std::vector<Word> both;
            std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
            if (both.empty()) continue;
            const Word symbol = contexts_.n_terminals + conditions_.intern(both).first;
            joined.push_back(future_sets_.before(symbol, edges[i + 1]));
        }
        set = future_sets_.unite(std::move(joined));
    }
    while (n-- > 0) set = future_sets_.before(symbols[n], set);
    return set;
}

}  // namespace psc
