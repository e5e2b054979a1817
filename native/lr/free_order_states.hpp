// LR states that know which members were there, made when a stack reaches them.
//
// Members in any order are rules that do not say which came already:
//
//   ready ::= "{"  |  done ","        done ::= ready member          object ::= done "}"
//
// The LR automaton of these has one state on `ready` and one on `done`. The automaton of the grammar that spells out every set of
// members has the same states, each once for every set, and so has what lies between: after a comma, after a member. A text visits at
// most as many sets as it has members, of the 2^n. So the tables hold the automaton of the small grammar, and a state with a set is a
// number beyond its states, given when a goto or a shift first leads there. What it does is what its plain state does, less the members
// that may not come, the comma after which none can, and the end where something is missing. Its reductions are of productions and
// nonterminals beyond those of the tables, since what they lead to has a set, too.
//
// Whoever asks for cells and gotos sees an LR automaton that is larger than what is stored, and needs not know: a stack classifier's
// states and the rows of masks are found and kept as for any other LR state.
//
// What comes first in a member tells which it is: so that terminal is allowed or not.
//
// Cost: of what is known a lookup; of a new set, linear in the members (lr/free_order.hpp). What was made stays.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/concurrent.hpp"
#include "lr/free_order.hpp"
#include "lr/tables.hpp"

namespace psc {

// The nonterminals of members in any order.
struct FreeOrderSymbols {
    Rule rule;  // that `done` was made of
    Nonterminal ready, done;
    struct Way {
        Nonterminal nonterminal;
        MemberWay is;
    };
    std::vector<Way> ways;  // those that have texts
    FreeOrder order;
};

class FreeOrderStates {
public:
    // `lr`: plain tables. Throws std::logic_error for rules that are not as they are written above.
    FreeOrderStates(LrTables lr, std::vector<FreeOrderSymbols> all);

    LrState plain(LrState state) const { return state.v < n_states_ ? state : states_[at(state)].plain; }
    // Of a state with a set.
    std::span<const Action> cell(LrState state, Terminal terminal) const;
    // Of any state.
    Maybe<LrState> go_to(LrState state, Nonterminal nonterminal) const;
    // Of a production with a set.
    Word length(Production production) const { return states_[at(production)].role->length; }
    Nonterminal lhs(Production production) const { return states_[at(production)].lhs; }
    // Of a state with a set, see LrTables.
    Word n_missing(LrState state) const;
    std::size_t bytes() const;

private:
    enum class Kind { ready, done, behind_comma, behind_member };
    enum class Then : signed char { comma, end };
    struct Order;
    struct Index;
    // A state of the tables that has a set.
    struct Role {
        Kind kind;
        const Order* of;
        MemberWay way{-1};  // behind_member
        Word length = 0;    // of the production that ends there
    };
    struct Order {
        explicit Order(FreeOrder order) : order(std::move(order)) {}
        Word number = 0;
        FreeOrder order;
        Nonterminal ready_symbol{}, done_symbol{};
        LrState ready{}, done{}, behind_comma{-1};
        bool shifts_comma = false;             // the comma is a terminal
        std::unordered_map<Word, Word> first;  // of the terminals that a member begins with, which one
        std::unordered_map<Word, Then> then;   // of those that stand behind a member
        Word nothing_seen = -1;
    };
    struct Set {
        FreeOrder::Seen seen;
        std::vector<char> next;
        bool may_continue = false, is_enough = false;
        Word n_missing = 0;
    };
    struct State {
        LrState plain{};
        Word set = -1;
        const Role* role = nullptr;
        Action own{};       // where it is not the plain one: a reduction to a nonterminal with a set, or the shift of a comma
        Nonterminal lhs{};  // of its reduction
    };
    static constexpr Word kMostStates = 1 << 26;

    std::size_t at(LrState s) const { return static_cast<std::size_t>(s.v - n_states_); }
    std::size_t at(Production p) const { return static_cast<std::size_t>(p.v - n_productions_); }
    std::size_t at(Nonterminal n) const { return static_cast<std::size_t>(n.v - n_nonterminals_); }
    void add_order(FreeOrderSymbols symbols, const Index& index);
    std::vector<Terminal> first_terminals(Symbol symbol, const Index& index) const;
    const Role* role_of(LrState plain) const {
        const auto found = roles_.find(plain.v);
        return found == roles_.end() ? nullptr : &found->second;
    }
    // The state with a set, by its place among all.
    Word state_with(LrState plain, Word set) const;
    Word made(LrState plain, Word set) const;
    Word set_of(const Order& order, FreeOrder::Seen seen) const;
    LrState numbered(Word state) const { return {n_states_ + state}; }

    LrTables lr_;
    Word n_states_, n_productions_, n_nonterminals_;
    std::vector<std::unique_ptr<Order>> orders_;
    std::unordered_map<Word, Role> roles_;          // by plain state
    std::unordered_map<Word, const Order*> begun_;  // by the nonterminal `ready`
    mutable std::mutex lock_;                       // of all that is made
    mutable SharedPairMap numbers_;                 // by plain state and set
    mutable StableVector<State> states_;
    mutable StableVector<Set> sets_;
    mutable std::map<std::pair<Word, FreeOrder::Seen>, Word> set_numbers_;  // by order
    mutable std::size_t set_bytes_ = 0;
};

}  // namespace psc
