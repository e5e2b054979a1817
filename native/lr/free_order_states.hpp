// LR states that know which members came, made when a stack reaches them.
//
// Members in any order are rules that do not say which came already:
//
//   ready ::= "{"  |  done ","        done ::= ready member          object ::= done "}"
//
// The LR automaton of these has one state on `ready` and one on `done`. The automaton of the grammar that spells out every set of
// members has the same states, once for every set, and so for the states in between: after a comma, after a member. A text visits
// at most as many sets as it has members, of the 2^n. So the tables hold the automaton of the small grammar, and a state with a set
// is a number beyond its states, assigned when a goto or a shift first leads there. It acts as its plain state does, less the
// members that may not come, the comma after which none can, and the end where something is missing. Its reductions are of
// productions and nonterminals beyond those of the tables, since what they lead to has a set, too.
//
// Readers of cells and gotos see an LR automaton that is larger than the stored one, and need not know: the classifier's states and
// mask rows are found and cached as for any other LR state.
//
// Members begin with different terminals. So the first terminal of a member says which member it is, and whether it is allowed.
//
// Cost: a lookup where the state exists; for a new set, linear in the members (lr/free_order.hpp). States are never dropped.
// Threads: any number; a new state is made under a lock, existing ones are read without.
// Tried and dropped: to write out all sets as rules. Eight members are 256 states, which is still what artifacts hold at most.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/concurrent.hpp"
#include "base/limits.hpp"
#include "lr/free_order.hpp"
#include "lr/tables.hpp"

namespace psc {

// The nonterminals of members in any order.
struct FreeOrderSymbols {
    Rule rule;  // of which `done` was made
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
    // For a state with a set.
    std::span<const Action> cell(LrState state, Terminal terminal) const;
    // For any state.
    Maybe<LrState> go_to(LrState state, Nonterminal nonterminal) const;
    // For a production with a set.
    Word length(Production production) const { return states_[at(production)].role->length; }
    Nonterminal lhs(Production production) const { return states_[at(production)].lhs; }
    // For a state with a set, see LrTables.
    Word n_missing(LrState state) const;
    std::size_t bytes() const;

private:
    enum class Kind { ready, done, after_comma, after_member };
    enum class Then : signed char { comma, end };
    struct Order;
    struct Index;
    // What a state of the tables that has sets is for.
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
        LrState ready{}, done{}, after_comma{-1};
        bool shifts_comma = false;             // the comma is a terminal
        std::unordered_map<Word, Word> first;  // of the terminals that a member begins with, which one
        std::unordered_map<Word, Then> then;   // of those that follow a member
        Word empty_set = -1;
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
    static constexpr Word kMaxStates = limit("free_order_states");

    std::size_t at(LrState s) const { return static_cast<std::size_t>(s.v - n_states_); }
    std::size_t at(Production p) const { return static_cast<std::size_t>(p.v - n_productions_); }
    std::size_t at(Nonterminal n) const { return static_cast<std::size_t>(n.v - n_nonterminals_); }
    void add_order(FreeOrderSymbols symbols, const Index& index);
    std::vector<Terminal> first_terminals(Symbol symbol, const Index& index) const;
    const Role* role_of(LrState plain) const {
        const auto found = roles_.find(plain.v);
        return found == roles_.end() ? nullptr : &found->second;
    }
    // The state with a set, by its index among these.
    Word state_with(LrState plain, Word set) const;
    Word made(LrState plain, Word set) const;
    Word set_of(const Order& order, FreeOrder::Seen seen) const;
    LrState numbered(Word state) const { return {n_states_ + state}; }

    LrTables lr_;
    Word n_states_, n_productions_, n_nonterminals_;
    std::vector<std::unique_ptr<Order>> orders_;
    std::unordered_map<Word, Role> roles_;          // by plain state
    std::unordered_map<Word, const Order*> begun_;  // by the nonterminal `ready`
    mutable std::mutex lock_;                       // for making states and sets
    mutable SharedPairMap numbers_;                 // by plain state and set
    mutable StableVector<State> states_;
    mutable StableVector<Set> sets_;
    mutable std::map<std::pair<Word, FreeOrder::Seen>, Word> set_numbers_;  // by order
    mutable std::size_t set_bytes_ = 0;
};

}  // namespace psc
