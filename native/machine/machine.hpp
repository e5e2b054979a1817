// What matchers read: a grammar's lexer, LR tables and stack classifier over one vocabulary, and the mask rows made from them.
//
// A machine is either an artifact's tables (machine/artifact_machine.hpp) or built on first visit (machine/lazy_machine.hpp). Both are read
// through the same few functions, by the same matcher. What is not there yet is built under the machine's lock; what is there is
// read without one, by any number of threads.
//
// What a limit bounds is in a Cache: rows, and what a lazy machine has built. When it grows past the limit the machine
// begins an empty one; a matcher changes over at its next step, and the old cache goes when nobody uses it any more.
//
// Cost in the steady state: a lookup per byte lexed, per LR action, per stack symbol read, and two per mask.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/concurrent.hpp"
#include "base/interned.hpp"
#include "base/long_work.hpp"
#include "base/work.hpp"
#include "lexer/lexer.hpp"
#include "lr/tables.hpp"
#include "machine/known_steps.hpp"
#include "machine/read_rows.hpp"
#include "masks/rows.hpp"
#include "masks/stop_sets.hpp"

namespace psc {

class VocabularyIndex;
struct LexemeFragment;

struct VocabularyView {
    Word size = 0;
    const Maybe<TokenClass>* class_of = nullptr;  // per token, the entry of `offsets` that has its bytes; null: the token itself
    const Word* offsets = nullptr;
    const std::uint8_t* bytes = nullptr;
    const std::uint8_t* is_stop = nullptr;  // per token
    const Word* symbols = nullptr;          // per token the number of its symbol, or -1; null: no token has one

    std::span<const std::uint8_t> text(TokenId token) const {
        const Word i = class_of ? class_of[token.v].v : token.v;
        return {bytes + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
    }
};

class Machine {
public:
    class Cache {
    public:
        explicit Cache(Word vocab_size) : rows(vocab_size) { gathered.intern({}); }
        virtual ~Cache() = default;
        virtual std::size_t bytes() const;

        MaskRows rows;
        SharedIdMap<Gathered, EmissionSet, Gathered> unions;
        SharedIdMap<LexerView, Gathered, MaskRow> row_ids;
        SharedIdMap<MaskRow, MaskRow, MaskRow> row_unions;
        SharedIdMap<MaskRow, StopSet, MaskRow> other_stops;
        StopSets stop_sets;  // of `other_stops`; under the lock
        // Of a lazy machine, as the next ones are: by the lexer state with 0, or with 1 + the LR state on top.
        SharedIdMap<LexerState, Word, LexerView> views;
        StableVector<ClassifierState> starts;  // per view
        std::vector<Word> n_read;              // per lexer state, the masks that tokens were read for instead; under the lock
        ReadRows read_rows;                    // those that were found so
        KnownSteps steps;                      // that texts have made
        SharedIdMap<ClassifierState, LrState, ArcId> arc_ids;
        StableVector<Transition> arcs;
        Interned<Gathered, Word> gathered;  // by their members, sorted; under the lock
        std::size_t read_bytes = 0;         // of rows from read_row(); under the lock
        std::atomic<bool> retired{false};
    };

    virtual ~Machine() = default;
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    const LrTables& lr() const { return lr_; }
    const VocabularyView& vocabulary() const { return vocabulary_; }
    const std::array<ByteClass, 256>& byte_class() const { return byte_class_; }
    const std::vector<TokenId>& stop_tokens() const { return stop_tokens_; }
    // Equal for grammars of one vocabulary, and for no others; 0: not known.
    std::uint64_t vocabulary_tag = 0;
    // Whether the grammar speaks of tokens: a stop token may be in a row as itself. Then, and where machines are linked, rows do not
    // say whether a stop token may end the text.
    bool has_symbols() const { return vocabulary_.symbols != nullptr; }
    bool ends_apart() const { return ends_apart_; }
    std::size_t n_words() const { return (static_cast<std::size_t>(vocabulary_.size) + 31) / 32; }

