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
    void add(Terminal t) { bits[t.v >> 6] |= 1ULL << (t.v & 63); }
    bool has(Terminal t) const { return bits[t.v >> 6] >> (t.v & 63) & 1; }
    void merge(const TerminalSet& other) {
        for (std::size_t i = 0; i < bits.size(); ++i) bits[i] |= other.bits[i];
    }
};

// LR(0): states are interned kernels; an item is production * stride + dot.
class Lr0 {
public:
    Lr0(const Productions& g) : g_(g), root_(static_cast<Word>(g.lhs.size())) {
        stride_ = 3;
        for (const auto& r : g.rhs) stride_ = std::max<Word>(stride_, static_cast<Word>(r.size()) + 1);
        by_lhs_.resize(g.n_nonterminals);
        for (Word p = 0; p < root_; ++p) by_lhs_[g.lhs[p].index()].push_back({p});
        root_rhs_ = {Symbol::of(g.start, g.n_terminals), Symbol::of(g.end_terminal())};
        build();
    }

    std::span<const Symbol> rhs(Production p) const {
        return p.v == root_ ? std::span<const Symbol>(root_rhs_) : g_.rhs[p.index()];
    }
    Word n_states() const { return static_cast<Word>(transitions_.size()); }
    Production root() const { return {root_}; }
    const std::vector<std::pair<Symbol, LrState>>& transitions(LrState state) const { return transitions_[state.index()]; }
    const std::vector<Production>& complete(LrState state) const { return complete_[state.index()]; }
    const std::vector<Production>& productions_of(Nonterminal n) const { return by_lhs_[n.index()]; }

    // The transition is there: of a state that has an item with the symbol behind the dot.
    LrState next(LrState state, Symbol symbol) const {
        const auto& row = transitions(state);
        return std::lower_bound(row.begin(), row.end(), std::pair(symbol, LrState{-1}))->second;
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
                const auto r = rhs({items[i] / stride_});
                const Word dot = items[i] % stride_;
                if (dot == static_cast<Word>(r.size()) || r[dot].is_terminal(g_.n_terminals)) continue;
                const Nonterminal a = r[dot].nonterminal(g_.n_terminals);
                if (std::exchange(seen[a.index()], 1)) continue;
                for (Production p : by_lhs_[a.index()]) items.push_back(p.v * stride_);
            }
            n_items += items.size();
            if (n_items > kMaxItems) throw LimitExceeded("items of LR states", kMaxItems);
            std::map<Symbol, std::vector<Word>> moves;  // items
            std::vector<Production> done;
            for (Word item : items) {
                const Production p{item / stride_};
                const Word dot = item % stride_;
                const auto r = rhs(p);
                if (dot == static_cast<Word>(r.size()))
                    done.push_back(p);
                else
                    moves[r[dot]].push_back(item + 1);
            }
            std::vector<std::pair<Symbol, LrState>> row;
            for (auto& [symbol, kernel_items] : moves) {
                std::sort(kernel_items.begin(), kernel_items.end());
                row.emplace_back(symbol, LrState{kernels_.intern(kernel_items).first});
            }
            std::sort(done.begin(), done.end());
            transitions_.push_back(std::move(row));
            complete_.push_back(std::move(done));
        }
    }

    const Productions& g_;
    Word root_, stride_;
    std::vector<Symbol> root_rhs_;
    std::vector<std::vector<Production>> by_lhs_;
    SequenceInterner kernels_;
    std::vector<std::vector<std::pair<Symbol, LrState>>> transitions_;
    std::vector<std::vector<Production>> complete_;
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

std::vector<char> nullable_nonterminals(const Productions& g) {
    std::vector<char> nullable(g.n_nonterminals);
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t p = 0; p < g.lhs.size(); ++p) {
            if (nullable[g.lhs[p].index()]) continue;
            const bool all = std::all_of(g.rhs[p].begin(), g.rhs[p].end(), [&](Symbol s) {
                return !s.is_terminal(g.n_terminals) && nullable[s.nonterminal(g.n_terminals).index()];
            });
            if (all) nullable[g.lhs[p].index()] = 1, changed = true;
        }
    }
    return nullable;
}

