#include "lalr.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "limits.hpp"
#include "sorted.hpp"
#include "wire.hpp"

namespace psc {
namespace {

// Each bounds some seconds and some hundred megabytes: items in the closures of all states; words of all sets of terminals that
// lookaheads are made of; cells of the action and goto tables, and what is in them.
constexpr std::size_t kMaxItems = 4'000'000;
constexpr std::size_t kMaxLookaheadWords = 1 << 25;
constexpr std::size_t kMaxCells = 1 << 25;
constexpr std::size_t kMaxActions = 16'000'000;

// A dense set of terminals.
struct TerminalSet {
    std::vector<std::uint64_t> bits;
    explicit TerminalSet(Word n = 0) : bits((n + 63) / 64) {}
    void add(Word t) { bits[t >> 6] |= 1ULL << (t & 63); }
    bool has(Word t) const { return bits[t >> 6] >> (t & 63) & 1; }
    void merge(const TerminalSet& other) {
        for (std::size_t i = 0; i < bits.size(); ++i) bits[i] |= other.bits[i];
    }
};

// LR(0): states are interned kernels; an item is production * stride + dot.
class Lr0 {
public:
    Lr0(const GrammarTables& g) : g_(g), root_(static_cast<Word>(g.lhs.size())) {
        stride_ = 3;
        for (const auto& r : g.rhs) stride_ = std::max<Word>(stride_, static_cast<Word>(r.size()) + 1);
        by_lhs_.resize(g.n_nonterminals);
        for (Word p = 0; p < root_; ++p) by_lhs_[g.lhs[p]].push_back(p);
        root_rhs_ = {g.n_terminals + g.start, g.end_terminal()};
        build();
    }

    std::span<const Word> rhs(Word production) const {
        return production == root_ ? std::span<const Word>(root_rhs_) : std::span<const Word>(g_.rhs[production]);
    }
    Word n_states() const { return static_cast<Word>(transitions_.size()); }
    Word root() const { return root_; }
    const std::vector<std::pair<Word, Word>>& transitions(Word state) const { return transitions_[state]; }
    const std::vector<Word>& complete(Word state) const { return complete_[state]; }
    const std::vector<Word>& productions_of(Word nonterminal) const { return by_lhs_[nonterminal]; }

    Word next(Word state, Word symbol) const {
        const auto& row = transitions_[state];
        const auto it = std::lower_bound(row.begin(), row.end(), std::pair<Word, Word>{symbol, -1});
        return it != row.end() && it->first == symbol ? it->second : -1;
    }

private:
    void build() {
        const Word start_item = root_ * stride_;
        kernels_.intern({&start_item, 1});
        std::vector<char> seen(g_.n_nonterminals);
        std::size_t n_items = 0;
        for (Word state = 0; state < kernels_.size(); ++state) {
            const auto kernel = kernels_[state];
            std::vector<Word> items(kernel.begin(), kernel.end());
            std::fill(seen.begin(), seen.end(), 0);
            for (std::size_t i = 0; i < items.size(); ++i) {
                const auto r = rhs(items[i] / stride_);
                const Word dot = items[i] % stride_;
                if (dot == static_cast<Word>(r.size()) || r[dot] < g_.n_terminals) continue;
                const Word a = r[dot] - g_.n_terminals;
                if (std::exchange(seen[a], 1)) continue;
                for (Word p : by_lhs_[a]) items.push_back(p * stride_);
            }
            n_items += items.size();
            if (n_items > kMaxItems) throw LimitExceeded("items of LR states", kMaxItems);
            std::map<Word, std::vector<Word>> moves;
            std::vector<Word> done;
            for (Word item : items) {
                const Word p = item / stride_, dot = item % stride_;
                const auto r = rhs(p);
                if (dot == static_cast<Word>(r.size()))
                    done.push_back(p);
                else
                    moves[r[dot]].push_back(item + 1);
            }
            std::vector<std::pair<Word, Word>> row;
            for (auto& [symbol, kernel_items] : moves) {
                std::sort(kernel_items.begin(), kernel_items.end());
                row.emplace_back(symbol, kernels_.intern(kernel_items).first);
            }
            std::sort(done.begin(), done.end());
            transitions_.push_back(std::move(row));
            complete_.push_back(std::move(done));
        }
    }

