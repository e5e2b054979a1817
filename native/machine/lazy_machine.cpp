#include "machine/lazy_machine.hpp"

#include <algorithm>

#include "vocabulary/runs.hpp"

namespace psc {

namespace {

// Of characters that strings of JSON have unescaped: most texts of most grammars are such strings.
CharacterKinds kinds_of_json_texts() {
    namespace kind = character_kinds;
    CharacterKinds others = kind::kRest | kind::kStray;
    for (int byte = 0; byte < ' '; ++byte) others |= kind::of(byte);
    for (char byte : {'"', '\\'}) others |= kind::of(byte);
    return ~others;
}

}  // namespace

LazyMachine::LazyMachine(LrTables lr, std::unique_ptr<Lexer> lexer, std::shared_ptr<VocabularyIndex> vocabulary,
                         std::size_t cache_limit)
    : below_(lr), lexer_owner_(std::move(lexer)), index_(std::move(vocabulary)), fragments_(*lexer_owner_, *index_) {
    lr_ = std::move(lr);
    vocabulary_ = {index_->n_tokens(), nullptr, index_->offsets().data(), index_->bytes().data(), index_->is_stop().data()};
    if (index_->has_symbols()) vocabulary_.symbols = index_->symbols().data();
    ends_apart_ = index_->has_symbols();
    stop_tokens_ = index_->stop_tokens();
    readable_ = index_.get();
    byte_class_ = lexer_owner_->byte_class();
    n_byte_classes_ = lexer_owner_->n_classes();
    lexer_ = lexer_owner_.get();
    if (lexer_owner_->contextual()) starts_of_tops_ = lexer_owner_->starts_of_tops();
    cache_limit_ = cache_limit;
    lexer_visits_ = this;
    narrows_ = lexer_owner_->munch() == Lexer::Munch::any;
    counts_ = lexer_owner_->counts();
    allowed_.resize(lr_.n_lr_states);
    reading_.read_first_mask();
    // With maximal munch a view costs as little as reading, and its parts are used by the next.
    if (lexer_owner_->munch() == Lexer::Munch::any && index_->n_tokens() >= kLargeVocabulary) {
        reading_.set_max_reads(kMaxReads);
        if (const auto runs = index_->runs(kinds_of_json_texts()))
            runs->all();  // once a vocabulary, and not while somebody waits for a mask
    }
    begin();
}

LazyMachine::Built::Built(const LazyMachine& m)
    : EngineCache(m.vocabulary_.size), trie(m.lr_, m.below_, work), walk(*m.lexer_owner_, trie, *m.index_, m.fragments_) {
    growing = std::make_unique<GrowingClassifier>(m.lr_, m.below_, trie, work);
}

std::size_t LazyMachine::table_bytes() const {
    const PatientLock lock(lock_);
    return Engine::table_bytes() + below_.bytes() + lexer_owner_->bytes() + fragments_.bytes() + narrowed_.bytes() + alike_.bytes();
}

std::size_t LazyMachine::Built::bytes() const { return EngineCache::bytes() + trie.bytes() + walk.bytes() + visited_bytes; }

LazyMachine::Counts LazyMachine::counts() {
    const PatientLock lock(lock_);
    const auto kept = cache();
    const auto& c = static_cast<const Built&>(*kept);
    const auto visited = std::count_if(c.n_views.begin(), c.n_views.end(), [](Word n) { return n > 0; });
    return {lexer_owner_->n_states(), static_cast<Word>(visited), c.trie.size(), c.growing->classifier.n_states(),
            static_cast<Word>(c.growing->classifier.n_transitions())};
}

Word LazyMachine::n_lexer_states() {
    const PatientLock lock(lock_);
    return lexer_owner_->n_states();
}

Word LazyMachine::n_conditions() {
    const PatientLock lock(lock_);
    return lexer_owner_->n_conditions();
}

std::span<const LexOutput> LazyMachine::at_end(LexerState state) {
    if (const auto* known = lexer_owner_->built_at_end(state)) return *known;
    const PatientLock lock(lock_);
    return with_lexer([&]() -> std::span<const LexOutput> { return lexer_owner_->at_end(state); });
}

FutureSet LazyMachine::futures(LexerState state) {
    if (const auto known = lexer_owner_->built_futures(state)) return *known;
    const PatientLock lock(lock_);
    return with_lexer([&] { return lexer_owner_->futures(state); });
}

LexArc LazyMachine::build_lex_arc(LexerState state, ByteClass byte_class, Work& work) {
    const PatientLock lock(lock_);
    return with_lexer(work, [&] { return lexer_owner_->arc(state, byte_class); });
}

const LexemeFragment* LazyMachine::fragment(LexerState state, Work& work) {
    const PatientLock lock(lock_);
    return with_lexer(work, [&] { return fragments_.worthwhile_from(state); });
}

LexerState LazyMachine::narrow(LexerState state, LrState top, Work& work) {
    const PatientLock lock(lock_);
    if (const auto known = narrowed_.find(state, top)) return *known;
    auto& allowed = allowed_[top.index()];
    if (allowed.empty()) {
        std::vector<char> has_action;
        for (Terminal t{0}; t.v < lr_.n_terminals; ++t.v) has_action.push_back(!lr_.cell(top, t).empty());
        allowed = std::move(has_action);
    }
    const LexerState to = with_lexer(work, [&] { return lexer_owner_->restricted(state, allowed); });
    narrowed_.insert(state, top, to);
    if (!narrowed_.find(to, top)) narrowed_.insert(to, top, to);
    return to;
}

bool LazyMachine::is_extensible(LexerState state) {
    const PatientLock lock(lock_);
    return lexer_owner_->is_extensible(state);
}

LexerState LazyMachine::find_alike(LexerState state) {
    const PatientLock lock(lock_);
    if (const auto known = alike_.find(state, kAnyTop)) return *known;
    const LexerState to = with_lexer([&] { return lexer_owner_->alike(state, static_cast<Word>(index_->max_depth())); });
    alike_.insert(state, kAnyTop, to);
    if (!alike_.find(to, kAnyTop)) alike_.insert(to, kAnyTop, to);
    return to;
}

LexerView LazyMachine::build_view(EngineCache& cache, LexerState lexer_state, LrState top, Work& work) {
    before_long_work();  // a walk over the vocabulary
    const PatientLock lock(lock_);
    if (const auto known = cache.views.find(lexer_state, kAnyTop)) return *known;
    if (const auto known = cache.views.find(lexer_state, only(top))) return *known;
    auto& built = static_cast<Built&>(cache);
    const Work::Lent lent(built.work, work);
    if (lexer_state.index() >= built.n_views.size()) built.n_views.resize(lexer_owner_->n_states());
    // Under one LR state most of what tokens could be is dead at once: the first masks of a grammar come early. A machine that has
    // served some takes parts of new ones from walks that were for every stack.
    Maybe<SequenceNode> root;
    if (built.n_views[lexer_state.index()]++ == 0 && built.visited.size() < kYoung) root = built.trie.under(top);
    const bool narrow = root && *root != SequenceTrie::kRoot;
    built.visited.push_back(
        with_lexer(built.work, [&] { return visit(built, lexer_state, narrow ? *root : SequenceTrie::kRoot); }));
    const LexerView view{static_cast<Word>(built.visited.size()) - 1};
    cache.starts.push_back(built.growing->classifier.add_start(built.visited.back()->sequences));
    cache.views.insert(lexer_state, narrow ? only(top) : kAnyTop, view);
    limit(cache);
    return view;
}

std::unique_ptr<LazyMachine::Visited> LazyMachine::visit(Built& cache, LexerState lexer_state, SequenceNode root) {
    auto made = std::make_unique<Visited>();
    auto entries = cache.walk.from(lexer_state, root);
    const OutputSymbol end = OutputSymbol::of(lr_.end_terminal());
    for (LexOutput last : lexer_owner_->at_end(lexer_state)) {
        const auto node = cache.walk.extend(cache.walk.extend(root, lexer_owner_->output(last)), {&end, 1});
        if (node) entries.push_back({*node, nullptr});
    }
    std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.sequence < b.sequence; });
    for (auto& e : entries) {
        if (e.sequence == root) {
            made->always.push_back(std::move(e.tokens));
            continue;
        }
        if (made->sequences.empty() || made->sequences.back() != e.sequence) {
            made->sequences.push_back(e.sequence);
            made->offsets.push_back(static_cast<Word>(made->sets.size()));
        }
        made->sets.push_back(std::move(e.tokens));
    }
    made->offsets.push_back(static_cast<Word>(made->sets.size()));
    cache.visited_bytes += made->sequences.size() * 8 + made->sets.size() * 16 + sizeof(Visited);
    return made;
}

