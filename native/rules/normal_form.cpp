#include "rules/normal_form.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/cancellation.hpp"
#include "base/components.hpp"
#include "base/grouped.hpp"
#include "base/intern.hpp"

namespace psc {

namespace {

constexpr std::size_t kMaxExpandedInPlace = 3;  // optional symbols of one right-hand side, to 2^3 productions

// Productions without optional symbols, each once, in the order of their making.
class Plain {
public:
    // A duplicate does not change the priority.
    void add(Nonterminal lhs, std::span<const DraftSymbol> rhs, Word priority) {
        stop_if_cancelled();
        key_.assign(1, lhs.v);
        for (DraftSymbol s : rhs) key_.push_back(s.v);
        if (keys_.intern(key_).second) priority_.push_back(priority);
    }

    Word size() const { return keys_.size(); }
    Nonterminal lhs(Word p) const { return {keys_[p][0]}; }
    std::span<const DraftSymbol> rhs(Word p) const { return ids_of<DraftSymbol>(keys_[p].subspan(1)); }
    Word priority(Word p) const { return priority_[static_cast<std::size_t>(p)]; }
    void add(const Plain& other, Word p) { add(other.lhs(p), other.rhs(p), other.priority(p)); }

private:
    SequenceInterner keys_;
    std::vector<Word> priority_, key_;
};

// Every choice of optional symbols, but for the one that leaves nothing.
Plain expanded(DraftProductions& productions) {
    Plain plain;
    std::vector<DraftSymbol> rhs;
    OptionalSymbols symbols;
    std::vector<std::size_t> optional;
    for (std::size_t i = 0; i < productions.n_rules(); ++i) {  // grows while it is read
        const DraftProductions::Rule rule = productions.rule(i);
        symbols.assign(rule.symbols.begin(), rule.symbols.end());
        optional.clear();
        for (std::size_t k = 0; k < symbols.size(); ++k)
            if (symbols[k].optional) optional.push_back(k);
        std::size_t n_optional = optional.size();
        if (n_optional > kMaxExpandedInPlace) {
            const std::size_t cut = optional[kMaxExpandedInPlace - 1];
            const Nonterminal rest = productions.fresh(productions.name(rule.lhs));
            const bool all_optional = n_optional - kMaxExpandedInPlace + 1 == symbols.size() - cut;
            productions.add(rest, std::span(symbols).subspan(cut), rule.priority);
            symbols.resize(cut);
            symbols.push_back({DraftSymbol::of(rest), all_optional});
            n_optional = kMaxExpandedInPlace - 1 + all_optional;
        }
        for (std::size_t choice = 0; choice < std::size_t{1} << n_optional; ++choice) {  // the bits: what is left out
            rhs.clear();
            std::size_t bit = n_optional;
            for (const OptionalSymbol& item : symbols)
                if (!item.optional || !(choice >> --bit & 1)) rhs.push_back(item.symbol);
            if (!rhs.empty()) plain.add(rule.lhs, rhs, rule.priority);
        }
    }
    return plain;
}

// The nonterminals that derive some text. Each production counts the nonterminals in it that are not known to derive one.
std::vector<char> productive(const Plain& plain, Word n) {
    std::vector<Word> missing(static_cast<std::size_t>(plain.size())), todo;
    const Grouped uses(static_cast<std::size_t>(n), [&](const auto& add) {
        for (Word p = 0; p < plain.size(); ++p)
            for (DraftSymbol s : plain.rhs(p))
                if (!s.is_terminal()) add(s.nonterminal().index(), p);
    });
    for (Word p = 0; p < plain.size(); ++p) {
        for (DraftSymbol s : plain.rhs(p)) missing[static_cast<std::size_t>(p)] += !s.is_terminal();
        if (missing[static_cast<std::size_t>(p)] == 0) todo.push_back(p);
    }
    std::vector<char> found(static_cast<std::size_t>(n));
    while (!todo.empty()) {
        const Nonterminal symbol = plain.lhs(todo.back());
        todo.pop_back();
        if (std::exchange(found[symbol.index()], 1)) continue;
        for (Word p : uses[symbol.index()])
            if (--missing[static_cast<std::size_t>(p)] == 0) todo.push_back(p);
    }
    return found;
}

// The productions that take part in deriving some text from the start.
Plain useful(const Plain& plain, const std::vector<char>& productive, Nonterminal start) {
    const Grouped of(productive.size(), [&](const auto& add) {
        for (Word p = 0; p < plain.size(); ++p) {
            const auto rhs = plain.rhs(p);
            if (std::all_of(rhs.begin(), rhs.end(),
                            [&](DraftSymbol s) { return s.is_terminal() || productive[s.nonterminal().index()]; }))
                add(plain.lhs(p).index(), p);
        }
    });
    std::vector<char> reached(productive.size());
    reached[start.index()] = 1;
    std::vector<Nonterminal> queue{start};
    Plain kept;
    for (std::size_t i = 0; i < queue.size(); ++i) {
        for (Word p : of[queue[i].index()]) {
            kept.add(plain, p);
            for (DraftSymbol s : plain.rhs(p))
                if (!s.is_terminal() && !std::exchange(reached[s.nonterminal().index()], 1)) queue.push_back(s.nonterminal());
        }
    }
    return kept;
}

// Nonterminals that derive each other alone derive the same texts: one of them represents all.
Plain without_unit_cycles(const Plain& plain, Word n, Nonterminal start) {
    std::vector<Word> from;
    std::vector<char> has_unit(static_cast<std::size_t>(n));
    const Grouped units(static_cast<std::size_t>(n), [&](const auto& add) {
        for (Word p = 0; p < plain.size(); ++p) {
            const auto rhs = plain.rhs(p);
            if (rhs.size() != 1 || rhs[0].is_terminal()) continue;
            if (!std::exchange(has_unit[plain.lhs(p).index()], 1)) from.push_back(plain.lhs(p).v);
            add(plain.lhs(p).index(), rhs[0].nonterminal().v);
        }
    });
    std::vector<Nonterminal> stands_for(static_cast<std::size_t>(n));
    for (Word i = 0; i < n; ++i) stands_for[static_cast<std::size_t>(i)] = {i};
    for (const auto& group : components(n, from, [&](Word s) { return units[static_cast<std::size_t>(s)]; })) {
        const bool has_start = std::find(group.begin(), group.end(), start.v) != group.end();
        const Nonterminal chosen{has_start ? start.v : *std::min_element(group.begin(), group.end())};  // the one made first
        for (Word s : group) stands_for[static_cast<std::size_t>(s)] = chosen;
    }
    Plain merged;
    std::vector<DraftSymbol> rhs;
    for (Word p = 0; p < plain.size(); ++p) {
        const Nonterminal lhs = stands_for[plain.lhs(p).index()];
        rhs.clear();
        for (DraftSymbol s : plain.rhs(p))
            rhs.push_back(s.is_terminal() ? s : DraftSymbol::of(stands_for[s.nonterminal().index()]));
        if (rhs.size() != 1 || rhs[0] != DraftSymbol::of(lhs)) merged.add(lhs, rhs, plain.priority(p));
    }
    return merged;
}

// From the start on, follows a needed symbol that derives nothing until one repeats.
NormalForm::Dead dead_way(const Plain& plain, const std::vector<char>& productive, Nonterminal start) {
    std::vector<Word> first(productive.size(), -1);  // per nonterminal, its first production
    for (Word p = plain.size(); p-- > 0;) first[plain.lhs(p).index()] = p;
    NormalForm::Dead dead{{start}, {}};
    std::vector<Word> position(productive.size(), -1);  // per nonterminal, in the way
    position[start.index()] = 0;
    while (first[dead.way.back().index()] >= 0) {
        const auto rhs = plain.rhs(first[dead.way.back().index()]);
        const auto needed = std::find_if(rhs.begin(), rhs.end(),
                                         [&](DraftSymbol s) { return !s.is_terminal() && !productive[s.nonterminal().index()]; });
        const Nonterminal next = needed->nonterminal();
        if (position[next.index()] >= 0) {
            dead.circle = static_cast<std::size_t>(position[next.index()]);
            break;
        }
        position[next.index()] = static_cast<Word>(dead.way.size());
        dead.way.push_back(next);
    }
    return dead;
}

std::vector<Nonterminal> unfinished(const DraftProductions& productions, const Plain& plain, std::vector<char> finished) {
    for (const OptionalSymbol& item : productions.symbols())
        if (item.optional && !item.symbol.is_terminal()) finished[item.symbol.nonterminal().index()] = 1;
    std::vector<char> has_one(finished.size());
    for (Word p = 0; p < plain.size(); ++p) has_one[plain.lhs(p).index()] = 1;
    std::vector<Nonterminal> found;
    for (std::size_t n = 0; n < finished.size(); ++n)
        if (has_one[n] && !finished[n]) found.push_back({static_cast<Word>(n)});
    return found;
}

}  // namespace

NormalForm normal_form(DraftProductions& productions, Word n_terminals, Nonterminal start, bool may_be_empty) {
    NormalForm out;
    const Plain all = expanded(productions);
    const std::vector<char> finished = productive(all, productions.size());
    if (!may_be_empty && !finished[start.index()]) {
        out.dead = dead_way(all, finished, start);
        return out;
    }
    out.unfinished = unfinished(productions, all, finished);
    const Plain plain = without_unit_cycles(useful(all, finished, start), productions.size(), start);
    std::vector<Word> number(static_cast<std::size_t>(productions.size()) + 1, -1);
    const auto add_nonterminal = [&](Nonterminal n) {
        if (number[n.index()] >= 0) return;
        number[n.index()] = static_cast<Word>(out.draft.size());
        out.draft.push_back(n);
    };
    Productions& g = out.grammar;
    g.n_terminals = n_terminals + 1;
    const auto add_production = [&](Nonterminal lhs, std::span<const DraftSymbol> rhs, Word priority) {
        g.lhs.push_back({number[lhs.index()]});
        g.priority.push_back(priority);
        auto& to = g.rhs.emplace_back();
        to.reserve(rhs.size());
        for (DraftSymbol s : rhs)
            to.push_back(s.is_terminal() ? Symbol::of(s.terminal())
                                         : Symbol::of(Nonterminal{number[s.nonterminal().index()]}, g.n_terminals));
    };
    const Nonterminal whole = start;
    if (may_be_empty) start = productions.named_like(std::string("$").append(productions.name(whole)));
    add_nonterminal(start);
    if (may_be_empty && plain.size() > 0) add_nonterminal(whole);
    for (Word p = 0; p < plain.size(); ++p) add_nonterminal(plain.lhs(p));
    if (may_be_empty) {
        // The empty production must not be used inside a text, so the start is a symbol that occurs in no right-hand side.
        const DraftSymbol one[] = {DraftSymbol::of(whole)};
        if (plain.size() > 0) add_production(start, one, 0);
        add_production(start, {}, 0);
    }
    for (Word p = 0; p < plain.size(); ++p) add_production(plain.lhs(p), plain.rhs(p), plain.priority(p));
    g.start = {number[start.index()]};
    g.n_nonterminals = static_cast<Word>(out.draft.size());
    return out;
}

std::pair<DraftProductions, bool> draft_of(const Productions& grammar, const std::vector<std::string>& nonterminals) {
    const std::size_t n = static_cast<std::size_t>(grammar.n_nonterminals);
    // The nonterminals that derive the empty text: the least fixpoint.
    std::vector<std::vector<std::size_t>> uses(n);
    std::vector<std::size_t> missing;
    std::vector<Nonterminal> todo;
    for (std::size_t p = 0; p < grammar.lhs.size(); ++p) {
        missing.push_back(grammar.rhs[p].size());
        if (grammar.rhs[p].empty()) todo.push_back(grammar.lhs[p]);
        for (Symbol s : grammar.rhs[p])
            if (!s.is_terminal(grammar.n_terminals)) uses[s.nonterminal(grammar.n_terminals).index()].push_back(p);
    }
    std::vector<char> nullable(n);
    while (!todo.empty()) {
        const Nonterminal symbol = todo.back();
        todo.pop_back();
        if (std::exchange(nullable[symbol.index()], 1)) continue;
        for (std::size_t p : uses[symbol.index()])
            if (--missing[p] == 0) todo.push_back(grammar.lhs[p]);
    }
    DraftProductions draft;
    for (const std::string& name : nonterminals) draft.named(name);
    for (std::size_t p = 0; p < grammar.lhs.size(); ++p) {
        OptionalSymbols symbols;
        for (Symbol s : grammar.rhs[p]) {
            if (s.is_terminal(grammar.n_terminals)) {
                symbols.push_back({DraftSymbol::of(s.terminal()), false});
            } else {
                const Nonterminal of = s.nonterminal(grammar.n_terminals);
                symbols.push_back({DraftSymbol::of(of), nullable[of.index()] != 0});
            }
        }
        draft.add(grammar.lhs[p], symbols, grammar.priority[p]);
    }
    return {std::move(draft), nullable[grammar.start.index()] != 0};
}

}  // namespace psc