    const GrammarTables& g_;
    Word root_, stride_;
    std::vector<Word> root_rhs_;
    std::vector<std::vector<Word>> by_lhs_;
    SequenceInterner kernels_;
    std::vector<std::vector<std::pair<Word, Word>>> transitions_;
    std::vector<std::vector<Word>> complete_;
};

// Closes `sets` under `relation` (x related to y: sets[x] includes sets[y]) by strongly connected components, iteratively.
void digraph(const std::vector<std::vector<Word>>& relation, std::vector<TerminalSet>& sets) {
    const Word n = static_cast<Word>(sets.size());
    constexpr Word finished = 0x7fffffff;
    std::vector<Word> depth(n, 0), stack;
    struct Frame {
        Word x;
        std::size_t next;
        Word depth;
    };
    for (Word root = 0; root < n; ++root) {
        if (depth[root]) continue;
        std::vector<Frame> frames;
        auto enter = [&](Word x) {
            stack.push_back(x);
            depth[x] = static_cast<Word>(stack.size());
            frames.push_back({x, 0, depth[x]});
        };
        enter(root);
        while (!frames.empty()) {
            Frame& f = frames.back();
            if (f.next < relation[f.x].size()) {
                const Word y = relation[f.x][f.next];
                if (!depth[y]) {
                    enter(y);
                    continue;
                }
                ++f.next;
                depth[f.x] = std::min(depth[f.x], depth[y]);
                sets[f.x].merge(sets[y]);
                continue;
            }
            const Word x = f.x;
            if (depth[x] == f.depth) {
                Word top;
                do {
                    top = stack.back();
                    stack.pop_back();
                    depth[top] = finished;
                    if (top != x) sets[top] = sets[x];
                } while (top != x);
            }
            frames.pop_back();
        }
    }
}

std::vector<char> nullable_nonterminals(const GrammarTables& g) {
    std::vector<char> nullable(g.n_nonterminals);
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t p = 0; p < g.lhs.size(); ++p) {
            if (nullable[g.lhs[p]]) continue;
            const bool all = std::all_of(g.rhs[p].begin(), g.rhs[p].end(), [&](Word s) {
                return s >= g.n_terminals && nullable[s - g.n_terminals];
            });
            if (all) nullable[g.lhs[p]] = 1, changed = true;
        }
    }
    return nullable;
}

}  // namespace

LrTables build_lalr(const GrammarTables& g, ConflictPolicy policy) {
    const Lr0 lr0(g);
    const auto nullable = nullable_nonterminals(g);
    const Word n_terminals = g.n_terminals;

    // Nonterminal transitions (state, nonterminal), numbered.
    std::vector<std::pair<Word, Word>> moves;
    PairMap number;
    for (Word s = 0; s < lr0.n_states(); ++s)
        for (const auto& [symbol, to] : lr0.transitions(s))
            if (symbol >= n_terminals) {
                number.insert(s, symbol - n_terminals, static_cast<Word>(moves.size()));
                moves.emplace_back(s, symbol - n_terminals);
            }

    const auto n_states = static_cast<std::size_t>(lr0.n_states());
    if (moves.size() * ((n_terminals + 63) / 64) > kMaxLookaheadWords) throw LimitExceeded("words of LR lookaheads", kMaxLookaheadWords);
    if (n_states * (n_terminals + g.n_nonterminals) > kMaxCells) throw LimitExceeded("cells of LR tables", kMaxCells);

    std::vector<TerminalSet> follow(moves.size(), TerminalSet(n_terminals));
    std::vector<std::vector<Word>> reads(moves.size()), includes(moves.size());
    std::map<std::pair<Word, Word>, std::vector<Word>> lookback;  // (state, production) -> moves
    for (std::size_t m = 0; m < moves.size(); ++m) {
        const auto [state, a] = moves[m];
        const Word to = lr0.next(state, a + n_terminals);
        for (const auto& [symbol, unused] : lr0.transitions(to)) {
            if (symbol < n_terminals)
                follow[m].add(symbol);
            else if (nullable[symbol - n_terminals])
                reads[m].push_back(number.find(to, symbol - n_terminals));
        }
        for (Word p : lr0.productions_of(a)) {
            const auto rhs = lr0.rhs(p);
            std::size_t nullable_from = rhs.size();
            while (nullable_from > 0 && rhs[nullable_from - 1] >= n_terminals &&
                   nullable[rhs[nullable_from - 1] - n_terminals])
                --nullable_from;
            Word at = state;
            for (std::size_t i = 0; i < rhs.size(); ++i) {
                if (rhs[i] >= n_terminals && i + 1 >= nullable_from)
                    includes[number.find(at, rhs[i] - n_terminals)].push_back(static_cast<Word>(m));
                at = lr0.next(at, rhs[i]);
            }
            lookback[{at, p}].push_back(static_cast<Word>(m));
        }
    }
    digraph(reads, follow);
    digraph(includes, follow);

    LrTables t;
    t.n_states = lr0.n_states();
    t.n_terminals = n_terminals;
    t.n_nonterminals = g.n_nonterminals;
    t.lhs = g.lhs;
    for (const auto& r : g.rhs) t.length.push_back(static_cast<Word>(r.size()));
    t.accessing.assign(t.n_states, -1);
    t.gotos.assign(static_cast<std::size_t>(t.n_states) * g.n_nonterminals, -1);
    t.action_offsets.push_back(0);
    for (Word s = 0; s < t.n_states; ++s) {
        std::vector<std::vector<Word>> row(n_terminals);
        for (const auto& [symbol, to] : lr0.transitions(s)) {
            t.accessing[to] = symbol;
            if (symbol < n_terminals)
                row[symbol].push_back(shift_action(to));
            else
                t.gotos[static_cast<std::size_t>(s) * g.n_nonterminals + symbol - n_terminals] = to;
        }
        std::vector<std::vector<Word>> reductions(n_terminals);
        for (Word p : lr0.complete(s)) {
            if (p == lr0.root()) continue;
            TerminalSet lookahead(n_terminals);
            for (Word m : lookback[{s, p}]) lookahead.merge(follow[m]);
            for (Word a = 0; a < n_terminals; ++a)
                if (lookahead.has(a)) reductions[a].push_back(p);
        }
        for (Word a = 0; a < n_terminals; ++a) {
            auto& clash = reductions[a];
            if (policy == ConflictPolicy::lark && clash.size() > 1) {
                // Lark compares the two best priorities and refuses a tie, even where a shift would win anyway.
                std::stable_sort(clash.begin(), clash.end(),
                                 [&](Word x, Word y) { return g.priority[x] > g.priority[y]; });
                if (g.priority[clash[0]] == g.priority[clash[1]]) t.conflicts.push_back({s, a, clash});
                clash.resize(1);
            }
            if (policy == ConflictPolicy::lark && !row[a].empty() && !clash.empty()) {
                ++t.shift_reduce_resolved;
                clash.clear();
            }
            for (Word p : clash) row[a].push_back(reduce_action(p));
            t.actions.insert(t.actions.end(), row[a].begin(), row[a].end());
            if (t.actions.size() > kMaxActions) throw LimitExceeded("actions in LR tables", kMaxActions);
            t.action_offsets.push_back(static_cast<Word>(t.actions.size()));
        }
    }
    t.end_state = lr0.next(lr0.next(0, n_terminals + g.start), g.end_terminal());
    return t;
}

