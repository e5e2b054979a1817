#include "artifact_machine.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "sorted.hpp"

namespace psc {
namespace {

[[noreturn]] void bad(const char* what, const char* why) {
    throw std::invalid_argument(std::string("table '") + what + "' " + why);
}

template <class T>
void check_size(std::span<const T> v, std::size_t size, const char* what) {
    if (v.size() != size) bad(what, "has the wrong length");
}

// Every element in [low, high).
void check_range(std::span<const Word> v, Word low, Word high, const char* what) {
    for (Word x : v)
        if (x < low || x >= high) bad(what, "holds an index out of range");
}

// Offsets of `n` lists into a pool: from 0, never falling, to the pool's size.
void check_offsets(std::span<const Word> offsets, std::size_t n, std::size_t pool, const char* what) {
    check_size(offsets, n + 1, what);
    if (offsets.front() != 0 || static_cast<std::size_t>(offsets.back()) != pool) bad(what, "does not span its pool");
    for (std::size_t i = 0; i < n; ++i)
        if (offsets[i] > offsets[i + 1]) bad(what, "falls");
}

void check_count(Word n, Word low, const char* what) {
    if (n < low || n > (1 << 28)) bad(what, "is out of range");
}

}  // namespace

// In this order: counts, then lengths (products in 64 bits), then offsets, then indices.
void ArtifactMachine::check() const {
    const RuntimeArrays& a = a_;
    check_count(a.n_lexer_states, 1, "n_lexer_states");
    check_count(a.n_byte_classes, 1, "n_byte_classes");
    check_count(a.n_terminals, 1, "n_terminals");
    check_count(a.n_nonterminals, 1, "n_nonterminals");
    check_count(a.n_lr_states, 1, "n_lr_states");
    check_count(a.n_classifier_states, 1, "n_classifier_states");
    check_count(a.n_labels, 0, "n_labels");
    check_count(a.vocab_size, 1, "vocab_size");
    check_count(a.n_classes, 0, "n_classes");
    const auto product = [](Word x, Word y) { return static_cast<std::size_t>(x) * static_cast<std::size_t>(y); };

    check_size(a.byte_class, 256, "byte_class");
    for (std::uint8_t c : a.byte_class)
        if (c >= a.n_byte_classes) bad("byte_class", "holds an index out of range");
    const Word n_emissions = static_cast<Word>(a.emission_offsets.size()) - 1;
    if (n_emissions < 1) bad("emission_offsets", "is empty");
    check_offsets(a.emission_offsets, n_emissions, a.emission_symbols.size(), "emission_offsets");
    if (a.emission_offsets[1] != 0) bad("emission_offsets", "does not begin with the empty emission");
    const Word n_conditions = static_cast<Word>(a.condition_offsets.size()) - 1;
    if (n_conditions < 0) bad("condition_offsets", "is empty");
    check_offsets(a.condition_offsets, n_conditions, a.condition_states.size(), "condition_offsets");
    check_range(a.condition_states, 0, a.n_lr_states, "condition_states");
    check_range(a.emission_symbols, 0, a.n_terminals + n_conditions, "emission_symbols");
    if (!a.start_of_top.empty()) check_size(a.start_of_top, a.n_lr_states, "start_of_top");
    check_range(a.start_of_top, 0, a.n_lexer_states, "start_of_top");
    const Word n_branches = static_cast<Word>(a.branch_offsets.size()) - 1;
    if (n_branches < 0) bad("branch_offsets", "is empty");
    check_offsets(a.branch_offsets, n_branches, a.branch_next.size(), "branch_offsets");
    check_size(a.branch_emit, a.branch_next.size(), "branch_emit");
    check_range(a.branch_emit, 0, n_emissions, "branch_emit");
    check_range(a.branch_next, 0, a.n_lexer_states, "branch_next");
    check_size(a.lexer_next, product(a.n_lexer_states, a.n_byte_classes), "lexer_next");
    check_size(a.lexer_emit, a.lexer_next.size(), "lexer_emit");
    check_range(a.lexer_next, -1, a.n_lexer_states + 1 + n_branches, "lexer_next");
    // A restart reads the byte again from a start. A start that did so would never end.
    if (a.start_of_top.empty() && std::find(a.lexer_next.begin(), a.lexer_next.end(), a.n_lexer_states) != a.lexer_next.end())
        bad("lexer_next", "restarts without contexts");
    for (Word start : a.start_of_top)
        for (Word c = 0; c < a.n_byte_classes; ++c)
            if (a.lexer_next[product(start, a.n_byte_classes) + c] == a.n_lexer_states) bad("lexer_next", "restarts at a start");
    check_range(a.lexer_emit, 0, n_emissions, "lexer_emit");
    check_offsets(a.end_offsets, a.n_lexer_states, a.ends.size(), "end_offsets");
    check_range(a.ends, 0, n_emissions, "ends");
    check_offsets(a.future_offsets, a.n_lexer_states, a.futures.size(), "future_offsets");
    check_range(a.futures, 0, n_emissions, "futures");

    const Word n_productions = static_cast<Word>(a.production_lhs.size());
    check_size(a.production_length, n_productions, "production_length");
    check_range(a.production_lhs, 0, a.n_nonterminals, "production_lhs");
    check_range(a.production_length, 0, 1 << 20, "production_length");
    check_offsets(a.action_offsets, product(a.n_lr_states, a.n_terminals), a.actions.size(), "action_offsets");
    for (Word action : a.actions)
        if (action < 0 || action / 2 >= ((action & 1) ? n_productions : a.n_lr_states)) bad("actions", "holds an index out of range");
    check_size(a.gotos, product(a.n_lr_states, a.n_nonterminals), "gotos");
    check_range(a.gotos, -1, a.n_lr_states, "gotos");
    if (a.end_state < -1 || a.end_state >= a.n_lr_states) bad("end_state", "is out of range");

    check_offsets(a.arc_offsets, a.n_classifier_states, a.arc_symbol.size(), "arc_offsets");
    check_size(a.arc_next, a.arc_symbol.size(), "arc_next");
    check_size(a.arc_skip, a.arc_symbol.size(), "arc_skip");
    check_size(a.arc_emission, a.arc_symbol.size(), "arc_emission");
    check_range(a.arc_symbol, 0, a.n_lr_states, "arc_symbol");
    for (Word s = 0; s < a.n_classifier_states; ++s)
        for (Word i = a.arc_offsets[s]; i + 1 < a.arc_offsets[s + 1]; ++i)
            if (a.arc_symbol[i] >= a.arc_symbol[i + 1]) bad("arc_symbol", "is not sorted");
    check_range(a.arc_next, 0, a.n_classifier_states, "arc_next");
    check_range(a.arc_skip, 0, 1 << 20, "arc_skip");
    if (a.start < 0 || a.start >= a.n_classifier_states) bad("start", "is out of range");
    const Word n_label_lists = static_cast<Word>(a.label_offsets.size()) - 1;
    if (n_label_lists < 1) bad("label_offsets", "is empty");
    check_offsets(a.label_offsets, n_label_lists, a.labels.size(), "label_offsets");
    check_range(a.labels, 0, a.n_labels, "labels");
    check_range(a.arc_emission, 0, n_label_lists, "arc_emission");
    const Word n_sets = static_cast<Word>(a.set_offsets.size()) - 1;
    if (n_sets < 1) bad("set_offsets", "is empty");
    check_offsets(a.set_offsets, n_sets, a.set_classes.size(), "set_offsets");
    check_range(a.set_classes, 0, a.n_classes + 1, "set_classes");
    // A class that a set names over and over would make composing a row as long as the table is large.
    for (Word s = 0; s < n_sets; ++s)
        for (Word i = a.set_offsets[s]; i + 1 < a.set_offsets[s + 1]; ++i)
            if (a.set_classes[i] >= a.set_classes[i + 1]) bad("set_classes", "is not sorted");
    check_size(a.always, a.n_lexer_states, "always");
    check_range(a.always, 0, n_sets, "always");
    check_offsets(a.meaning_offsets, a.n_lexer_states, a.meaning_labels.size(), "meaning_offsets");
    check_range(a.meaning_labels, 0, a.n_labels, "meaning_labels");
    check_size(a.meaning_sets, a.meaning_labels.size(), "meaning_sets");
    check_range(a.meaning_sets, 0, n_sets, "meaning_sets");

    check_size(a.class_of_token, a.vocab_size, "class_of_token");
    check_range(a.class_of_token, -1, a.n_classes, "class_of_token");
    check_offsets(a.class_offsets, a.n_classes, a.class_bytes.size(), "class_offsets");
    check_range(a.stop_tokens, 0, a.vocab_size, "stop_tokens");
}

ArtifactMachine::ArtifactMachine(RuntimeArrays arrays, std::size_t cache_limit) : a_(std::move(arrays)) {
    check();
    lr_ = {a_.n_terminals, a_.n_nonterminals, a_.n_lr_states, a_.action_offsets.data(), a_.actions.data(), a_.gotos.data(),
           a_.production_lhs.data(), a_.production_length.data()};
    arcs_ = std::make_unique<std::atomic<PackedArc>[]>(a_.lexer_next.size());
    for (std::size_t i = 0; i < a_.lexer_next.size(); ++i) {
        Word next = a_.lexer_next[i];
        if (next >= a_.n_lexer_states) next = next == a_.n_lexer_states ? LexArc::kRestart : LexArc::kBranch - (next - a_.n_lexer_states - 1);
        arcs_[i].store(pack({next, a_.lexer_emit[i]}), std::memory_order_relaxed);
    }
    for (std::size_t i = 0; i < a_.branch_next.size(); ++i) branches_.insert(branches_.end(), {a_.branch_emit[i], a_.branch_next[i]});
    stored_rows_ = arcs_.get();
    n_byte_classes_ = a_.n_byte_classes;
    std::copy(a_.byte_class.begin(), a_.byte_class.end(), byte_class_.begin());
    if (!a_.start_of_top.empty()) starts_of_tops_ = a_.start_of_top.data();
    start_ = a_.start;
    arc_offsets_ = a_.arc_offsets.data();
    arc_symbol_ = a_.arc_symbol.data();
    arc_next_ = a_.arc_next.data();
    arc_skip_ = a_.arc_skip.data();
    arc_emission_ = a_.arc_emission.data();
    cache_limit_ = cache_limit;
    // Tokens of each class, and the stop tokens as one more class.
    member_offsets_.assign(a_.n_classes + 2, 0);
    for (Word c : a_.class_of_token)
        if (c >= 0) ++member_offsets_[c + 1];
    for (Word c = 0; c < a_.n_classes; ++c) member_offsets_[c + 1] += member_offsets_[c];
    members_.resize(member_offsets_[a_.n_classes]);
    auto at = member_offsets_;
    for (Word token = 0; token < a_.vocab_size; ++token)
        if (const Word c = a_.class_of_token[token]; c >= 0) members_[at[c]++] = token;
    members_.insert(members_.end(), a_.stop_tokens.begin(), a_.stop_tokens.end());
    member_offsets_[a_.n_classes + 1] = static_cast<Word>(members_.size());
    stop_.assign(a_.vocab_size, 0);
    for (Word token : a_.stop_tokens) stop_[token] = 1;
    stop_tokens_.assign(a_.stop_tokens.begin(), a_.stop_tokens.end());
    vocabulary_ = {a_.vocab_size, a_.class_of_token.data(), a_.class_offsets.data(), a_.class_bytes.data(), stop_.data()};
    for (std::size_t set = 0; set + 1 < a_.set_offsets.size(); ++set) {
        std::int64_t tokens = 0;  // stop tokens may be text as well
        for (Word i = a_.set_offsets[set]; i < a_.set_offsets[set + 1]; ++i)
            tokens += member_offsets_[a_.set_classes[i] + 1] - member_offsets_[a_.set_classes[i]];
        set_tokens_.push_back(static_cast<Word>(std::min<std::int64_t>(tokens, a_.vocab_size)));
    }
    dense_sets_.resize(set_tokens_.size());
    wanted_labels_.resize(a_.n_labels);
    begin();
}

// An artifact is complete: nothing of this is asked for.
LexArc ArtifactMachine::build_lex_arc(Word, Word) { throw std::logic_error("an artifact has every lexer arc"); }
Word ArtifactMachine::build_start(Cache&, Word, Work&) { throw std::logic_error("an artifact has a start"); }
Machine::Arc ArtifactMachine::build_transition(Cache&, Word, Word, Work&) { throw std::logic_error("an artifact has every transition"); }

void ArtifactMachine::add_set(std::uint32_t* words, Word set) {
    // Setting a bit costs a few times what merging a word does.
    if (static_cast<std::size_t>(set_tokens_[set]) <= n_words() / 4) return add_tokens(words, set);
    auto& dense = dense_sets_[set];
    if (!dense) {
        dense = std::make_unique<std::uint32_t[]>(n_words());
        add_tokens(dense.get(), set);
    }
    for (std::size_t i = 0; i < n_words(); ++i) words[i] |= dense[i];
}

void ArtifactMachine::add_tokens(std::uint32_t* words, Word set) const {
    for (Word i = a_.set_offsets[set]; i < a_.set_offsets[set + 1]; ++i) {
        const Word c = a_.set_classes[i];
        for (Word k = member_offsets_[c]; k < member_offsets_[c + 1]; ++k) words[members_[k] >> 5] |= 1u << (members_[k] & 31);
    }
}

void ArtifactMachine::add_parts(Cache&, Word emission, std::vector<Word>& out) {
    const auto labels = list(a_.label_offsets, a_.labels, emission);
    out.insert(out.end(), labels.begin(), labels.end());
}

void ArtifactMachine::compose(Cache&, Word lexer_state, std::span<const Word> parts, std::uint32_t* words) {
    add_set(words, a_.always[lexer_state]);
    for (Word label : parts) wanted_labels_[label] = 1;
    std::vector<Word> sets;
    for (Word i = a_.meaning_offsets[lexer_state]; i < a_.meaning_offsets[lexer_state + 1]; ++i)
        if (wanted_labels_[a_.meaning_labels[i]]) sets.push_back(a_.meaning_sets[i]);
    std::fill(wanted_labels_.begin(), wanted_labels_.end(), 0);
    sort_unique(sets);
    for (Word set : sets) add_set(words, set);
}

}  // namespace psc
