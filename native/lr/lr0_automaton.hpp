// The LR(0) automaton of a grammar: states are sets of items, arcs are labelled with symbols.
//
// An item is an index of one flat array: every production has one for each symbol of its right-hand side and one for its end, so
// that moving the dot over a symbol adds one. A state is its kernel, the items that an arc leads to. Most kernels have one item,
// and an array maps the item to the state. States are numbered as they are first reached: from the start, arcs in the order of
// their symbols.
//
// Cost: linear in the items of all states, with a sort of each state's symbols. `target` is a binary search in the arcs of a state.
// Threads: immutable once made.
// Source: A. Aho, M. Lam, R. Sethi, J. Ullman, "Compilers", 2nd edition, 4.6.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/ids.hpp"

namespace psc {

// The productions of a grammar. Symbols are terminals, the last of which is the end of the text, then nonterminals.
struct Productions {
    Word n_terminals = 0;
    Word n_nonterminals = 0;
    Nonterminal start{0};
    std::vector<Nonterminal> lhs;  // per production
    std::vector<std::vector<Symbol>> rhs;
    std::vector<Word> priority;

    Terminal end_terminal() const { return {n_terminals - 1}; }
};

class Lr0Automaton {
public:
    // Throws LimitExceeded.
    explicit Lr0Automaton(const Productions& grammar);

    template <class Label>
    struct Arc {
        Label label;
        LrState to;
    };
    using Shift = Arc<Terminal>;
    using Goto = Arc<Nonterminal>;

    Word n_states() const { return static_cast<Word>(shift_offsets_.size()) - 1; }
    // The arcs of a state, sorted.
    std::span<const Shift> shifts(LrState s) const { return part(shifts_, shift_offsets_, s); }
    std::span<const Goto> gotos(LrState s) const { return part(gotos_, goto_offsets_, s); }
    // The complete productions of a state, sorted. The number after all productions stands for `start`, end of the text.
    std::span<const Production> complete(LrState s) const { return part(complete_, complete_offsets_, s); }

    // Those of all states, one state after the other, and where those of a state begin.
    std::span<const Shift> shifts() const { return shifts_; }
    std::span<const Goto> gotos() const { return gotos_; }
    std::span<const Production> complete() const { return complete_; }
    std::size_t first_goto(LrState s) const { return static_cast<std::size_t>(goto_offsets_[s.index()]); }
    std::size_t first_complete(LrState s) const { return static_cast<std::size_t>(complete_offsets_[s.index()]); }

    // The target of an arc, which the state must have.
    LrState target(LrState s, Terminal label) const { return find(shifts(s), label)->to; }
    // The index among all gotos of one that the state must have.
    std::size_t goto_at(LrState s, Nonterminal label) const {
        return static_cast<std::size_t>(find(gotos(s), label) - gotos_.data());
    }

private:
    class Builder;

    template <class T>
    static std::span<const T> part(const std::vector<T>& all, const std::vector<Word>& offsets, LrState s) {
        return {all.data() + offsets[s.index()], all.data() + offsets[s.index() + 1]};
    }
    template <class A, class Label>
    static const A* find(std::span<const A> arcs, Label label) {
        const A* first = arcs.data();
        std::size_t n = arcs.size();
        while (n > 1) {  // it is one of the n from `first` on
            const std::size_t half = n / 2;
            first += first[half].label <= label ? half : 0;
            n -= half;
        }
        return first;
    }

    std::vector<Shift> shifts_;
    std::vector<Goto> gotos_;
    std::vector<Production> complete_;
    std::vector<Word> shift_offsets_{0}, goto_offsets_{0}, complete_offsets_{0};  // per state, and one more
};

}  // namespace psc
