#include "terminals/contexts.hpp"

#include <algorithm>

#include "base/cancellation.hpp"
#include "base/limits.hpp"
#include "base/partition.hpp"
#include "base/reaching.hpp"

namespace psc {
namespace {

constexpr std::size_t kMaxContextStates = limit("context_states");
constexpr std::size_t kMaxArcs = limit("context_arcs");

// A set of terminals as bits, behind which one more says that a context is flush.
std::size_t words_of_set(const AllTerminals& all) { return all.rank.size() / 64 + 1; }

// Per state whether an ignored terminal matches there.
std::vector<char> states_of_ignored(const AllTerminals& all) {
    std::vector<char> found(all.n_states);
    for (Word s = 0; s < all.n_states; ++s)
        for (Word i = all.match_offsets[s]; i < all.match_offsets[s + 1]; ++i) found[s] |= all.ignored[all.matches[i]];
    return found;
}

// Per state of `all`, the terminals that match there or further on, by arcs that lead into no state of `barred`.
std::vector<std::vector<std::uint64_t>> reachable_terminals(const AllTerminals& all, std::span<const Word> next,
                                                            const std::vector<char>& barred) {
    const std::size_t n_classes = next.size() / static_cast<std::size_t>(all.n_states);
    const std::size_t words = words_of_set(all);
    std::vector<std::vector<std::uint64_t>> reach(all.n_states, std::vector<std::uint64_t>(words));
    std::vector<std::vector<Word>> before(all.n_states);
    for (Word s = 0; s < all.n_states; ++s)
        for (Word to : next.subspan(s * n_classes, n_classes))
            if (to != kFail && !barred[to] && (before[to].empty() || before[to].back() != s)) before[to].push_back(s);
    std::vector<Word> todo;
    std::vector<char> queued(all.n_states);
    for (Word s = 0; s < all.n_states; ++s) {
        for (Word i = all.match_offsets[s]; i < all.match_offsets[s + 1]; ++i)
            reach[s][all.matches[i] >> 6] |= 1ULL << (all.matches[i] & 63);
        todo.push_back(s);
        queued[s] = 1;
    }
    while (!todo.empty()) {
        const Word s = todo.back();
        todo.pop_back();
        queued[s] = 0;
        for (Word from : before[s]) {
            bool grown = false;
            for (std::size_t w = 0; w < words; ++w) {
                grown |= (reach[s][w] & ~reach[from][w]) != 0;
                reach[from][w] |= reach[s][w];
            }
            if (grown && !std::exchange(queued[from], 1)) todo.push_back(from);
        }
    }
    return reach;
}

// One state for each class of a graph's states that no text tells apart. The first `n_starts` are starts, and accept nothing.
TerminalAutomaton without_equal_states(const AllTerminals& all, const LabelledGraph& g, const std::vector<Word>& winner,
                                       std::size_t n_starts, const std::vector<Word>& start_of_context) {
    const auto n_classes = static_cast<std::size_t>(all.classes.size());
    const auto block = coarsest_partition(g);
    TerminalAutomaton a;
    a.ignored = all.ignored;
    a.n_states = 1 + *std::max_element(block.begin(), block.end());
    std::vector<Word> rows(static_cast<std::size_t>(a.n_states) * n_classes, kFail);
    std::vector<Word> accept(a.n_states, kFail);
    std::vector<char> done(a.n_states);
    for (std::size_t s = 0; s < block.size(); ++s) {
        if (std::exchange(done[block[s]], 1)) continue;
        accept[block[s]] = s < n_starts ? kFail : winner[s];
        Word* row = rows.data() + static_cast<std::size_t>(block[s]) * n_classes;
        for (std::size_t i = g.offsets[s]; i < g.offsets[s + 1]; ++i) row[g.arcs[i].label] = block[g.arcs[i].target];
    }
    // Merging states may have merged what told classes apart.
    a.classes = all.classes.merged(rows);
    a.next = all.classes.narrowed(rows, a.classes);
    a.accept_offsets.push_back(0);
    for (Word t : accept) {
        if (t != kFail) a.accepts.push_back(t);
        a.accept_offsets.push_back(static_cast<Word>(a.accepts.size()));
    }
    for (Word s : start_of_context) a.starts.push_back(block[s]);
    return a;
}

}  // namespace

TerminalAutomaton every_match(const AllTerminals& all) {
    TerminalAutomaton a;
    a.n_states = all.n_states;
    a.classes = all.classes;
    a.next = all.next;
    a.accept_offsets = all.match_offsets;
    a.accepts = all.matches;
    a.ignored = all.ignored;
    a.starts = {0};
    return a;
}

// As for_contexts() with one context: each state that something matches from, and nothing to keep of what may match.
TerminalAutomaton winners_only(const AllTerminals& all) {
    const auto n = static_cast<std::size_t>(all.n_states), n_classes = static_cast<std::size_t>(all.classes.size());
    std::vector<char> live(n);
    for (std::size_t s = 0; s < n; ++s) live[s] = all.match_offsets[s] < all.match_offsets[s + 1];
    mark_reaching(live, [&](std::size_t s, const auto& f) {
        Word last = kFail;
        for (std::size_t c = 0; c < n_classes; ++c)
            if (const Word to = all.next[s * n_classes + c]; to != kFail && std::exchange(last, to) != to) f(to);
    });
    std::vector<Word> number(n, kFail), order{0}, winner;
    LabelledGraph g;
    for (std::size_t i = 0; i < order.size(); ++i) {
        stop_if_cancelled();
        const Word state = order[i];
        Word best = kFail;
        for (Word k = all.match_offsets[state]; k < all.match_offsets[state + 1]; ++k)
            if (const Word t = all.matches[k]; best < 0 || all.rank[t] < all.rank[best]) best = t;
        winner.push_back(best);
        g.state_output.push_back(i == 0 ? -2 : best);
        for (std::size_t c = 0; c < n_classes; ++c) {
            const Word to = all.next[static_cast<std::size_t>(state) * n_classes + c];
            if (to == kFail || !live[to]) continue;
            if (number[to] < 0) {
                number[to] = static_cast<Word>(order.size());
                order.push_back(to);
            }
            g.arcs.push_back({static_cast<Word>(c), 0, number[to]});
        }
        g.offsets.push_back(g.arcs.size());
    }
    if (order.size() > kMaxContextStates) throw LimitExceeded("lexer states of all contexts", kMaxContextStates);
    if (g.arcs.size() > kMaxArcs) throw LimitExceeded("lexer arcs of all contexts", kMaxArcs);
    return without_equal_states(all, g, winner, 1, {0});
}

TerminalAutomaton for_contexts(const AllTerminals& all, const std::vector<TerminalContext>& contexts) {
    const std::vector<Word>& next = all.next;
    const auto n_classes = static_cast<std::size_t>(all.classes.size());
    const auto reach = reachable_terminals(all, next, std::vector<char>(all.n_states));
    const std::vector<char> ignored = states_of_ignored(all);
    const bool any_flush = std::any_of(contexts.begin(), contexts.end(), [](const auto& context) { return context.flush; });
    const auto reach_flush = any_flush ? reachable_terminals(all, next, ignored) : decltype(reach){};
    const std::size_t words = words_of_set(all), last = words - 1;
    const std::uint64_t flush = 1ULL << (all.rank.size() & 63);

    // The product of states and allowed sets. A start is a state of its own, into which no arc leads.
    SequenceInterner masks;  // of 64-bit words, as pairs of 32
    PairMap numbers;         // (state, mask) -> product state
    std::vector<std::pair<Word, Word>> states;
    std::vector<std::uint64_t> mask(words);
    const auto mask_id = [&] { return masks.intern({reinterpret_cast<const Word*>(mask.data()), words * 2}).first; };
    const auto number = [&](Word state, Word m) {
        Word id = numbers.find(state, m);
        if (id < 0) {
            if (states.size() >= kMaxContextStates) throw LimitExceeded("lexer states of all contexts", kMaxContextStates);
            id = static_cast<Word>(states.size());
            states.emplace_back(state, m);
            numbers.insert(state, m, id);
        }
        return id;
    };
    std::vector<Word> start_of_context;
    for (const auto& context : contexts) {
        std::fill(mask.begin(), mask.end(), 0);
        for (Word t : context.terminals) mask[t >> 6] |= 1ULL << (t & 63);
        if (context.flush) mask[last] |= flush;
        start_of_context.push_back(number(0, mask_id()));
    }
    const std::size_t n_starts = states.size();
    PairMap narrowed;  // (mask, state) -> product state, or -2
    LabelledGraph g;
    std::vector<Word> winner;
    for (std::size_t i = 0; i < states.size(); ++i) {
        stop_if_cancelled();
        const auto [state, m] = states[i];
        Word best = kFail;
        std::memcpy(mask.data(), masks[m].data(), words * 8);
        for (Word k = all.match_offsets[state]; k < all.match_offsets[state + 1]; ++k) {
            const Word t = all.matches[k];
            if (mask[t >> 6] >> (t & 63) & 1 && (best < 0 || all.rank[t] < all.rank[best])) best = t;
        }
        winner.push_back(best);
        g.state_output.push_back(i < n_starts ? -2 : best);
        for (std::size_t c = 0; c < n_classes; ++c) {
            const Word to = next[state * n_classes + c];
            if (to == kFail) continue;
            Word target = narrowed.find(m, to);
            if (target == -1) {
                std::memcpy(mask.data(), masks[m].data(), words * 8);
                const std::uint64_t is_flush = mask[last] & flush;
                const auto& reachable = is_flush ? reach_flush[to] : reach[to];
                std::uint64_t any = 0;
                for (std::size_t w = 0; w < words; ++w) any |= mask[w] &= reachable[w];
                mask[last] |= is_flush;
                target = any && !(is_flush && ignored[to]) ? number(to, mask_id()) : -2;
                narrowed.insert(m, to, target);
            }
            if (target >= 0) g.arcs.push_back({static_cast<Word>(c), 0, target});
        }
        if (g.arcs.size() > kMaxArcs) throw LimitExceeded("lexer arcs of all contexts", kMaxArcs);
        g.offsets.push_back(g.arcs.size());
    }
    return without_equal_states(all, g, winner, n_starts, start_of_context);
}

}  // namespace psc
