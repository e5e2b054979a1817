#include "lr/lr0_automaton.hpp"

#include <utility>

#include "base/cancellation.hpp"
#include "base/grouped.hpp"
#include "base/intern.hpp"
#include "base/limits.hpp"

namespace psc {
namespace {

constexpr std::size_t kMaxItems = limit("lr_items");

}  // namespace

class Lr0Automaton::Builder {
public:
    Builder(const Productions& g, Lr0Automaton& a) : a_(a), n_terminals_(g.n_terminals) {
        const auto n_productions = static_cast<Word>(g.lhs.size());
        first_items_ = Grouped(static_cast<std::size_t>(g.n_nonterminals), [&](const auto& add) {
            Word first = 0;
            for (std::size_t p = 0; p < g.lhs.size(); ++p) {
                add(g.lhs[p].index(), first);
                first += static_cast<Word>(g.rhs[p].size()) + 1;
            }
        });
        const auto add = [&](std::span<const Symbol> rhs, Word production) {
            for (Symbol s : rhs) after_dot_.push_back(s.v);
            after_dot_.push_back(~production);
        };
        for (Word p = 0; p < n_productions; ++p) add(g.rhs[static_cast<std::size_t>(p)], p);
        const auto root = static_cast<Word>(after_dot_.size());
        const Symbol whole[] = {Symbol::of(g.start, n_terminals_), Symbol::of(g.end_terminal())};
        add(whole, n_productions);
        alone_.assign(after_dot_.size(), -1);
        uses_.assign(static_cast<std::size_t>(n_terminals_ + g.n_nonterminals), {-1, 0});
        state_of({&root, 1});
    }

    void build() {
        std::size_t n_items = 0;
        for (Word state = 0; state < n_states(); ++state) {
            stop_if_cancelled();
            items_.assign(kernels_.begin() + kernel_offsets_[static_cast<std::size_t>(state)],
                          kernels_.begin() + kernel_offsets_[static_cast<std::size_t>(state) + 1]);
            close(state);
            n_items += items_.size();
            if (n_items > kMaxItems) throw LimitExceeded("items of LR states", kMaxItems);
            add_arcs();
        }
    }

private:
    Word n_states() const { return static_cast<Word>(kernel_offsets_.size()) - 1; }

    // Closes the items of a state. Collects the symbols after a dot, the number of items of each, and the complete productions.
    void close(Word state) {
        symbols_.clear();
        const std::size_t n_complete = a_.complete_.size();
        for (std::size_t i = 0; i < items_.size(); ++i) {
            const Word symbol = after_dot_[static_cast<std::size_t>(items_[i])];
            if (symbol < 0) {
                a_.complete_.push_back({~symbol});
                continue;
            }
            Use& use = uses_[static_cast<std::size_t>(symbol)];
            if (use.state == state) {
                ++use.n;
                continue;
            }
            use = {state, 1};
            symbols_.push_back(symbol);
            if (symbol < n_terminals_) continue;
            const auto first = first_items_[static_cast<std::size_t>(symbol - n_terminals_)];
            items_.insert(items_.end(), first.begin(), first.end());
        }
        std::sort(a_.complete_.begin() + static_cast<std::ptrdiff_t>(n_complete), a_.complete_.end());
        a_.complete_offsets_.push_back(static_cast<Word>(a_.complete_.size()));
    }

    // Each symbol leads to the items after it.
    void add_arcs() {
        std::sort(symbols_.begin(), symbols_.end());
        Word begin = 0;
        for (Word symbol : symbols_) begin += std::exchange(uses_[static_cast<std::size_t>(symbol)].n, begin);
        moved_.resize(static_cast<std::size_t>(begin));
        for (Word item : items_) {
            const Word symbol = after_dot_[static_cast<std::size_t>(item)];
            if (symbol >= 0) moved_[static_cast<std::size_t>(uses_[static_cast<std::size_t>(symbol)].n++)] = item + 1;
        }
        Word first = 0;
        for (Word symbol : symbols_) {
            const Word end = uses_[static_cast<std::size_t>(symbol)].n;
            const std::span kernel(moved_.data() + first, moved_.data() + end);
            std::sort(kernel.begin(), kernel.end());
            const LrState to = state_of(kernel);
            if (symbol < n_terminals_)
                a_.shifts_.push_back({{symbol}, to});
            else
                a_.gotos_.push_back({{symbol - n_terminals_}, to});
            first = end;
        }
        a_.shift_offsets_.push_back(static_cast<Word>(a_.shifts_.size()));
        a_.goto_offsets_.push_back(static_cast<Word>(a_.gotos_.size()));
    }

    LrState state_of(std::span<const Word> kernel) {
        if (kernel.size() == 1) {
            Word& state = alone_[static_cast<std::size_t>(kernel[0])];
            if (state < 0) state = new_state(kernel);
            return {state};
        }
        const auto [set, fresh] = sets_.intern(kernel);
        if (fresh) state_of_set_.push_back(new_state(kernel));
        return {state_of_set_[static_cast<std::size_t>(set)]};
    }
    Word new_state(std::span<const Word> kernel) {
        kernels_.insert(kernels_.end(), kernel.begin(), kernel.end());
        kernel_offsets_.push_back(static_cast<Word>(kernels_.size()));
        return n_states() - 1;
    }

    Lr0Automaton& a_;
    Word n_terminals_;
    std::vector<Word> after_dot_;                    // per item the symbol after the dot, or ~ the complete production
    Grouped<> first_items_;                          // per nonterminal, the first items of its productions
    std::vector<Word> kernels_, kernel_offsets_{0};  // items, per state
    std::vector<Word> alone_;                        // per item the state whose kernel it is, or -1
    SequenceInterner sets_;                          // kernels of several items
    std::vector<Word> state_of_set_;
    // Of the current state.
    struct Use {
        Word state;  // the last one with the symbol after a dot
        Word n;      // the number of such items; then the index in `moved_` of the next one
    };
    std::vector<Use> uses_;  // per symbol
    std::vector<Word> items_, symbols_, moved_;
};

Lr0Automaton::Lr0Automaton(const Productions& grammar) { Builder(grammar, *this).build(); }

}  // namespace psc
