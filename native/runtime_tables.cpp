#include "runtime_tables.hpp"

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
void check_size(const std::vector<T>& v, std::size_t size, const char* what) {
    if (v.size() != size) bad(what, "has the wrong length");
}

// Every element in [low, high).
void check_range(const std::vector<Word>& v, Word low, Word high, const char* what) {
    for (Word x : v)
        if (x < low || x >= high) bad(what, "holds an index out of range");
}

// Offsets of `n` lists into a pool: from 0, never falling, to the pool's size.
void check_offsets(const std::vector<Word>& offsets, std::size_t n, std::size_t pool, const char* what) {
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
void RuntimeTables::check() const {
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
    check_offsets(a.emission_offsets, n_emissions, a.emission_terminals.size(), "emission_offsets");
    if (a.emission_offsets[1] != 0) bad("emission_offsets", "does not begin with the empty emission");
    check_range(a.emission_terminals, 0, a.n_terminals, "emission_terminals");
    check_size(a.lexer_next, product(a.n_lexer_states, a.n_byte_classes), "lexer_next");
    check_size(a.lexer_emit, a.lexer_next.size(), "lexer_emit");
    check_range(a.lexer_next, -1, a.n_lexer_states, "lexer_next");
    check_range(a.lexer_emit, 0, n_emissions, "lexer_emit");
    check_size(a.at_end, a.n_lexer_states, "at_end");
    check_range(a.at_end, -1, n_emissions, "at_end");
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

RuntimeTables::RuntimeTables(RuntimeArrays arrays) : a_(std::move(arrays)), rows_by_hash_(1024) {
    check();
    n_words_ = (static_cast<std::size_t>(a_.vocab_size) + 31) / 32;
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
    for (std::size_t set = 0; set + 1 < a_.set_offsets.size(); ++set) {
        std::int64_t tokens = 0;  // hostile tables may name a class many times
        for (Word i = a_.set_offsets[set]; i < a_.set_offsets[set + 1]; ++i)
            tokens += member_offsets_[a_.set_classes[i] + 1] - member_offsets_[a_.set_classes[i]];
        set_tokens_.push_back(static_cast<Word>(std::min<std::int64_t>(tokens, a_.vocab_size)));
    }
    dense_sets_.resize(set_tokens_.size());
    wanted_labels_.resize(a_.n_labels);
    emission_sets_.intern({});
}

bool RuntimeTables::transition(Word state, Word symbol, Arc& out) const {
    const Word* begin = a_.arc_symbol.data() + a_.arc_offsets[state];
    const Word* end = a_.arc_symbol.data() + a_.arc_offsets[state + 1];
    const Word* at = std::lower_bound(begin, end, symbol);
    if (at == end || *at != symbol) return false;
    const std::size_t i = at - a_.arc_symbol.data();
    out = {a_.arc_next[i], a_.arc_skip[i], a_.arc_emission[i]};
    return true;
}

Word RuntimeTables::make_union(Word set, Word emission) {
    const auto span = emission_sets_[set];
    std::vector<Word> all(span.begin(), span.end());
    if (const auto it = std::lower_bound(all.begin(), all.end(), emission); it == all.end() || *it != emission)
        all.insert(it, emission);
    const Word id = emission_sets_.intern(all).first;
    unions_.insert(set, emission, id);
    return id;
}

void RuntimeTables::add_set(std::uint32_t* words, Word set) {
    // Setting a bit costs a few times what merging a word does.
    if (static_cast<std::size_t>(set_tokens_[set]) <= n_words_ / 4) return add_tokens(words, set);
    auto& dense = dense_sets_[set];
    if (!dense) {
        dense = std::make_unique<std::uint32_t[]>(n_words_);
        add_tokens(dense.get(), set);
    }
    for (std::size_t i = 0; i < n_words_; ++i) words[i] |= dense[i];
}

void RuntimeTables::add_tokens(std::uint32_t* words, Word set) const {
    for (Word i = a_.set_offsets[set]; i < a_.set_offsets[set + 1]; ++i) {
        const Word c = a_.set_classes[i];
        for (Word k = member_offsets_[c]; k < member_offsets_[c + 1]; ++k) words[members_[k] >> 5] |= 1u << (members_[k] & 31);
    }
}

namespace {

// Four independent lanes, because a row is kilobytes and the multiplications would wait for each other.
std::uint64_t hash_row(const std::uint32_t* words, std::size_t n) {
    std::uint64_t lane[4] = {1, 2, 3, 4};
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 4; ++k) {
            std::uint64_t x;
            std::memcpy(&x, words + i + 2 * k, 8);
            lane[k] = (lane[k] ^ x) * 0xd6e8feb86659fd93ULL;
            lane[k] ^= lane[k] >> 32;
        }
    std::uint64_t h = 0;
    for (std::uint64_t x : lane) h = mix(h ^ x) + 1;
    for (; i < n; ++i) h = mix(h ^ words[i]);
    return h;
}

}  // namespace

Word RuntimeTables::make_row(Word lexer_state, Word emissions) {
    auto words = std::make_unique<std::uint32_t[]>(n_words_);
    add_set(words.get(), a_.always[lexer_state]);
    for (Word e : emission_sets_[emissions])
        for (Word i = a_.label_offsets[e]; i < a_.label_offsets[e + 1]; ++i) wanted_labels_[a_.labels[i]] = 1;
    std::vector<Word> sets;
    for (Word i = a_.meaning_offsets[lexer_state]; i < a_.meaning_offsets[lexer_state + 1]; ++i)
        if (wanted_labels_[a_.meaning_labels[i]]) sets.push_back(a_.meaning_sets[i]);
    std::fill(wanted_labels_.begin(), wanted_labels_.end(), 0);
    sort_unique(sets);
    for (Word set : sets) add_set(words.get(), set);
    // Equal rows are one.
    const std::uint64_t h = hash_row(words.get(), n_words_);
    auto& bucket = rows_by_hash_[h & (rows_by_hash_.size() - 1)];
    Word id = -1;
    for (Word r : bucket)
        if (std::equal(words.get(), words.get() + n_words_, rows_[r].get())) id = r;
    if (id < 0) {
        id = n_rows();
        rows_.push_back(std::move(words));
        bucket.push_back(id);
    }
    row_ids_.insert(lexer_state, emissions, id);
    return id;
}

}  // namespace psc
