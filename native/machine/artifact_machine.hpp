// A machine over the tables of an artifact: everything is there but the mask rows.
//
// The constructor takes untrusted tables: every length, index and number is checked before anything uses it (TableCheck), then what they
// mean together; a violation is a std::invalid_argument that names the array. After that, nothing needs a check.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "machine/engine.hpp"
#include "masks/composed_rows.hpp"

namespace psc {

struct ArtifactTables {
    LexerTables lexer;
    LrProductions lr;
    LrCells lr_cells;
    ClassifierTables classifier;
    TokenTables tokens;
    GivenTokens given;
    LeadTables leads{{}, {}, {}, std::vector<Word>{0}, {}, {}};  // without any where the classifier reads the stack for all
    WarmTables warm;                                             // empty where no texts were read
    WarmReadings readings;                                       // empty, unless that was with a classifier that is not closed
};

class ArtifactMachine : public Engine {
public:
    // `cache_limit`: bytes, 0 for none.
    ArtifactMachine(ArtifactTables tables, std::size_t cache_limit);

    // Whether its classifier is stored as well.
    bool is_closed() const { return !engine_cache()->growing; }
    // In which the classifier begins to read a stack.
    ClassifierState start_of_stacks() const { return classifier_.start; }
    // The names of rows that texts met before; see machine/warm_rows.hpp.
    const WarmTables& warm() const { return t_.warm; }
    const WarmReadings& warm_readings() const { return t_.readings; }

    std::size_t table_bytes() const override {
        return bytes_of_tables(t_.lexer, t_.lr, t_.lr_cells, t_.classifier, t_.leads, t_.tokens, t_.warm, t_.readings);
    }
    Word n_lexer_states() override { return t_.lexer.n_lexer_states; }
    Word n_conditions() override { return t_.lexer.condition_offsets.n_lists(); }
    std::span<const OutputSymbol> output(LexOutput id) const override { return t_.lexer.output(id); }
    std::span<const LexWay> ways(Branch branch) const override {
        const auto at = t_.lexer.branch_offsets[branch];
        return {ways_.data() + at.begin, at.size()};
    }
    std::span<const LrState> condition(OutputSymbol symbol) const override {
        return t_.lexer.condition(symbol.condition(lr_.n_terminals));
    }
    std::span<const LexOutput> at_end(LexerState state) override { return t_.lexer.ends_of(state); }
    FutureSet futures(LexerState state) override { return t_.lexer.futures[state]; }
    std::span<const FutureEdge> future_edges(FutureSet set) const override {
        const auto at = t_.lexer.future_offsets[set];
        return {future_edges_.data() + at.begin, at.size()};
    }

protected:
    struct Composed : EngineCache {
        using EngineCache::EngineCache;
        std::size_t bytes() const override { return EngineCache::bytes() + composed.bytes(); }
        ComposedRows composed;
    };

    std::shared_ptr<RowCache> new_cache() const override { return std::make_shared<Composed>(vocabulary_.size); }
    const ArtifactTables& tables() const { return t_; }

private:
    MaskRow compose(EngineCache& cache, LexerView view, std::span<const Word> members) override;

    void check() const;

    ArtifactTables t_;
    std::unique_ptr<std::atomic<PackedArc>[]> arcs_;
    std::vector<LexWay> ways_;              // of all branches, one after the other
    std::vector<FutureEdge> future_edges_;  // of all sets, one after the other
    std::vector<std::uint8_t> stop_;
    std::unique_ptr<ClassRows> class_rows_;  // not before the tables are checked
    // Scratch of compose().
    std::vector<char> wanted_labels_;  // zero between two calls
    std::vector<std::uint64_t> classes_;
};

}  // namespace psc