std::vector<Word> resting_states(const LrTables& t) {
    std::vector<Word> states;
    for (Word s = 0; s < t.n_states; ++s)
        if (s != t.end_state && t.accessing[s] < t.n_terminals) states.push_back(s);
    return states;
}

std::vector<std::vector<Word>> stack_predecessors(const LrTables& t) {
    std::vector<std::vector<Word>> below(t.n_states);
    for (Word s = 0; s < t.n_states; ++s) {
        for (Word a = 0; a < t.n_terminals; ++a)
            for (Word action : t.cell(s, a))
                if (!is_reduce(action)) below[action / 2].push_back(s);
        for (Word n = 0; n < t.n_nonterminals; ++n)
            if (const Word to = t.go_to(s, n); to >= 0) below[to].push_back(s);
    }
    for (auto& b : below) {
        sort_unique(b);
    }
    return below;
}

std::vector<Word> LrTables::to_words() const {
    WordWriter w;
    for (Word n : {n_states, n_terminals, n_nonterminals, start_state, end_state, shift_reduce_resolved}) w.put(n);
    for (const auto* v : {&action_offsets, &actions, &gotos, &lhs, &length, &accessing}) w.put(*v);
    w.put(static_cast<Word>(conflicts.size()));
    for (const Conflict& c : conflicts) {
        w.put(c.state);
        w.put(c.terminal);
        w.put(c.productions);
    }
    return w.take();
}

LrTables LrTables::from_words(std::span<const Word> words) {
    WordReader r(words);
    LrTables t;
    for (Word* n : {&t.n_states, &t.n_terminals, &t.n_nonterminals, &t.start_state, &t.end_state, &t.shift_reduce_resolved}) *n = r.word();
    for (auto* v : {&t.action_offsets, &t.actions, &t.gotos, &t.lhs, &t.length, &t.accessing}) *v = r.vector();
    const Word n = r.word();
    for (Word i = 0; i < n; ++i) {
        Conflict& c = t.conflicts.emplace_back();
        c.state = r.word();
        c.terminal = r.word();
        c.productions = r.vector();
    }
    r.end();
    return t;
}

}  // namespace psc
