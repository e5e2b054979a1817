#include "machine/artifact_machine.hpp"

#include <algorithm>

#include "base/sorted.hpp"
#include "machine/warm_rows.hpp"

namespace psc {

namespace {

// Every list ascending, without repetitions.
template <class Index, class Pool, Word kLeast, class T>
void check_sorted(const char* name, const Offsets<Index, Pool, kLeast>& offsets, const Column<Pool, T>& column) {
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
        if (!is_ascending(column[offsets.range(i)])) TableCheck::fail(name, "is not sorted");
}

}  // namespace

// What the ids mean together, once each is in range.
void ArtifactMachine::check() const {
    const TableCheck in_range(t_.lexer, t_.lr, t_.lr_cells, t_.classifier, t_.leads, t_.tokens, t_.given, t_.warm, t_.readings);
    const LexerTables& lexer = t_.lexer;
    if (lexer.emission_offsets.at(1) != 0) TableCheck::fail("emission_offsets", "does not begin with the empty emission");
    // A restart reads the byte again from a start. A start that did so would never end.
    const auto restarts = [&](StoredTarget x) { return x.target(lexer.n_lexer_states).is_restart(); };
    if (!lexer.contextual() && std::any_of(lexer.lexer_next.begin(), lexer.lexer_next.end(), restarts))
        TableCheck::fail("lexer_next", "restarts without contexts");
    for (LexerState start : lexer.start_of_top)
        for (Word c = 0; c < lexer.n_byte_classes; ++c)
            if (restarts(lexer.lexer_next.at(start.index() * lexer.n_byte_classes + c)))
                TableCheck::fail("lexer_next", "restarts at a start");
    if (lexer.future_offsets.at(2) != 0) TableCheck::fail("future_offsets", "does not begin with the sets that need nothing");
    // A set that came again after itself would never end.
    for (FutureSet set{0}; set.v < lexer.future_offsets.n_lists(); ++set.v)
        for (FutureSet after : lexer.future_sets[lexer.future_offsets[set]])
            if (after >= set) TableCheck::fail("future_sets", "holds a set that is not before its own");
    const ClassifierTables& classifier = t_.classifier;
    check_sorted("arc_symbol", classifier.arc_offsets, classifier.arc_symbol);
    // A class that a set names over and over would make composing a row as long as the table is large.
    check_sorted("set_classes", classifier.set_offsets, classifier.set_classes);
    // So a lexer state has at most as many leads as there are terminals.
    const LeadTables& leads = t_.leads;
    for (std::size_t i = 1; i < leads.lead_states.size(); ++i) {
        if (leads.lead_states.at(i) < leads.lead_states.at(i - 1)) TableCheck::fail("lead_states", "is not sorted");
        if (leads.lead_states.at(i) == leads.lead_states.at(i - 1) && leads.lead_terminals.at(i) <= leads.lead_terminals.at(i - 1))
            TableCheck::fail("lead_terminals", "is not sorted within a lexer state");
    }
    check_warm(t_.warm, t_.readings);
}

ArtifactMachine::ArtifactMachine(ArtifactTables tables, std::size_t cache_limit) : t_(std::move(tables)) {
    check();
    lr_ = {t_.lr, t_.lr_cells};
    classifier_ = t_.classifier;
    const LexerTables& lexer = t_.lexer;
    const std::size_t n_arcs = lexer.lexer_next.size();
    arcs_ = std::make_unique<std::atomic<PackedArc>[]>(n_arcs);
    for (std::size_t i = 0; i < n_arcs; ++i)
        arcs_[i].store(pack({lexer.lexer_next.at(i).target(lexer.n_lexer_states), lexer.lexer_emit.at(i)}),
                       std::memory_order_relaxed);
    for (std::size_t i = 0; i < lexer.branch_next.size(); ++i) ways_.push_back({lexer.branch_emit.at(i), lexer.branch_next.at(i)});
    for (std::size_t i = 0; i < lexer.future_sets.size(); ++i)
        future_edges_.push_back({lexer.future_symbols.at(i), lexer.future_sets.at(i)});
    stored_rows_ = arcs_.get();
    n_byte_classes_ = lexer.n_byte_classes;
    std::copy(lexer.byte_class.begin(), lexer.byte_class.end(), byte_class_.begin());
    starts_of_tops_ = lexer.start_of_top;
    cache_limit_ = cache_limit;
    set_leads(t_.leads);
    const TokenTables& tokens = t_.tokens;
    const Word vocab_size = t_.given.vocab_size;
    class_rows_ = std::make_unique<ClassRows>(tokens, t_.classifier, t_.given);
    stop_.assign(vocab_size, 0);
    for (TokenId token : t_.given.stop_tokens) {
        stop_[token.index()] = 1;
        stop_tokens_.push_back(token);
    }
    vocabulary_ = {vocab_size, tokens.class_of_token.data(), tokens.class_offsets.data(), tokens.class_bytes.data(), stop_.data()};
    wanted_labels_.resize(t_.classifier.n_labels);
    classes_.resize(class_rows_->n_class_words());
    begin();
}

MaskRow ArtifactMachine::compose(EngineCache& cache, LexerView view, std::span<const Word> members) {
    const ClassifierTables& t = classifier_;
    const Word lead = view.v - t_.lexer.n_lexer_states;
    ClassSet always;
    std::span<const Label> labels;
    std::span<const ClassSet> sets;
    if (lead < 0) {
        const LexerState state{view.v};
        always = t.always[state];
        labels = t.meaning_labels[t.meaning_offsets[state]];
        sets = t.meaning_sets[t.meaning_offsets[state]];
    } else {
        always = t_.leads.lead_always[Lead{lead}];
        labels = t_.leads.lead_labels[t_.leads.lead_offsets[Lead{lead}]];
        sets = t_.leads.lead_sets[t_.leads.lead_offsets[Lead{lead}]];
    }
    std::fill(classes_.begin(), classes_.end(), 0);
    class_rows_->unite(always, classes_);
    for (Word label : members) wanted_labels_[label] = 1;
    for (std::size_t i = 0; i < labels.size(); ++i)
        if (wanted_labels_[labels[i].index()]) class_rows_->unite(sets[i], classes_);
    for (Word label : members) wanted_labels_[label] = 0;
    return static_cast<Composed&>(cache).composed.row(*class_rows_, cache.rows, classes_);
}

}  // namespace psc
