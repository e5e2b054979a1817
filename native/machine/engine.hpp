// The engine of one grammar over one vocabulary: its lexer, LR tables and stack classifier, and the mask rows composed from them.
//
// An engine is either an artifact's tables (machine/artifact_machine.hpp), complete when it is made, or is built on first visit
// (machine/lazy_machine.hpp), or has a stored lexer and a classifier that is built on first visit (machine/partly_closed_machine.hpp).
// All are read through the same functions, by the same matcher: a look-up in a table or in a map. Only what is not there takes another
// way: LexerVisits and the cache's GrowingClassifier build it under the machine's lock. An engine has none of what it has stored.
//
// The engine, its cache and its policy are three values. The engine is what the grammar is; it stays. An EngineCache is what a limit on
// memory bounds: rows and, of an engine that is built on first visit, the classifier as far as it is built. Each function that uses
// one is given it. ReadingPolicy says when the classifier is used at all.
//
// Cost in the steady state: a look-up for each byte lexed, each LR action and each stack symbol read, and two for each mask.
//
// Tried and dropped: one class with the cache's members, the policy and the stop sets in it, of which each kind of machine refused a
// part with an exception.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/concurrent.hpp"
#include "base/interned.hpp"
#include "base/work.hpp"
#include "classifier/classifier.hpp"
#include "lexer/lexer.hpp"
#include "lr/tables.hpp"
#include "machine/known_steps.hpp"
#include "machine/machine.hpp"
#include "machine/read_rows.hpp"
#include "machine/reading_policy.hpp"

namespace psc {

class VocabularyIndex;
struct LexemeFragment;

// A classifier as far as stacks have asked for it, over sequences that are there or are found meanwhile.
struct GrowingClassifier {
    // Refers to what it is given, not any more when it is destroyed.
    GrowingClassifier(const LrTables& lr, const StackPredecessors& below, const SequenceTrie& sequences, Work& work)
        : trie(sequences), allowance(work), classifier(lr, below, sequences, work) {}
    const SequenceTrie& trie;
    Work& allowance;  // lent by the call that builds
    Classifier classifier;
};

class EngineCache : public RowCache {
public:
    explicit EngineCache(Word vocab_size) : RowCache(vocab_size) { gathered.intern({}); }
    std::size_t bytes() const override;

    KnownSteps steps;  // that texts have made
    SharedIdMap<Gathered, EmissionSet, Gathered> unions;
    SharedIdMap<LexerView, Gathered, MaskRow> row_ids;
    Interned<Gathered, Word> gathered;  // by their members, sorted; under the lock
    // The rest is of an engine that is built on first visit. Views: by the lexer state with 0, or with 1 + the LR state on top.
    SharedIdMap<LexerState, Word, LexerView> views;
    StableVector<ClassifierState> starts;  // per view
    SharedIdMap<ClassifierState, LrState, ArcId> arc_ids;
    StableVector<Transition> arcs;
    std::unique_ptr<GrowingClassifier> growing;  // null: the classifier is stored
    ReadingPolicy::Counts read_counts;
    ReadRows read_rows;
    std::size_t read_bytes = 0;  // of rows from read_row(); under the lock
};

// What an engine builds of its lexer, and of what tokens do there, where something is visited first. Each takes the machine's lock. The
// caller's `work` pays for it.
class LexerVisits {
public:
    virtual LexArc build_lex_arc(LexerState state, ByteClass byte_class, Work& work) = 0;
    virtual LexerState narrow(LexerState state, LrState top, Work& work) = 0;  // `top`: plain
    virtual bool is_extensible(LexerState state) = 0;
    virtual LexerState find_alike(LexerState state) = 0;
    virtual LexerView build_view(EngineCache& cache, LexerState lexer_state, LrState top, Work& work) = 0;
    // Of a lexer state what tokens do inside the lexeme that is open; null where that is of little use.
    virtual const LexemeFragment* fragment(LexerState state, Work& work) = 0;

protected:
    ~LexerVisits() = default;
};

class Engine : public Machine {
public:
    const LrTables& lr() const { return lr_; }
    const std::array<ByteClass, 256>& byte_class() const { return byte_class_; }
    std::shared_ptr<EngineCache> engine_cache() const { return std::static_pointer_cast<EngineCache>(cache()); }
    std::size_t table_bytes() const override { return lr_.bytes(); }
    bool is_text(TokenId token) const override;