    std::shared_ptr<Cache> cache() const;
    std::size_t bytes();  // of the current cache
    // Of the tables that it was made of, and what is never dropped of what is built.
    virtual std::size_t table_bytes() const { return lr_.bytes(); }
    void clear();  // begins an empty cache
    // Of what is built before it is asked for: half of the limit is left to what is asked for.
    bool has_room_in_advance(std::size_t most_bytes);
    void set_limit(std::size_t bytes) { cache_limit_.store(bytes, std::memory_order_relaxed); }  // 0: none

    // Whether memory ran out while something was built that is never dropped: what is not there yet is not built any more.
    virtual bool is_broken() const { return false; }

    // The lexer.
    LexerState start_of(LrState top) const { return contextual() ? starts_of_tops_[top] : LexerState{0}; }
    bool contextual() const { return !starts_of_tops_.empty(); }
    Word n_byte_classes() const { return n_byte_classes_; }
    virtual Word n_lexer_states() = 0;  // those known so far
    LexArc lex(LexerState state, ByteClass byte_class) {
        const LexArc known = unpack(lexer_row(state)[byte_class.index()].load(std::memory_order_acquire));
        return !known.target.is_unknown() ? known : build_lex_arc(state, byte_class);
    }
    // The state without what a lexeme that is open cannot become, as the parser cannot take it with this LR state on top. Most states of
    // a lexer that reads many alternatives at once have one or two that matter: they are the same in many places.
    LexerState narrowed(LexerState state, LrState top) {
        if (!narrows_ || state.v == 0) return state;
        top = lr_.plain(top);
        const auto known = narrowed_.find(state, top);
        return known ? *known : narrow(state, top);
    }
    bool is_condition(OutputSymbol symbol) const { return symbol.is_condition(lr_.n_terminals); }
    virtual std::span<const OutputSymbol> output(LexOutput id) const = 0;
    virtual std::span<const LexWay> ways(Branch branch) const = 0;
    virtual Word n_conditions() = 0;                                            // those known so far
    virtual std::span<const LrState> condition(OutputSymbol symbol) const = 0;  // sorted
    virtual std::span<const LexOutput> at_end(LexerState state) = 0;
    // F(q): a set of symbol sequences, one of which must be viable; the sets that follow one in it have smaller numbers.
    virtual FutureSet futures(LexerState state) = 0;
    virtual std::span<const FutureEdge> future_edges(FutureSet set) const = 0;
    static constexpr FutureSet kNothingNeeded{SequenceSets::kOne};  // the set of the empty sequence alone