// Calls f(state) for each of the first `n`.
template <class F>
void each_state(Word n, F f) {
    for (LrState s{0}; s.v < n; ++s.v) f(s);
}

}  // namespace

LalrTables build_lalr(const Productions& g, ConflictPolicy policy) {
    const Lr0 lr0(g);
    const auto nullable = nullable_nonterminals(g);
    const Word n_terminals = g.n_terminals;
    const auto is_nullable = [&](Symbol s) { return !s.is_terminal(n_terminals) && nullable[s.nonterminal(n_terminals).index()]; };

    // Nonterminal transitions (state, nonterminal), numbered.
    std::vector<std::pair<LrState, Nonterminal>> moves;
    PairMap number;
    each_state(lr0.n_states(), [&](LrState s) {
        for (const auto& [symbol, to] : lr0.transitions(s)) {
            if (symbol.is_terminal(n_terminals)) continue;
            const Nonterminal a = symbol.nonterminal(n_terminals);
            number.insert(s.v, a.v, static_cast<Word>(moves.size()));
            moves.emplace_back(s, a);
        }
    });
    const auto move = [&](LrState s, Symbol symbol) { return number.find(s.v, symbol.nonterminal(n_terminals).v); };

    const auto n_states = static_cast<std::size_t>(lr0.n_states());
    if (moves.size() * ((n_terminals + 63) / 64) > kMaxLookaheadWords)
        throw LimitExceeded("words of LR lookaheads", kMaxLookaheadWords);
    if (n_states * (n_terminals + g.n_nonterminals) > kMaxCells) throw LimitExceeded("cells of LR tables", kMaxCells);

    std::vector<TerminalSet> follow(moves.size(), TerminalSet(n_terminals));
    std::vector<std::vector<Word>> reads(moves.size()), includes(moves.size());
    std::map<std::pair<LrState, Production>, std::vector<Word>> lookback;  // -> moves
    for (std::size_t m = 0; m < moves.size(); ++m) {
        const auto [state, a] = moves[m];
        const LrState to = lr0.next(state, Symbol::of(a, n_terminals));
        for (const auto& [symbol, unused] : lr0.transitions(to)) {
            if (symbol.is_terminal(n_terminals))
                follow[m].add(symbol.terminal());
            else if (is_nullable(symbol))
                reads[m].push_back(move(to, symbol));
        }
        for (Production p : lr0.productions_of(a)) {
            const auto rhs = lr0.rhs(p);
            std::size_t nullable_from = rhs.size();
            while (nullable_from > 0 && is_nullable(rhs[nullable_from - 1])) --nullable_from;
            LrState at = state;
            for (std::size_t i = 0; i < rhs.size(); ++i) {
                if (!rhs[i].is_terminal(n_terminals) && i + 1 >= nullable_from)
                    includes[move(at, rhs[i])].push_back(static_cast<Word>(m));
                at = lr0.next(at, rhs[i]);
            }
            lookback[{at, p}].push_back(static_cast<Word>(m));
        }
    }
    digraph(reads, follow);
    digraph(includes, follow);

    LalrTables result;
    std::vector<Word> action_offsets{0};
    std::vector<Action> actions;
    std::vector<Maybe<LrState>> gotos(n_states * g.n_nonterminals);
    each_state(lr0.n_states(), [&](LrState s) {
        std::vector<std::vector<Action>> row(n_terminals);
        for (const auto& [symbol, to] : lr0.transitions(s)) {
            if (symbol.is_terminal(n_terminals))
                row[symbol.terminal().index()].push_back(Action::shift(to));
            else
                gotos[s.index() * g.n_nonterminals + symbol.nonterminal(n_terminals).index()] = to;
        }
        std::vector<std::vector<Production>> reductions(n_terminals);
        for (Production p : lr0.complete(s)) {
            if (p == lr0.root()) continue;
            TerminalSet lookahead(n_terminals);
            for (Word m : lookback[{s, p}]) lookahead.merge(follow[m]);
            for (Terminal a{0}; a.v < n_terminals; ++a.v)
                if (lookahead.has(a)) reductions[a.index()].push_back(p);
        }
        for (Terminal a{0}; a.v < n_terminals; ++a.v) {
            auto& cell = row[a.index()];
            auto& clash = reductions[a.index()];
            if (policy == ConflictPolicy::lark && clash.size() > 1) {
                // Lark compares the two best priorities and refuses a tie, even where a shift would win anyway.
                const auto priority = [&](Production p) { return g.priority[p.index()]; };
                std::stable_sort(clash.begin(), clash.end(), [&](Production x, Production y) { return priority(x) > priority(y); });
                if (priority(clash[0]) == priority(clash[1])) result.conflicts.push_back({s, a, clash});
                clash.resize(1);
            }
            if (policy == ConflictPolicy::lark && !cell.empty() && !clash.empty()) {
                ++result.shift_reduce_resolved;
                clash.clear();
            }
            for (Production p : clash) cell.push_back(Action::reduce(p));
            actions.insert(actions.end(), cell.begin(), cell.end());
            if (actions.size() > kMaxActions) throw LimitExceeded("actions in LR tables", kMaxActions);
            action_offsets.push_back(static_cast<Word>(actions.size()));
        }
    });
    std::vector<Word> rhs_offsets{0};
    std::vector<Symbol> rhs;
    for (const auto& r : g.rhs) {
        rhs.insert(rhs.end(), r.begin(), r.end());
        rhs_offsets.push_back(static_cast<Word>(rhs.size()));
    }
    LrTables& t = result.tables;
    t.n_terminals = {n_terminals};
    t.n_nonterminals = {g.n_nonterminals};
    t.n_lr_states = {lr0.n_states()};
    t.end_state = lr0.next(lr0.next({0}, Symbol::of(g.start, n_terminals)), Symbol::of(g.end_terminal()));
    t.production_lhs = g.lhs;
    t.rhs_offsets = std::move(rhs_offsets);
    t.rhs = std::move(rhs);
    t.action_offsets = std::move(action_offsets);
    t.actions = std::move(actions);
    t.gotos = std::move(gotos);
    return result;
}