    // The lexer.
    LexerState start_of(LrState top) const { return contextual() ? starts_of_tops_[top] : LexerState{0}; }
    bool contextual() const { return !starts_of_tops_.empty(); }
    Word n_byte_classes() const { return n_byte_classes_; }
    virtual Word n_lexer_states() = 0;  // those built so far
    LexArc lex(LexerState state, ByteClass byte_class, Work& work) {
        const LexArc arc = unpack(lexer_row(state)[byte_class.index()].load(std::memory_order_acquire));
        return !arc.target.is_unknown() ? arc : lexer_visits_->build_lex_arc(state, byte_class, work);
    }
    // The state without what a lexeme that is open cannot become, as the parser cannot take it with this LR state on top. Most states of
    // a lexer that reads many alternatives at once have one or two that matter: they are the same in many contexts.
    LexerState narrowed(LexerState state, LrState top, Work& work) {
        if (!narrows_ || state.v == 0) return state;
        top = lr_.plain(top);
        const auto cached = narrowed_.find(state, top);
        return cached ? *cached : lexer_visits_->narrow(state, top, work);
    }
    // Whether the lexeme that is open in the state can be longer than it is; false where that is not stored.
    bool is_extensible(LexerState state) { return lexer_visits_ && lexer_visits_->is_extensible(state); }
    // The state whose masks are those of this one: of many that differ in how long a text is, as long as no token meets a bound.
    LexerState alike(LexerState state) {
        if (!counts_ || state.v == 0) return state;
        const auto cached = alike_.find(state, kAnyTop);
        return cached ? *cached : lexer_visits_->find_alike(state);
    }
    // The same without building.
    Maybe<LexerState> cached_alike(LexerState state) const {
        return counts_ && state.v != 0 ? alike_.find(state, kAnyTop) : Maybe<LexerState>(state);
    }
    bool is_condition(OutputSymbol symbol) const { return symbol.is_condition(lr_.n_terminals); }
    virtual std::span<const OutputSymbol> output(LexOutput id) const = 0;
    virtual std::span<const LexWay> ways(Branch branch) const = 0;
    virtual Word n_conditions() = 0;                                            // those built so far
    virtual std::span<const LrState> condition(OutputSymbol symbol) const = 0;  // sorted
    virtual std::span<const LexOutput> at_end(LexerState state) = 0;
    // F(q): a set of symbol sequences, one of which must be viable; the sets that follow one in it have smaller numbers.
    virtual FutureSet futures(LexerState state) = 0;
    virtual std::span<const FutureEdge> future_edges(FutureSet set) const = 0;
    static constexpr FutureSet kNothingNeeded{SequenceSets::kOne};  // the set of the empty sequence alone

    // The classifier. What has to be built for it is paid for by the caller's `work`; the functions that are given none build nothing.
    struct Start {
        ClassifierState state;  // in which reading begins, at the top of the stack
        LexerView view;         // that the rows for what is read are of
    };
    std::optional<Start> cached_start(const EngineCache& cache, LexerState lexer_state, LrState top) const {
        if (!lexer_visits_) return Start{classifier_.start, {lexer_state.v}};
        auto view = cache.views.find(lexer_state, kAnyTop);
        if (!view) view = cache.views.find(lexer_state, only(lr_.plain(top)));
        if (!view) return {};
        return Start{cache.starts[(*view).index()], *view};
    }
    Start start(EngineCache& cache, LexerState lexer_state, LrState top, Work& work) {
        if (const auto cached = cached_start(cache, lexer_state, top)) return *cached;
        const LexerView view =
            build_or_retire(cache, [&] { return lexer_visits_->build_view(cache, lexer_state, lr_.plain(top), work); });
        return {cache.starts[view.index()], view};
    }
    // False where no stack of the grammar leads.
    std::optional<bool> cached_transition(const EngineCache& cache, ClassifierState state, LrState symbol, Transition& out) const {
        if (!cache.growing) return stored_transition(state, symbol, out);
        const auto cached = cache.arc_ids.find(state, symbol);
        if (!cached) return {};
        out = cache.arcs[cached.v];
        return true;
    }
    bool transition(EngineCache& cache, ClassifierState state, LrState symbol, Transition& out, Work& work) {
        if (const auto leads = cached_transition(cache, state, symbol, out)) return *leads;
        out = build_or_retire(cache, [&] { return build_transition(cache, state, symbol, work); });
        return true;
    }
    // What was gathered, with one emission more. Different emissions may hold the same.
    Gathered with_emission(EngineCache& cache, Gathered set, EmissionSet emission) {
        const auto cached = cache.unions.find(set, emission);
        return cached ? *cached : build_or_retire(cache, [&] { return make_union(cache, set, emission); });
    }
    MaskRow row(EngineCache& cache, LexerView view, Gathered emissions) {
        const auto cached = cache.row_ids.find(view, emissions);
        return cached ? *cached : build_or_retire(cache, [&] { return make_row(cache, view, emissions); });
    }

    // The leads of a lexer state (classifier/leads.hpp): a mask has the tokens of each that the stack takes as well.
    struct StateLead {
        Terminal terminal;  // that is shifted before the stack is read
        LexerView view;     // that the rows for what is read then are of
    };
    std::span<const StateLead> leads(LexerState state) const {
        if (leads_.empty()) return {};
        const Word begin = lead_offsets_[state.index()];
        return {leads_.data() + begin, static_cast<std::size_t>(lead_offsets_[state.index() + 1] - begin)};
    }