    // The classifier. What has to be built for it is paid for by the caller's `work`.
    struct Start {
        ClassifierState state;  // in which reading begins, at the top of the stack
        LexerView view;         // that the rows for what is read are of
    };
    Start start(Cache& cache, LexerState lexer_state, LrState top, Work& work) {
        if (has_classifier_) return {classifier_.start, {lexer_state.v}};
        top = lr_.plain(top);
        auto view = cache.views.find(lexer_state, kAnyTop);
        if (!view) view = cache.views.find(lexer_state, only(top));
        if (!view) view = build_or_retire(cache, [&] { return build_view(cache, lexer_state, top, work); });
        return {cache.starts[(*view).index()], *view};
    }
    // The same where nothing has to be built for it.
    std::optional<Start> known_start(const Cache& cache, LexerState lexer_state, LrState top) const {
        if (has_classifier_) return Start{classifier_.start, {lexer_state.v}};
        auto view = cache.views.find(lexer_state, kAnyTop);
        if (!view) view = cache.views.find(lexer_state, only(lr_.plain(top)));
        if (!view) return {};
        return Start{cache.starts[(*view).index()], *view};
    }
    bool has_view(const Cache& cache, LexerState lexer_state, LrState top) const {
        return cache.views.find(lexer_state, kAnyTop) || cache.views.find(lexer_state, only(lr_.plain(top)));
    }
    // Whether tokens are read for a mask in this lexer state, which has no view: few masks were asked for there, and this is one more.
    bool reads_tokens(Cache& cache, LexerState lexer_state);
    // What was read there has cost so many steps: it counts as more than one mask where these are many, and where the row was not kept.
    void has_read_there(Cache& cache, LexerState lexer_state, std::size_t steps, bool kept);
    // False where no stack of the grammar leads.
    bool transition(Cache& cache, ClassifierState state, LrState symbol, Transition& out, Work& work) {
        if (has_classifier_) return stored_transition(state, symbol, out);
        const auto known = cache.arc_ids.find(state, symbol);
        out = known ? cache.arcs[known.v] : build_or_retire(cache, [&] { return build_transition(cache, state, symbol, work); });
        return true;
    }
    // The same where nothing has to be built for it.
    std::optional<bool> known_transition(const Cache& cache, ClassifierState state, LrState symbol, Transition& out) const {
        if (has_classifier_) return stored_transition(state, symbol, out);
        const auto known = cache.arc_ids.find(state, symbol);
        if (!known) return {};
        out = cache.arcs[known.v];
        return true;
    }
    // What was gathered, with one emission more. Different emissions may hold the same.
    Gathered with_emission(Cache& cache, Gathered set, EmissionSet emission) {
        const auto known = cache.unions.find(set, emission);
        return known ? *known : build_or_retire(cache, [&] { return make_union(cache, set, emission); });
    }
    MaskRow row(Cache& cache, LexerView view, Gathered emissions) {
        const auto known = cache.row_ids.find(view, emissions);
        return known ? *known : build_or_retire(cache, [&] { return make_row(cache, view, emissions); });
    }
    // The sequences of terminals that an emission says are viable, without their conditions, and without what a leaf of sets stands
    // for. A lazy machine has them; an artifact does not keep them.
    std::vector<std::vector<Terminal>> emitted_sequences(Cache& cache, EmissionSet set);
    // The union of two rows.
    MaskRow row_union(Cache& cache, MaskRow a, MaskRow b);
    // The row with these bits, found without the classifier.
    MaskRow read_row(Cache& cache, MaskRows::Bits& words);
    // Has it known wherever `answer` gives the same to what was `asked`, see ReadRows.
    template <class Answer>
    bool keep_read_row(Cache& cache, std::vector<ReadRows::Question> asked, const Answer& answer, MaskRow row) {
        const PatientLock lock(lock_);
        return cache.read_rows.add(std::move(asked), answer, row);
    }
    // Has a step known to all matchers of the cache, or, where it was not found out, that it need not be tried again. Not while somebody
    // builds: it is made again soon.
    void keep_step(Cache& cache, const KnownSteps::Step& step, bool is_known);
    // Whether it does; those that are kept already stay.
    bool keeps_steps() const { return keeps_steps_.load(std::memory_order_relaxed); }
    void set_keeps_steps(bool keeps) { keeps_steps_.store(keeps, std::memory_order_relaxed); }
    // The row in which other tokens stop the text, where the text may end: a row does not know, if the grammar has no stop token.
    // Where tokens have symbols the row has no stop tokens but those that are requested as such.
    MaskRow with_stops(Cache& cache, MaskRow row, StopSet set);
    // `requested`: of the tokens those that are text, and that the grammar requests as such where the row is.
    StopSet stop_set(Cache& cache, std::span<const TokenId> tokens, std::span<const TokenId> requested = {});
    // Of tokens that stop a text, those whose bits in a row may be those of their text: whether one is asked for must be looked at.
    std::vector<TokenId> text_or_itself(const std::vector<TokenId>& stops) const;

    // Whether the grammar tells a token apart as such, and whether its text is one.
    virtual bool has_symbol(TokenId token) const { return vocabulary_.symbols && vocabulary_.symbols[token.v] >= 0; }
    virtual bool is_text(TokenId token) const;

    // The tokens as a trie, where masks can be found by reading them (matcher/tokens.cpp); null: by the classifier alone.
    const VocabularyIndex* index() const { return readable_; }
    // Of a lexer state what tokens do inside the lexeme that is open; null where that is not known, or of little use.
    virtual const LexemeFragment* fragment(LexerState) { return nullptr; }
    // What the classifier may cost for one mask there, 0.2 s; a test wants other steps.
    std::size_t steps_to_classify() const { return steps_to_classify_.load(std::memory_order_relaxed); }
    void set_steps_to_classify(std::size_t steps) { steps_to_classify_.store(steps, std::memory_order_relaxed); }
    // After it has cost more, masks are found by reading tokens until that has cost as much.
    bool classifies() const { return put_off_.load(std::memory_order_relaxed) == 0; }
    // Of how many masks in a lexer state tokens are read before it gets a view.
    Word most_read() const { return most_read_.load(std::memory_order_relaxed); }
    void set_most_read(Word n) { most_read_.store(n, std::memory_order_relaxed); }
    void put_off_classifier() { put_off_.store(steps_to_classify(), std::memory_order_relaxed); }
    void has_read(std::size_t steps);

protected:
    Machine() = default;
    // The first mask costs less by reading: nothing of it would be used again before there are others.
    void read_first_mask() { put_off_.store(1, std::memory_order_relaxed); }
    // The keys of views.
    static constexpr Word kAnyTop = 0;
    static constexpr Word only(LrState top) { return top.v + 1; }
    void begin();  // once the members below are set