std::vector<Maybe<Symbol>> accessing_symbols(const LrTables& t) {
    std::vector<Maybe<Symbol>> accessing(t.n_lr_states);
    each_state(t.n_lr_states, [&](LrState s) {
        for (Terminal a{0}; a.v < t.n_terminals; ++a.v)
            for (Action action : t.cell(s, a))
                if (action.is_shift()) accessing[action.state().index()] = Symbol::of(a);
        for (Nonterminal n{0}; n.v < t.n_nonterminals; ++n.v)
            if (const auto to = t.go_to(s, n)) accessing[(*to).index()] = Symbol::of(n, t.n_terminals);
    });
    return accessing;
}

std::vector<LrState> resting_states(const LrTables& t) {
    std::vector<LrState> states{{0}};
    for (Action action : t.actions)
        if (action.is_shift() && t.end_state != action.state()) states.push_back(action.state());
    sort_unique(states);
    return states;
}

StackPredecessors stack_predecessors(const LrTables& t) {
    StackPredecessors below(t.n_lr_states);
    each_state(t.n_lr_states, [&](LrState s) {
        for (Terminal a{0}; a.v < t.n_terminals; ++a.v)
            for (Action action : t.cell(s, a))
                if (action.is_shift()) below[action.state().index()].push_back(s);
        for (Nonterminal n{0}; n.v < t.n_nonterminals; ++n.v)
            if (const auto to = t.go_to(s, n)) below[(*to).index()].push_back(s);
    });
    for (auto& b : below) sort_unique(b);
    return below;
}

std::vector<Word> LalrTables::to_words() const {
    WordWriter w;
    put_table(w, tables);
    w.put(shift_reduce_resolved);
    w.put(static_cast<Word>(conflicts.size()));
    for (const Conflict& c : conflicts) {
        w.put(c.state.v);
        w.put(c.terminal.v);
        w.put(words_of(std::span<const Production>(c.productions)));
    }
    return w.take();
}

LalrTables LalrTables::from_words(std::span<const Word> words) {
    WordReader r(words);
    LalrTables t;
    take_table(r, t.tables);
    t.shift_reduce_resolved = r.word();
    const Word n = r.word();
    for (Word i = 0; i < n; ++i) {
        const LrState state{r.word()};
        const Terminal terminal{r.word()};
        t.conflicts.push_back({state, terminal, r.vector<Production>()});
    }
    r.end();
    return t;
}

}  // namespace psc
