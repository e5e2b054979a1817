// F(q) of the lexer: the terminal sequences of which one must be viable for the text read so far to have a continuation.
//
// The lexeme that is open in q becomes some terminal that its automaton can still reach; or it fails, and the fall-back emits some
// terminals and continues in another state, whose lexeme becomes something or fails in turn. So
//
//     F(q) = {t : the open lexeme can become t}  +  e F(p) for each way (e, p) in which it can fail  +  e $END where the text may end
//
// A lexeme that fails into itself again and again has infinitely many; F(q) has those of up to kMaxFallback fallen-back terminals, so a
// text that can only go on with more is refused. For example, `a` and `aab` are terminals and the parser wants ten `a` before anything
// else: behind `aa` the lexer knows no more than that an `a` comes next. The sets share their ends (lexer/sequence_sets.hpp): states
// whose lexemes fail alike have one set, and ways that continue alike are one set from there on.
//
// Cost: for each state, its steps once, and a visit of each state that its lexeme may be in before it fails; then a union for each
// way to fail and each number of terminals left.
#include <algorithm>
#include <set>

#include "base/limits.hpp"
#include "base/sorted.hpp"
#include "lexer/lexer.hpp"

namespace psc {

namespace {
constexpr std::size_t kMaxFallback = limit("terminals_after_failures");
}  // namespace

FutureSet Lexer::futures(LexerState state) {
    if (const auto cached = built_futures(state)) return *cached;
    const FutureSet set = future_set(state, kMaxFallback);
    at(state).futures.store(set.v + 1, std::memory_order_release);
    return set;
}

FutureSet Lexer::future_set(LexerState state, std::size_t budget) {
    if (is_start(state)) return FutureSets::kOne;
    const State& s = at(state);
    std::vector<FutureEdge> edges;
    for (Terminal t : dfa_->reachable(*s.dfa)) {
        if (dfa_->is_ignored(t)) return FutureSets::kOne;
        edges.push_back({OutputSymbol::of(t), FutureSets::kOne});
    }
    cost_ += edges.size();
    const FutureSet becomes = future_sets_.intern(edges);
    if (s.fallback == kNoFallback) return becomes;
    if (budget == 0) return FutureSets::kNone;
    if (const auto cached = future_ids_.find(state, static_cast<Word>(budget))) return *cached;
    const std::vector<Failure> all_failures = failures(state);
    std::vector<FutureSet> sets{becomes}, then;
    for (std::size_t i = 0; i < all_failures.size();) {
        const LexOutput output = all_failures[i].output;
        const std::size_t emitted = std::max<std::size_t>(1, outputs_[output].size());
        then.clear();
        for (; i < all_failures.size() && all_failures[i].output == output; ++i) {
            const auto again = all_failures[i].again;
            then.push_back(again ? future_set(*again, budget > emitted ? budget - emitted : 0) : FutureSets::kOne);
        }
        sets.push_back(put_before(output, future_sets_.unite(then)));
    }
    const FutureSet all = future_sets_.unite(sets);
    future_ids_.insert(state, static_cast<Word>(budget), all);
    return all;
}

// The ways in which the open lexeme can fail, at once or after more bytes that leave it incomplete.
const std::vector<Lexer::Failure>& Lexer::failures(LexerState state) {
    if (const auto cached = failures_.find(state); cached != failures_.end()) return cached->second;
    std::vector<Failure> found;
    std::vector<LexerState> todo{state};
    std::set<LexerState> seen{state};
    while (!todo.empty()) {
        const LexerState q = todo.back();
        todo.pop_back();
        if (at(q).fallback == kNoFallback) continue;
        const NextByte& next = next_byte(q);
        found.insert(found.end(), next.failures.begin(), next.failures.end());
        for (LexerState to : next.incomplete)
            if (seen.insert(to).second) todo.push_back(to);
    }
    sort_unique(found);
    return failures_[state] = std::move(found);
}

const Lexer::NextByte& Lexer::next_byte(LexerState state) {
    if (const auto cached = next_bytes_.find(state); cached != next_bytes_.end()) return cached->second;
    const OutputSymbol end = OutputSymbol::of(Terminal{dfa_->n_terminals()});
    NextByte next;
    std::set<LexerState> seen;
    for (Word c = 0; c < n_classes(); ++c) {
        const ByteClass byte_class{static_cast<std::uint8_t>(c)};
        const auto to = dfa_->next(*at(state).dfa, byte_class);
        for (const LexWay& way : steps(state, byte_class)) {
            if (!to)
                next.failures.push_back({way.output, way.next});
            else if (!dfa_->accepts(*to) && seen.insert(way.next).second)
                next.incomplete.push_back(way.next);
        }
    }
    for (LexOutput last : at_end(state)) next.failures.push_back({*append(last, output_id({&end, 1})), {}});
    sort_unique(next.failures);
    return next_bytes_[state] = std::move(next);
}

// The output, then each sequence of the set. Two conditions with nothing between them are on the same stack.
FutureSet Lexer::put_before(LexOutput output, FutureSet set) {
    const auto symbols = outputs_[output];
    if (symbols.empty() || set == FutureSets::kNone) return set;
    std::size_t n = symbols.size();
    if (is_condition(symbols.back()) && set != FutureSets::kOne) {
        --n;
        std::vector<FutureSet> joined;
        const std::vector<FutureEdge> edges(future_sets_.edges(set).begin(), future_sets_.edges(set).end());
        for (const FutureEdge& edge : edges) {
            if (!is_condition(edge.symbol)) {
                joined.push_back(future_sets_.before(symbols.back(), future_sets_.before(edge.symbol, edge.then)));
            } else if (const auto one = both(symbols.back(), edge.symbol)) {
                joined.push_back(future_sets_.before(OutputSymbol::of(*one, contexts_.n_terminals), edge.then));
            }
        }
        set = future_sets_.unite(joined);
    }
    while (n-- > 0) set = future_sets_.before(symbols[n], set);
    return set;
}

}  // namespace psc
