#include "lazy_machine.hpp"

#include <algorithm>

namespace psc {

LazyMachine::LazyMachine(LrTables lr, const AllTerminals& terminals, LexerKind kind, std::shared_ptr<VocabularyIndex> vocabulary,
                         std::size_t cache_limit)
    : below_(stack_predecessors(lr)), index_(std::move(vocabulary)) {
    lr_ = std::move(lr);
    lexer_owner_ = make_lexer(lr_, terminals, kind);
    vocabulary_ = {index_->n_tokens(), nullptr, index_->offsets().data(), index_->bytes().data(), index_->is_stop().data()};
    stop_tokens_ = index_->stop_tokens();
    std::transform(lexer_owner_->byte_class().begin(), lexer_owner_->byte_class().end(), byte_class_.begin(),
                   [](std::uint8_t c) { return ByteClass{c}; });
    n_byte_classes_ = lexer_owner_->n_classes();
    lexer_ = lexer_owner_.get();
    if (lexer_owner_->contextual()) {
        const auto starts = ids_of<LexerState>(lexer_owner_->starts_of_tops());
        starts_of_tops_ = std::vector<LexerState>(starts.begin(), starts.end());
    }
    cache_limit_ = cache_limit;
    begin();
}

LazyMachine::Built::Built(const LazyMachine& m)
    : Cache(m.vocabulary_.size),
      trie(m.lr_, m.below_, work),
      walk(*m.lexer_owner_, trie, *m.index_),
      classifier(m.lr_, m.below_, trie, work) {}

std::size_t LazyMachine::Built::bytes() const {
    return Cache::bytes() + trie.bytes() + walk.bytes() + classifier.bytes() + state_bytes;
}

LazyMachine::Counts LazyMachine::counts() {
    const std::lock_guard lock(lock_);
    const auto kept = cache();
    const auto& c = static_cast<const Built&>(*kept);
    const auto visited = std::count_if(c.states.begin(), c.states.end(), [](const auto& s) { return s != nullptr; });
    return {lexer_owner_->n_states(), static_cast<Word>(visited), c.trie.size(), c.classifier.n_states(),
            static_cast<Word>(c.classifier.n_transitions())};
}

Word LazyMachine::n_lexer_states() {
    const std::lock_guard lock(lock_);
    return lexer_owner_->n_states();
}

std::span<const LexOutput> LazyMachine::at_end(LexerState state) {
    if (const auto* known = lexer_owner_->known_at_end(state.v)) return ids_of<LexOutput>(*known);
    const std::lock_guard lock(lock_);
    return ids_of<LexOutput>(lexer_owner_->at_end(state.v));
}

FutureSet LazyMachine::futures(LexerState state) {
    if (const Word known = lexer_owner_->known_futures(state.v); known >= 0) return {known};
    const std::lock_guard lock(lock_);
    return {lexer_owner_->futures(state.v)};
}

LexArc LazyMachine::build_lex_arc(LexerState state, ByteClass byte_class) {
    const std::lock_guard lock(lock_);
    return lexer_owner_->arc(state.v, byte_class.v);
}

ClassifierState LazyMachine::build_start(Cache& cache, LexerState lexer_state, Work& work) {
    const std::lock_guard lock(lock_);
    if (const Word known = cache.starts.find(lexer_state.v, 0); known >= 0) return {known};
    auto& built = static_cast<Built&>(cache);
    const Work::Lent lent(built.work, work);
    const ClassifierState start = visit(built, lexer_state).start;
    cache.starts.insert(lexer_state.v, 0, start.v);
    limit(cache);
    return start;
}

Machine::Arc LazyMachine::build_transition(Cache& cache, ClassifierState state, LrState symbol, Work& work) {
    const std::lock_guard lock(lock_);
    if (const Word known = cache.arc_ids.find(state.v, symbol.v); known >= 0) return cache.arcs[known];
    auto& built = static_cast<Built&>(cache);
    const Work::Lent lent(built.work, work);
    const Transition t = built.classifier.step(state.v, symbol.v);
    const Arc arc{{t.next}, t.skip, {t.emission}};
    cache.arcs.push_back(arc);
    cache.arc_ids.insert(state.v, symbol.v, static_cast<Word>(cache.arcs.size()) - 1);
    limit(cache);
    return arc;
}

LazyMachine::Visited& LazyMachine::visit(Built& cache, LexerState lexer_state) {
    if (lexer_state.index() >= cache.states.size()) cache.states.resize(lexer_owner_->n_states() + 1);
    if (cache.states[lexer_state.index()]) return *cache.states[lexer_state.index()];
    auto made = std::make_unique<Visited>();
    auto entries = cache.walk.from(lexer_state.v);
    const Word end_terminal = lr_.n_terminals - 1;
    for (Word emission : lexer_owner_->at_end(lexer_state.v)) {
        const Word node = cache.walk.extend(cache.walk.extend(0, lexer_owner_->emission(emission)), {&end_terminal, 1});
        if (node != kNoNode) entries.push_back({node, nullptr});
    }
    std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.sequence < b.sequence; });
    for (auto& e : entries) {
        if (e.sequence == 0) {
            made->always.push_back(std::move(e.tokens));
            continue;
        }
        if (made->nodes.empty() || made->nodes.back() != e.sequence) {
            made->nodes.push_back(e.sequence);
            made->offsets.push_back(static_cast<Word>(made->sets.size()));
        }
        made->sets.push_back(std::move(e.tokens));
    }
    made->offsets.push_back(static_cast<Word>(made->sets.size()));
    cache.state_bytes += made->nodes.size() * 8 + made->sets.size() * 16 + sizeof(Visited);
    made->start = {cache.classifier.add_start(made->nodes)};
    if (lexer_state.index() >= cache.states.size()) cache.states.resize(lexer_owner_->n_states() + 1);
    cache.states[lexer_state.index()] = std::move(made);
    return *cache.states[lexer_state.index()];
}

void LazyMachine::add_parts(Cache& base, EmissionSet emission, std::vector<Word>& out) {
    const Classifier& classifier = static_cast<Built&>(base).classifier;
    for (Word part : classifier.parts_of(emission.v)) {
        const auto sequences = classifier.sequences_of(part);
        out.insert(out.end(), sequences.begin(), sequences.end());
    }
}

void LazyMachine::compose(Cache& base, LexerState lexer_state, std::span<const Word> parts, std::uint32_t* words) {
    auto& cache = static_cast<Built&>(base);
    const Visited& q = visit(cache, lexer_state);
    cache.wanted.resize(cache.trie.size());
    std::vector<TokenSet*> sets;
    sets.reserve(q.always.size() + q.sets.size());  // nothing may fail while `wanted` is set
    for (Word node : parts) cache.wanted[node] = 1;
    bool stops = false;
    for (const auto& set : q.always) sets.push_back(set.get());
    for (std::size_t i = 0; i < q.nodes.size(); ++i) {
        if (!cache.wanted[q.nodes[i]]) continue;
        for (Word k = q.offsets[i]; k < q.offsets[i + 1]; ++k) {
            if (q.sets[k])
                sets.push_back(q.sets[k].get());
            else
                stops = true;
        }
    }
    for (Word node : parts) cache.wanted[node] = 0;
    std::sort(sets.begin(), sets.end());
    sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
    for (TokenSet* set : sets) index_->add_bits(words, *set);
    if (stops)
        for (Word t : stop_tokens_) words[t >> 5] |= 1u << (t & 31);
}

}  // namespace psc