MaskRow LazyMachine::compose(EngineCache& base, LexerView view, std::span<const Word> members) {
    auto& cache = static_cast<Built&>(base);
    const Visited& q = *cache.visited[view.index()];
    cache.wanted.resize(cache.trie.size());
    std::vector<TokenSet*> sets;
    sets.reserve(q.always.size() + q.sets.size());  // nothing may fail while `wanted` is set
    for (Word sequence : members) cache.wanted[sequence] = 1;
    bool stops = false;
    for (const auto& set : q.always) sets.push_back(set.get());
    for (std::size_t i = 0; i < q.sequences.size(); ++i) {
        if (!cache.wanted[q.sequences[i].index()]) continue;
        for (Word k = q.offsets[i]; k < q.offsets[i + 1]; ++k) {
            if (q.sets[k])
                sets.push_back(q.sets[k].get());
            else
                stops = true;
        }
    }
    for (Word sequence : members) cache.wanted[sequence] = 0;
    std::sort(sets.begin(), sets.end());
    sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
    // The row is composed where it is going to stay, or else in what the one before has left.
    if (spare_)
        std::fill_n(spare_.get(), n_words(), 0);
    else
        spare_ = std::make_unique<std::uint32_t[]>(n_words());
    for (TokenSet* set : sets) index_->add_bits(spare_.get(), *set);
    if (stops && !ends_apart())
        for (TokenId t : stop_tokens_) set_bit(spare_.get(), t);
    return cache.rows.add(spare_);
}

}  // namespace psc
