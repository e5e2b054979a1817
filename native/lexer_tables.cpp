#include "lexer_tables.hpp"

#include <map>

namespace psc {
namespace {

// Numbers what is met: the same for the same, from 0 on.
class Numbers {
public:
    // The number, and whether it is new.
    std::pair<Word, bool> of(Word id) {
        const auto [it, fresh] = numbers_.emplace(id, static_cast<Word>(numbers_.size()));
        return {it->second, fresh};
    }

private:
    std::map<Word, Word> numbers_;
};

class Storing {
public:
    Storing(Lexer& lexer, Word n_terminals) : lexer_(lexer), n_terminals_(n_terminals) { outputs_.of(0); }

    LexerTables tables() {
        const Word n_states = lexer_.n_states(), n_classes = lexer_.n_classes();
        std::vector<StoredTarget> next;
        std::vector<LexOutput> emit, ends;
        std::vector<FutureSet> futures;
        std::vector<Word> end_offsets{0};
        for (Word q = 0; q < n_states; ++q) {
            for (Word cls = 0; cls < n_classes; ++cls) {
                const LexArc arc = lexer_.arc(q, cls);
                next.push_back(StoredTarget::of(target(arc.target), n_states));
                emit.push_back(output(arc.output.v));
            }
            for (Word e : lexer_.at_end(q)) ends.push_back(output(e));
            end_offsets.push_back(static_cast<Word>(ends.size()));
            futures.push_back(future_set(lexer_.futures(q)));
        }
        std::vector<ByteClass> byte_class;
        for (const std::uint8_t c : lexer_.byte_class()) byte_class.push_back({c});
        const auto starts = ids_of<LexerState>(lexer_.starts_of_tops());
        LexerTables t;
        t.n_lexer_states = {n_states};
        t.n_byte_classes = {n_classes};
        t.byte_class = std::move(byte_class);
        t.emission_offsets = std::move(emission_offsets_);
        t.emission_symbols = std::move(emission_symbols_);
        t.condition_offsets = std::move(condition_offsets_);
        t.condition_states = std::move(condition_states_);
        t.start_of_top = std::vector<LexerState>(starts.begin(), starts.end());
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
    LexOutput output(Word id) {
        const auto [number, fresh] = outputs_.of(id);
        if (fresh) {
            for (Word symbol : lexer_.emission(id)) emission_symbols_.push_back(stored(symbol));
            emission_offsets_.push_back(static_cast<Word>(emission_symbols_.size()));
        }
        return {number};
    }

    OutputSymbol stored(Word symbol) {
        return lexer_.is_condition(symbol) ? OutputSymbol::of(condition(symbol), n_terminals_) : OutputSymbol{symbol};
    }

    // Numbered after the sets that follow in it.
    FutureSet future_set(Word set) {
        if (const auto known = future_numbers_.find(set); known != future_numbers_.end()) return known->second;
        const auto edges = lexer_.future_sets().edges(set);
        for (std::size_t i = 0; i < edges.size(); i += 2) future_set(edges[i + 1]);
        for (std::size_t i = 0; i < edges.size(); i += 2) {
            future_symbols_.push_back(stored(edges[i]));
            future_sets_.push_back(future_numbers_.at(edges[i + 1]));
        }
        future_offsets_.push_back(static_cast<Word>(future_sets_.size()));
        return future_numbers_.emplace(set, FutureSet{static_cast<Word>(future_numbers_.size())}).first->second;
    }

    Condition condition(Word symbol) {
        const auto [number, fresh] = conditions_.of(symbol);
        if (fresh) {
            const auto states = ids_of<LrState>(lexer_.condition(symbol));
            condition_states_.insert(condition_states_.end(), states.begin(), states.end());
            condition_offsets_.push_back(static_cast<Word>(condition_states_.size()));
        }
        return {number};
    }

    // With the branch's own number.
    LexTarget target(LexTarget to) {
        if (!to.is_branch()) return to;
        const auto [number, fresh] = branches_.of(to.branch().v);
        if (fresh) {
            const auto ways = lexer_.list(to.branch().v);
            for (std::size_t i = 0; i < ways.size(); i += 2) {
                branch_emit_.push_back(output(ways[i]));
                branch_next_.push_back({ways[i + 1]});
            }
            branch_offsets_.push_back(static_cast<Word>(branch_next_.size()));
        }
        return LexTarget::several({number});
    }

    Lexer& lexer_;
    Word n_terminals_;
    Numbers outputs_, conditions_, branches_;
    std::map<Word, FutureSet> future_numbers_{{SequenceSets::kNone, {0}}, {SequenceSets::kOne, {1}}};
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