    virtual std::shared_ptr<Cache> new_cache() const { return std::make_shared<Cache>(vocabulary_.size); }
    virtual LexArc build_lex_arc(LexerState state, ByteClass byte_class) = 0;
    virtual LexerState narrow(LexerState state, LrState /*top*/) { return state; }  // `top`: plain
    virtual LexerView build_view(Cache& cache, LexerState lexer_state, LrState top, Work& work) = 0;
    virtual Transition build_transition(Cache& cache, ClassifierState state, LrState symbol, Work& work) = 0;
    // Adds the members of a set: SequenceNodes (a lazy machine's) or Labels (an artifact's).
    virtual void add_members(Cache& cache, EmissionSet set, std::vector<Word>& out) = 0;
    // See emitted_sequences(), under the lock.
    virtual std::vector<std::vector<Terminal>> sequences_of(Cache&, EmissionSet) { return {}; }
    // The row of what was emitted on the way down a stack. `members`: of all the sets met.
    virtual MaskRow compose(Cache& cache, LexerView view, std::span<const Word> members) = 0;
    // Rows that were found by reading tokens may be of one text alone: they make a cache too large sooner.
    static constexpr std::size_t kMostReadBytes = std::size_t{64} << 20;
    // Begins an empty cache when `cache`, to which something was just added, is too large. Under the lock.
    void limit(Cache& cache);

    LrTables lr_;
    VocabularyView vocabulary_;
    std::array<ByteClass, 256> byte_class_{};
    std::vector<TokenId> stop_tokens_;
    bool ends_apart_ = false;
    const VocabularyIndex* readable_ = nullptr;  // see index()
    Column<LrState, LexerState, Presence::optional> starts_of_tops_;
    // Lexer rows: of an artifact, one after the other; else those of a lexer.
    const std::atomic<PackedArc>* stored_rows_ = nullptr;
    const Lexer* lexer_ = nullptr;
    Word n_byte_classes_ = 0;
    bool narrows_ = false;  // whether narrow() may give other states
    SharedIdMap<LexerState, LrState, LexerState> narrowed_;
    // The classifier of an artifact.
    bool has_classifier_ = false;
    ClassifierTables classifier_;
    std::atomic<std::size_t> cache_limit_{0};  // bytes; 0 is none
    mutable std::mutex lock_;                  // of everything that is built
    std::atomic<std::size_t> steps_to_classify_{8'000'000}, put_off_{0};
    std::atomic<Word> most_read_{0};
    std::atomic<bool> keeps_steps_{true};

private:
    const std::atomic<PackedArc>* lexer_row(LexerState state) const {
        return stored_rows_ ? stored_rows_ + state.index() * static_cast<std::size_t>(n_byte_classes_) : lexer_->row(state);
    }
    bool stored_transition(ClassifierState state, LrState symbol, Transition& out) const;
    // If `build` throws (a limit, no memory), the cache may be half updated: it is retired. Where only the allowance was used up, it
    // is not.
    template <class F>
    [[gnu::noinline, gnu::cold]] std::invoke_result_t<F> build_or_retire(Cache& cache, F build) {
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
    void retire(Cache& cache);  // begins an empty one, unless that has happened
    Gathered make_union(Cache& cache, Gathered set, EmissionSet emission);
    MaskRow make_row(Cache& cache, LexerView view, Gathered emissions);

    std::vector<Word> more_, united_;  // scratch of make_union()
    mutable std::mutex cache_lock_;    // of the pointer
    std::shared_ptr<Cache> cache_;
};

}  // namespace psc
