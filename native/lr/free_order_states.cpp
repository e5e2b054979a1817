#include "lr/free_order_states.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/errors.hpp"

namespace psc {

// What every order needs of the tables, collected in one pass over them.
struct FreeOrderStates::Index {
    explicit Index(const LrTables& lr)
        : of_lhs(static_cast<std::size_t>(lr.n_nonterminals.n)), begun_by(of_lhs.size()), go_to(of_lhs.size()) {
        for (Production p{0}; p.index() < lr.production_lhs.size(); ++p.v) {
            if (lr.lhs(p).v >= lr.n_nonterminals.n || lr.symbols(p).empty()) continue;
            of_lhs[lr.lhs(p).index()].push_back(p);
            const Symbol first = lr.symbols(p)[0];
            if (!first.is_terminal(lr.n_terminals)) begun_by[first.nonterminal(lr.n_terminals).index()].push_back(p);
        }
        for (LrState s{0}; s.v < lr.n_lr_states.n; ++s.v)
            lr.each_arc(s, [&](Symbol symbol, LrState to) {
                if (symbol.is_terminal(lr.n_terminals)) return;
                auto& targets = go_to[symbol.nonterminal(lr.n_terminals).index()];
                if (targets.size() < 2 && (targets.empty() || targets[0] != to)) targets.push_back(to);
            });
    }
    std::vector<std::vector<Production>> of_lhs, begun_by;  // per nonterminal
    std::vector<std::vector<LrState>> go_to;                // per nonterminal where it leads; at most two are stored
};

FreeOrderStates::FreeOrderStates(LrTables lr, std::vector<FreeOrderSymbols> all)
    : lr_(std::move(lr)),
      n_states_(lr_.n_lr_states),
      n_productions_(static_cast<Word>(lr_.production_lhs.size())),
      n_nonterminals_(lr_.n_nonterminals) {
    const Index index(lr_);
    for (FreeOrderSymbols& symbols : all) add_order(std::move(symbols), index);
}

void FreeOrderStates::add_order(FreeOrderSymbols symbols, const Index& index) {
    const auto require = [](bool holds) {
        if (!holds) throw std::logic_error("the rules of members in any order are not as they should be");
    };
    Order& order = *orders_.emplace_back(std::make_unique<Order>(symbols.order));
    order.number = static_cast<Word>(orders_.size()) - 1;
    const auto only_goto = [&](Nonterminal nonterminal) {
        require(index.go_to[nonterminal.index()].size() == 1);
        return index.go_to[nonterminal.index()][0];
    };
    order.ready_symbol = symbols.ready;
    order.done_symbol = symbols.done;
    order.ready = only_goto(symbols.ready);
    order.done = only_goto(symbols.done);
    roles_.emplace(order.ready.v, Role{Kind::ready, &order});
    roles_.emplace(order.done.v, Role{Kind::done, &order});
    begun_.emplace(symbols.ready.v, &order);
    std::unordered_map<Word, MemberWay> way_of;  // by nonterminal
    for (const auto& way : symbols.ways) way_of.emplace(way.nonterminal.v, way.is);
    constexpr Word kLength = 2;
    for (Production p : index.begun_by[symbols.ready.index()]) {
        const auto rhs = lr_.symbols(p);
        require(rhs.size() == kLength && lr_.lhs(p) == symbols.done && !rhs[1].is_terminal(lr_.n_terminals));
        const Nonterminal nonterminal = rhs[1].nonterminal(lr_.n_terminals);
        const auto way = way_of.find(nonterminal.v);
        require(way != way_of.end());
        const auto after = lr_.plain_go_to(order.ready, nonterminal);
        require(after && roles_.emplace((*after).v, Role{Kind::after_member, &order, way->second, kLength}).second);
        const Word member = way->second.member;
        for (Terminal t : first_terminals(rhs[1], index)) require(order.first.emplace(t.v, member).first->second == member);
    }
    for (Production p : index.begun_by[symbols.done.index()]) {
        const auto rhs = lr_.symbols(p);
        require(rhs.size() == kLength);
        const bool is_comma = lr_.lhs(p) == symbols.ready;
        const Then then = is_comma ? Then::comma : Then::end;
        for (Terminal t : first_terminals(rhs[1], index)) require(order.then.emplace(t.v, then).first->second == then);
        if (!is_comma) continue;
        require(order.after_comma.v < 0);
        order.shifts_comma = rhs[1].is_terminal(lr_.n_terminals);
        if (order.shifts_comma) {
            const auto cell = lr_.cell(order.done, rhs[1].terminal());
            require(cell.size() == 1 && cell[0].is_shift());
            order.after_comma = cell[0].state();
        } else {
            const auto after = lr_.plain_go_to(order.done, rhs[1].nonterminal(lr_.n_terminals));
            require(static_cast<bool>(after));
            order.after_comma = *after;
        }
        require(roles_.emplace(order.after_comma.v, Role{Kind::after_comma, &order, {-1}, kLength}).second);
    }
    order.empty_set = set_of(order, order.order.none());
}

// The terminals that the texts of a symbol begin with; a grammar's normal form has no empty texts.
std::vector<Terminal> FreeOrderStates::first_terminals(Symbol symbol, const Index& index) const {
    std::vector<Symbol> todo{symbol};
    std::vector<Terminal> found;
    for (std::size_t i = 0; i < todo.size(); ++i) {
        if (todo[i].is_terminal(lr_.n_terminals)) {
            found.push_back(todo[i].terminal());
            continue;
        }
        for (Production p : index.of_lhs[todo[i].nonterminal(lr_.n_terminals).index()]) {
            const Symbol first = lr_.symbols(p)[0];
            if (std::find(todo.begin(), todo.end(), first) == todo.end()) todo.push_back(first);
        }
    }
    return found;
}

std::span<const Action> FreeOrderStates::cell(LrState state, Terminal terminal) const {
    const State& s = states_[at(state)];
    const Order& order = *s.role->of;
    const Set& set = sets_[static_cast<std::size_t>(s.set)];
    const auto plain = lr_.cell(s.plain, terminal);
    if (plain.empty()) return plain;
    switch (s.role->kind) {
        case Kind::ready:
            return set.next[static_cast<std::size_t>(order.first.at(terminal.v))] ? plain : std::span<const Action>();
        case Kind::done:
            if (order.then.at(terminal.v) == Then::end) return set.is_enough ? plain : std::span<const Action>();
            if (!set.may_continue) return {};
            return order.shifts_comma ? std::span(&s.own, 1) : plain;
        default:
            return {&s.own, 1};
    }
}

// Of the states of one open object, the one that is `ready` or `done` counts; states above it have the set, too.
Word FreeOrderStates::n_missing(LrState state) const {
    const State& s = states_[at(state)];
    const bool counts = s.role->kind == Kind::ready || s.role->kind == Kind::done;
    return counts ? sets_[static_cast<std::size_t>(s.set)].n_missing : 0;
}

Maybe<LrState> FreeOrderStates::go_to(LrState state, Nonterminal nonterminal) const {
    const State* from = state.v < n_states_ ? nullptr : &states_[at(state)];
    const LrState plain = from ? from->plain : state;
    if (nonterminal.v >= n_nonterminals_) {
        // Each of `ready` and `done` has one goto target in the plain tables; with the set it is the state of the nonterminal.
        const State& to = states_[at(nonterminal)];
        const Order& order = *to.role->of;
        const auto plain_to = lr_.plain_go_to(plain, to.role->kind == Kind::ready ? order.ready_symbol : order.done_symbol);
        return plain_to ? Maybe<LrState>(numbered(static_cast<Word>(at(nonterminal)))) : Maybe<LrState>();
    }
    const auto to = lr_.plain_go_to(plain, nonterminal);
    if (!to) return to;
    if (const auto order = begun_.find(nonterminal.v); order != begun_.end())
        return numbered(state_with(*to, order->second->empty_set));
    if (from && from->role->kind != Kind::after_comma && from->role->kind != Kind::after_member)
        if (const Role* role = role_of(*to); role && role->of == from->role->of) return numbered(state_with(*to, from->set));
    return to;
}

Word FreeOrderStates::state_with(LrState plain, Word set) const {
    if (const Word cached = numbers_.find(plain.v, set); cached >= 0) return cached;
    const std::scoped_lock lock(lock_);
    return made(plain, set);
}

Word FreeOrderStates::made(LrState plain, Word set) const {
    if (const Word cached = numbers_.find(plain.v, set); cached >= 0) return cached;
    const Role& role = roles_.at(plain.v);
    const Order& order = *role.of;
    State s{plain, set, &role, {}, {}};
    if (role.kind == Kind::after_member) {
        const Word more = set_of(order, order.order.with(sets_[static_cast<std::size_t>(set)].seen, role.way));
        s.lhs = {n_nonterminals_ + made(order.done, more)};
    } else if (role.kind == Kind::after_comma) {
        s.lhs = {n_nonterminals_ + made(order.ready, set)};
    } else if (role.kind == Kind::done && order.shifts_comma) {
        s.own = Action::shift(numbered(made(order.after_comma, set)));
    }
    const auto number = static_cast<Word>(states_.size());
    if (number >= kMaxStates - std::max({n_states_, n_productions_, n_nonterminals_}))
        throw LimitExceeded("sets of members in any order", kMaxStates);
    if (role.length > 0) s.own = Action::reduce({n_productions_ + number});
    states_.push_back(s);
    numbers_.insert(plain.v, set, number);
    return number;
}

Word FreeOrderStates::set_of(const Order& order, FreeOrder::Seen seen) const {
    const std::pair key(order.number, seen);
    if (const auto cached = set_numbers_.find(key); cached != set_numbers_.end()) return cached->second;
    Set set{std::move(seen), {}};
    set.next = order.order.next(set.seen);
    set.may_continue = std::any_of(set.next.begin(), set.next.end(), [](char may) { return may != 0; });
    set.is_enough = order.order.is_enough(set.seen);
    set.n_missing = order.order.n_missing(set.seen);
    set_bytes_ += sizeof(Set) + 2 * set.seen.size() * sizeof(Word) + set.next.size() + 64;
    sets_.push_back(std::move(set));
    const auto number = static_cast<Word>(sets_.size()) - 1;
    set_numbers_.emplace(key, number);
    return number;
}

std::size_t FreeOrderStates::bytes() const {
    const std::scoped_lock lock(lock_);
    return states_.size() * sizeof(State) + set_bytes_ + numbers_.bytes() + roles_.size() * (sizeof(Role) + 32);
}

}  // namespace psc
