#include "lexer/tables.hpp"

#include <map>

namespace psc {
namespace {

// Numbers ids from 0 on, in the order of first use.
template <class I>
class Numbers {
public:
    // The number, and whether it is new.
    std::pair<I, bool> of(I id) {
        const auto [it, fresh] = numbers_.emplace(id, I{static_cast<Word>(numbers_.size())});
        return {it->second, fresh};
    }

private:
    std::map<I, I> numbers_;
};

class Storing {
public:
    Storing(Lexer& lexer, Word n_terminals) : lexer_(lexer), n_terminals_(n_terminals) { outputs_.of({0}); }

    LexerTables tables() {
        const Word n_states = lexer_.n_states(), n_classes = lexer_.n_classes();
        std::vector<StoredTarget> next;
        std::vector<LexOutput> emit, ends;
        std::vector<FutureSet> futures;
        std::vector<Word> end_offsets{0};
        for (LexerState q{0}; q.v < n_states; ++q.v) {
            for (Word c = 0; c < n_classes; ++c) {
                const LexArc arc = lexer_.arc(q, {static_cast<std::uint8_t>(c)});
                next.push_back(StoredTarget::of(target(arc.target), n_states));
                emit.push_back(output(arc.output));
            }
            for (LexOutput o : lexer_.at_end(q)) ends.push_back(output(o));
            end_offsets.push_back(static_cast<Word>(ends.size()));
            futures.push_back(future_set(lexer_.futures(q)));
        }
        LexerTables t;
        t.n_lexer_states = {n_states};
        t.n_byte_classes = {n_classes};
        t.byte_class = std::vector<ByteClass>(lexer_.byte_class().begin(), lexer_.byte_class().end());
        t.emission_offsets = std::move(emission_offsets_);
        t.emission_symbols = std::move(emission_symbols_);
        t.condition_offsets = std::move(condition_offsets_);
        t.condition_states = std::move(condition_states_);
        t.start_of_top = lexer_.starts_of_tops();
        t.branch_offsets = std::move(branch_offsets_);
        t.branch_emit = std::move(branch_emit_);
        t.branch_next = std::move(branch_next_);
        t.lexer_next = std::move(next);
        t.lexer_emit = std::move(emit);
        t.end_offsets = std::move(end_offsets);
        t.ends = std::move(ends);
        t.future_offsets = std::move(future_offsets_);
        t.future_symbols = std::move(future_symbols_);
        t.future_sets = std::move(future_sets_);
        t.futures = std::move(futures);
        return t;
    }

private:
    LexOutput output(LexOutput id) {
        const auto [number, fresh] = outputs_.of(id);
        if (fresh) {
            for (OutputSymbol symbol : lexer_.output(id)) emission_symbols_.push_back(stored(symbol));
            emission_offsets_.push_back(static_cast<Word>(emission_symbols_.size()));
        }
        return number;
    }

    OutputSymbol stored(OutputSymbol symbol) {
        return lexer_.is_condition(symbol) ? OutputSymbol::of(condition(symbol), n_terminals_) : symbol;
    }

    // Numbered after the sets that follow in it.
    FutureSet future_set(FutureSet set) {
        if (const auto cached = future_numbers_.find(set); cached != future_numbers_.end()) return cached->second;
        const auto edges = lexer_.future_sets().edges(set);
        for (const FutureEdge& edge : edges) future_set(edge.then);
        for (const FutureEdge& edge : edges) {
            future_symbols_.push_back(stored(edge.symbol));
            future_sets_.push_back(future_numbers_.at(edge.then));
        }
        future_offsets_.push_back(static_cast<Word>(future_sets_.size()));
        return future_numbers_.emplace(set, FutureSet{static_cast<Word>(future_numbers_.size())}).first->second;
    }

    Condition condition(OutputSymbol symbol) {
        const auto [number, fresh] = conditions_.of(symbol.condition(n_terminals_));
        if (fresh) {
            const auto states = lexer_.condition(symbol);
            condition_states_.insert(condition_states_.end(), states.begin(), states.end());
            condition_offsets_.push_back(static_cast<Word>(condition_states_.size()));
        }
        return number;
    }

    // With the branch's own number.
    LexTarget target(LexTarget to) {
        if (!to.is_branch()) return to;
        const auto [number, fresh] = branches_.of(to.branch());
        if (fresh) {
            for (const LexWay& way : lexer_.ways(to.branch())) {
                branch_emit_.push_back(output(way.output));
                branch_next_.push_back(way.next);
            }
            branch_offsets_.push_back(static_cast<Word>(branch_next_.size()));
        }
        return LexTarget::several(number);
    }

    Lexer& lexer_;
    Word n_terminals_;
    Numbers<LexOutput> outputs_;
    Numbers<Condition> conditions_;
    Numbers<Branch> branches_;
    std::map<FutureSet, FutureSet> future_numbers_{{FutureSets::kNone, {0}}, {FutureSets::kOne, {1}}};
    std::vector<Word> emission_offsets_{0, 0}, condition_offsets_{0}, branch_offsets_{0}, future_offsets_{0, 0, 0};
    std::vector<OutputSymbol> future_symbols_;
    std::vector<FutureSet> future_sets_;
    std::vector<OutputSymbol> emission_symbols_;
    std::vector<LrState> condition_states_;
    std::vector<LexOutput> branch_emit_;
    std::vector<LexerState> branch_next_;
};

}  // namespace

LexerTables lexer_tables(Lexer& lexer, Word n_terminals) { return Storing(lexer, n_terminals).tables(); }

}  // namespace psc
