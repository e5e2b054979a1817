#include "lr/lalr.hpp"

#include <algorithm>
#include <bit>

#include "base/cancellation.hpp"
#include "base/grouped.hpp"
#include "base/limits.hpp"
#include "base/sorted.hpp"
#include "lr/lr0_automaton.hpp"
#include "tables/wire.hpp"

namespace psc {
namespace {

// Each bounds some seconds and some hundred megabytes: words of all lookahead sets; actions of all cells.
constexpr std::size_t kMaxLookaheadWords = limit("lookahead_words");
constexpr std::size_t kMaxActions = limit("lr_actions");

// Sets of terminals, one after the other.
class TerminalSets {
public:
    TerminalSets(std::size_t n, Word n_terminals) : n_words_(words_for(n_terminals)), bits_(n * n_words_) {}
    static std::size_t words_for(Word n_terminals) { return (static_cast<std::size_t>(n_terminals) + 63) / 64; }

    void add(std::size_t set, Terminal t) { bits_[set * n_words_ + (t.index() >> 6)] |= 1ULL << (t.v & 63); }
    std::size_t size(std::size_t set) const {
        std::size_t n = 0;
        for (std::size_t i = 0; i < n_words_; ++i) n += static_cast<std::size_t>(std::popcount(bits_[set * n_words_ + i]));
        return n;
    }
    bool has(std::size_t set, Terminal t) const { return bits_[set * n_words_ + (t.index() >> 6)] >> (t.v & 63) & 1; }
    void merge(std::size_t set, const TerminalSets& from, std::size_t other) {
        std::uint64_t* to = &bits_[set * n_words_];
        const std::uint64_t* more = &from.bits_[other * n_words_];
        for (std::size_t i = 0; i < n_words_; ++i) to[i] |= more[i];
    }
    void copy(std::size_t set, std::size_t other) { std::copy_n(&bits_[other * n_words_], n_words_, &bits_[set * n_words_]); }
    void clear(std::size_t set) { std::fill_n(&bits_[set * n_words_], n_words_, 0); }
    // Calls f(terminal) for the members of a set, in order.
    template <class F>
    void each(std::size_t set, const F& f) const {
        for (std::size_t i = 0; i < n_words_; ++i)
            for (std::uint64_t left = bits_[set * n_words_ + i]; left; left &= left - 1)
                f(Terminal{static_cast<Word>(i * 64) + std::countr_zero(left)});
    }

private:
    std::size_t n_words_;
    std::vector<std::uint64_t> bits_;
};

// That one set includes another.
struct Inclusion {
    Word set, included;
};

// Closes sets under a relation, by strongly connected components, iteratively.
void digraph(std::span<const Inclusion> pairs, TerminalSets& sets, Word n) {
    const Grouped relation(static_cast<std::size_t>(n), [&](const auto& add) {
        for (const Inclusion& p : pairs) add(static_cast<std::size_t>(p.set), p.included);
    });
    const auto included_in = [&](Word x) { return relation[static_cast<std::size_t>(x)]; };
    constexpr Word finished = 0x7fffffff;
    CancellationWatch watch;
    std::vector<Word> depth(static_cast<std::size_t>(n), 0), stack;
    struct Frame {
        Word x;
        std::size_t next;
        Word depth;
    };
    std::vector<Frame> frames;
    const auto depth_of = [&](Word x) -> Word& { return depth[static_cast<std::size_t>(x)]; };
    const auto enter = [&](Word x) {
        stack.push_back(x);
        depth_of(x) = static_cast<Word>(stack.size());
        frames.push_back({x, 0, depth_of(x)});
    };
    for (Word root = 0; root < n; ++root) {
        if (depth_of(root)) continue;
        if (included_in(root).empty()) {
            depth_of(root) = finished;
            continue;
        }
        enter(root);
        while (!frames.empty()) {
            watch.step();
            Frame& f = frames.back();
            const Word x = f.x;
            if (f.next < included_in(x).size()) {
                const Word y = included_in(x)[f.next];
                if (!depth_of(y)) {
                    enter(y);
                    continue;
                }
                ++f.next;
                depth_of(x) = std::min(depth_of(x), depth_of(y));
                sets.merge(static_cast<std::size_t>(x), sets, static_cast<std::size_t>(y));
                continue;
            }
            if (depth_of(x) == f.depth) {
                Word top;
                do {
                    top = stack.back();
                    stack.pop_back();
                    depth_of(top) = finished;
                    if (top != x) sets.copy(static_cast<std::size_t>(top), static_cast<std::size_t>(x));
                } while (top != x);
            }
            frames.pop_back();
        }
    }
}

std::vector<char> nullable_nonterminals(const Productions& g) {
    std::vector<char> nullable(static_cast<std::size_t>(g.n_nonterminals));
    CancellationWatch watch;
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t p = 0; p < g.lhs.size(); ++p) {
            watch.step();
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
    for (LrState s{0}; s.v < n; ++s.v) {
        stop_if_cancelled();
        f(s);
    }
}

// The lookaheads of each complete production of each state, in the order of Lr0Automaton::complete().
TerminalSets lookaheads(const Productions& g, const Lr0Automaton& lr0) {
    const std::span<const Lr0Automaton::Goto> gotos = lr0.gotos();
    if (gotos.size() * TerminalSets::words_for(g.n_terminals) > kMaxLookaheadWords)
        throw LimitExceeded("words of LR lookaheads", kMaxLookaheadWords);
    const auto nullable = nullable_nonterminals(g);
    const Grouped<Production> productions_of(static_cast<std::size_t>(g.n_nonterminals), [&](const auto& add) {
        for (std::size_t p = 0; p < g.lhs.size(); ++p) add(g.lhs[p].index(), Production{static_cast<Word>(p)});
    });
    std::vector<std::size_t> last(g.lhs.size());  // per production, the first symbol after which all may be empty
    for (std::size_t p = 0; p < g.lhs.size(); ++p) {
        const auto& rhs = g.rhs[p];
        std::size_t& i = last[p] = rhs.size();
        const auto may_be_empty = [&](Symbol s) {
            return !s.is_terminal(g.n_terminals) && nullable[s.nonterminal(g.n_terminals).index()];
        };
        while (i > 0 && may_be_empty(rhs[i - 1])) --i;
        if (i > 0) --i;
    }
    // Per goto, the terminals that can follow its nonterminal in the state that it leaves.
    TerminalSets follow(gotos.size(), g.n_terminals);
    struct Lookback {
        Word complete, of;  // a goto
    };
    std::vector<Lookback> lookback;
    std::vector<Inclusion> reads, includes;
    each_state(lr0.n_states(), [&](LrState state) {
        const std::size_t end = lr0.first_goto(state) + lr0.gotos(state).size();
        for (std::size_t m = lr0.first_goto(state); m < end; ++m) {
            const auto [nonterminal, to] = gotos[m];
            const Word number = static_cast<Word>(m);
            for (const auto& shift : lr0.shifts(to)) follow.add(m, shift.label);
            for (std::size_t i = 0; i < lr0.gotos(to).size(); ++i)
                if (nullable[lr0.gotos(to)[i].label.index()]) reads.push_back({number, static_cast<Word>(lr0.first_goto(to) + i)});
            for (Production p : productions_of[nonterminal.index()]) {
                const auto& rhs = g.rhs[p.index()];
                LrState at = state;
                for (std::size_t i = 0; i < rhs.size(); ++i) {
                    if (rhs[i].is_terminal(g.n_terminals)) {
                        at = lr0.target(at, rhs[i].terminal());
                        continue;
                    }
                    const std::size_t inner = lr0.goto_at(at, rhs[i].nonterminal(g.n_terminals));
                    if (i >= last[p.index()] && inner != m) includes.push_back({static_cast<Word>(inner), number});
                    at = gotos[inner].to;
                }
                const auto complete = lr0.complete(at);
                const auto position = std::lower_bound(complete.begin(), complete.end(), p) - complete.begin();
                lookback.push_back({static_cast<Word>(lr0.first_complete(at)) + static_cast<Word>(position), number});
            }
        }
    });
    if (!reads.empty()) digraph(reads, follow, static_cast<Word>(gotos.size()));
    digraph(includes, follow, static_cast<Word>(gotos.size()));
    TerminalSets before(lr0.complete().size(), g.n_terminals);
    CancellationWatch watch;
    for (const Lookback& l : lookback) {
        watch.step();
        before.merge(static_cast<std::size_t>(l.complete), follow, static_cast<std::size_t>(l.of));
    }
    return before;
}

}  // namespace

LalrTables build_lalr(const Productions& g, ConflictPolicy policy) {
    const Lr0Automaton lr0(g);
    const TerminalSets before = lookaheads(g, lr0);
    LalrTables result;
    TerminalSets used(1, g.n_terminals);
    const auto find_used = [&](LrState s) {
        const std::size_t first = lr0.first_complete(s), n = lr0.complete(s).size();
        used.clear(0);
        for (const auto& shift : lr0.shifts(s)) used.add(0, shift.label);
        for (std::size_t i = 0; i < n; ++i) used.merge(0, before, first + i);
    };
    // Each cell has an action, so too many cells are refused before any is made. Where the table grew as it was made, a row of 5,000
    // terminals moved 10^7 slots before it, for 0.13 s without a check.
    std::size_t n_cells = 0, n_slots = 0;
    each_state(lr0.n_states(), [&](LrState s) {
        find_used(s);
        n_cells += used.size(0);
        n_slots += LrTables::Cells::Builder::least_slots(used.size(0));
        if (n_cells > kMaxActions) throw LimitExceeded("actions in LR tables", kMaxActions);
    });
    LrTables::Cells::Builder cells(static_cast<std::size_t>(lr0.n_states()), n_slots);
    LrTables::Gotos::Builder gotos(static_cast<std::size_t>(lr0.n_states()));
    std::vector<Action> actions;
    actions.reserve(n_cells);
    CancellationWatch watch;
    // Of the current state.
    std::vector<LrTables::Cells::Entry> of_terminals;
    std::vector<LrTables::Gotos::Entry> of_nonterminals;
    std::vector<Production> clash;
    each_state(lr0.n_states(), [&](LrState s) {
        of_nonterminals.clear();
        for (const auto& [nonterminal, to] : lr0.gotos(s)) of_nonterminals.push_back({nonterminal.v, to});
        gotos.add(of_nonterminals);
        const auto shifts = lr0.shifts(s);
        const auto complete = lr0.complete(s);
        const std::size_t first = lr0.first_complete(s);
        find_used(s);
        of_terminals.clear();
        auto shift = shifts.begin();
        used.each(0, [&](Terminal a) {
            const auto begin = static_cast<Word>(actions.size());
            const bool shifted = shift != shifts.end() && shift->label == a;
            if (shifted) actions.push_back(Action::shift((shift++)->to));
            clash.clear();
            watch.step(complete.size());
            for (std::size_t i = 0; i < complete.size(); ++i)
                if (before.has(first + i, a)) clash.push_back(complete[i]);
            if (policy == ConflictPolicy::lark && clash.size() > 1) {
                // Lark compares the two best priorities and refuses a tie, even where a shift would win anyway.
                const auto priority = [&](Production p) { return g.priority[p.index()]; };
                std::stable_sort(clash.begin(), clash.end(), [&](Production x, Production y) { return priority(x) > priority(y); });
                if (priority(clash[0]) == priority(clash[1])) result.conflicts.push_back({s, a, clash});
                clash.resize(1);
            }
            if (policy == ConflictPolicy::lark && shifted && !clash.empty()) {
                ++result.shift_reduce_resolved;
                if (result.dropped.size() < kMaxDropped) result.dropped.push_back({s, a, clash});
                clash.clear();
            }
            if (policy == ConflictPolicy::keep_all && shifted)
                std::erase_if(clash, [&](Production p) { return g.priority[p.index()] == kGivesWay; });
            for (Production p : clash) actions.push_back(Action::reduce(p));
            of_terminals.push_back({a.v, LrTables::Cell::of(actions, {begin, static_cast<Word>(actions.size())})});
        });
        if (actions.size() > kMaxActions) throw LimitExceeded("actions in LR tables", kMaxActions);
        cells.add(of_terminals);
    });
    std::vector<Word> rhs_offsets{0};
    std::vector<Symbol> rhs;
    for (const auto& r : g.rhs) {
        rhs.insert(rhs.end(), r.begin(), r.end());
        rhs_offsets.push_back(static_cast<Word>(rhs.size()));
    }
    LrProductions t;
    t.n_terminals = {g.n_terminals};
    t.n_nonterminals = {g.n_nonterminals};
    t.n_lr_states = {lr0.n_states()};
    t.end_state = lr0.target(lr0.gotos()[lr0.goto_at({0}, g.start)].to, g.end_terminal());
    t.production_lhs = g.lhs;
    t.rhs_offsets = std::move(rhs_offsets);
    t.rhs = std::move(rhs);
    result.tables = {std::move(t), cells.take(), std::move(actions), gotos.take()};
    return result;
}

std::vector<Maybe<Symbol>> accessing_symbols(const LrTables& t) {
    std::vector<Maybe<Symbol>> accessing(static_cast<std::size_t>(t.n_lr_states.n));
    each_state(t.n_lr_states,
               [&](LrState s) { t.each_arc(s, [&](Symbol symbol, LrState to) { accessing[to.index()] = symbol; }); });
    return accessing;
}

std::vector<LrState> resting_states(const LrTables& t) {
    std::vector<char> shifted(static_cast<std::size_t>(t.n_lr_states.n));
    shifted[0] = 1;
    for (Action action : t.actions())
        if (action.is_shift() && t.end_state != action.state()) shifted[action.state().index()] = 1;
    std::vector<LrState> states;
    each_state(t.n_lr_states, [&](LrState s) {
        if (shifted[s.index()]) states.push_back(s);
    });
    return states;
}

StackPredecessors::StackPredecessors(const LrTables& t) {
    std::vector<Maybe<LrState>> last(static_cast<std::size_t>(t.n_lr_states.n));
    states_ = Grouped<LrState>(last.size(), [&](const auto& add) {
        std::fill(last.begin(), last.end(), Maybe<LrState>());
        each_state(t.n_lr_states, [&](LrState s) {
            t.each_arc(s, [&](Symbol, LrState to) {
                if (std::exchange(last[to.index()], s) != s) add(to.index(), s);
            });
        });
    });
}

std::vector<Word> arcs_of(const LrTables& t) {
    std::vector<Word> arcs;
    each_state(t.n_lr_states, [&](LrState s) {
        t.each_arc(s, [&](Symbol symbol, LrState to) { arcs.insert(arcs.end(), {s.v, symbol.v, to.v}); });
    });
    return arcs;
}

std::vector<Word> LalrTables::to_words() const {
    WordWriter w;
    put_table(w, static_cast<const LrProductions&>(tables));
    put_table(w, tables.stored());
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
    LrProductions productions;
    LrCells cells;
    take_table(r, productions);
    take_table(r, cells);
    t.tables = {std::move(productions), cells};
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