    // The sequences of terminals that an emission says are viable, without their conditions, and without what a leaf of sets stands for.
    // A closed artifact does not keep them.
    std::vector<std::vector<Terminal>> emitted_sequences(const EngineCache& cache, EmissionSet set) const;

    // The tokens as a trie, where masks can be found by reading them (matcher/tokens.cpp); null: by the classifier alone.
    const VocabularyIndex* index() const { return readable_; }
    const LexemeFragment* fragment(LexerState state, Work& work) { return lexer_visits_->fragment(state, work); }
    ReadingPolicy& reading() { return reading_; }
    const ReadingPolicy& reading() const { return reading_; }
    // Whether tokens are read for one more mask in a lexer state under this top, as nothing is classified there and few were.
    bool reads_here(EngineCache& cache, LexerState state, LrState top) {
        return !cached_start(cache, state, top) && reading_.reads_here(cache.read_counts, state);
    }
    // The row with these bits, found by reading.
    MaskRow read_row(EngineCache& cache, MaskRows::Bits& words);
    // Caches it for wherever `answer` gives the same to what was `asked`, see ReadRows.
    template <class Answer>
    bool keep_read_row(EngineCache& cache, std::vector<ReadRows::Question> asked, const Answer& answer, MaskRow row) {
        const PatientLock lock(lock_);
        return cache.read_rows.add(std::move(asked), answer, row);
    }

    // Caches a step for all matchers of the cache, or, where it was not found out, that it need not be tried again. Not while a thread
    // builds: the step is made again soon.
    void keep_step(EngineCache& cache, const KnownSteps::Step& step, bool is_described);
    // Whether it does; those that are cached already stay.
    bool keeps_steps() const { return keeps_steps_.load(std::memory_order_relaxed); }
    void set_keeps_steps(bool keeps) { keeps_steps_.store(keeps, std::memory_order_relaxed); }

protected:
    Engine() = default;
    // The keys of views.
    static constexpr Word kAnyTop = 0;
    static constexpr Word only(LrState top) { return top.v + 1; }

    std::shared_ptr<RowCache> new_cache() const override { return std::make_shared<EngineCache>(vocabulary_.size); }
    // The row of what was emitted on the way down a stack. `members`: of all the sets visited.
    virtual MaskRow compose(EngineCache& cache, LexerView view, std::span<const Word> members) = 0;

    // Of a stored engine, once its lexer is there.
    void set_leads(const LeadTables& tables);

    LrTables lr_;
    std::array<ByteClass, 256> byte_class_{};
    const VocabularyIndex* readable_ = nullptr;  // see index()
    Column<LrState, LexerState, Presence::optional> starts_of_tops_;
    // Lexer rows: of an artifact, one after the other; else those of a lexer.
    const std::atomic<PackedArc>* stored_rows_ = nullptr;
    const Lexer* lexer_ = nullptr;
    Word n_byte_classes_ = 0;
    bool narrows_ = false;  // whether narrow() may give other states
    SharedIdMap<LexerState, LrState, LexerState> narrowed_;
    bool counts_ = false;  // whether alike() may give other states
    SharedIdMap<LexerState, Word, LexerState> alike_;
    LexerVisits* lexer_visits_ = nullptr;  // null: all is stored
    ClassifierTables classifier_;          // of a stored lexer; its arcs, of a classifier that is stored
    ReadingPolicy reading_;
    std::atomic<bool> keeps_steps_{true};

private:
    const std::atomic<PackedArc>* lexer_row(LexerState state) const {
        return stored_rows_ ? stored_rows_ + state.index() * static_cast<std::size_t>(n_byte_classes_) : lexer_->row(state);
    }
    bool stored_transition(ClassifierState state, LrState symbol, Transition& out) const;
    Transition build_transition(EngineCache& cache, ClassifierState state, LrState symbol, Work& work);
    // Adds the members of a set: SequenceNodes (of a classifier that grows) or Labels (of one that is stored).
    void add_members(const EngineCache& cache, EmissionSet set, std::vector<Word>& out) const;
    // If `build` throws (a limit, no memory), the cache may be half updated: it is retired. Where only the allowance was used up, it
    // is not.
    template <class F>
    [[gnu::noinline, gnu::cold]] std::invoke_result_t<F> build_or_retire(EngineCache& cache, F build) {
        try {
            return build();
        } catch (const OutOfWork&) {
            const PatientLock lock(lock_);
            limit(cache);
            throw;
        } catch (...) {
            retire(cache);
            throw;
        }
    }
    std::vector<Word> lead_offsets_;  // per lexer state; empty where there are none
    std::vector<StateLead> leads_;

    Gathered make_union(EngineCache& cache, Gathered set, EmissionSet emission);
    MaskRow make_row(EngineCache& cache, LexerView view, Gathered emissions);

    // Rows that were found by reading tokens may be of one text alone: they make a cache too large sooner.
    static constexpr std::size_t kMaxReadBytes = std::size_t{64} << 20;
    std::vector<Word> more_, united_;  // scratch of make_union()
};

}  // namespace psc
