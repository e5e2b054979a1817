#include "masks/class_rows.hpp"

#include <algorithm>
#include <bit>

#include "base/bit_counts.hpp"
#include "masks/rows.hpp"

namespace psc {

ClassRows::ClassRows(const TokenTables& tokens, const ClassifierTables& sets, const GivenTokens& given)
    : sets_(sets),
      n_words_((static_cast<std::size_t>(given.vocab_size) + 31) / 32),
      n_classes_(tokens.n_classes),
      n_class_words_(static_cast<std::size_t>(n_classes_) / 64 + 1) {
    members_ = Grouped<TokenId>(static_cast<std::size_t>(n_classes_), [&](const auto& add) {
        for (TokenId token{0}; token.v < given.vocab_size; ++token.v)
            if (const auto c = tokens.class_of_token[token]) add(static_cast<std::size_t>(c.v), token);
    });
    std::vector<TokenId> stops(given.stop_tokens.begin(), given.stop_tokens.end());
    std::sort(stops.begin(), stops.end());
    stops.erase(std::unique(stops.begin(), stops.end()), stops.end());
    for (TokenId token : stops) stops_.push_back({token, tokens.class_of_token[token]});
    // To flip a bit costs some nanoseconds, to flip eight words one. So there are at most eight times 32 large classes.
    const std::size_t large = n_words_ / 8;
    no_classes_.resize(n_class_words_);
    small_.resize(n_class_words_);
    all_classes_.resize(n_class_words_);
    all_tokens_ = std::make_unique<std::uint32_t[]>(n_words_);
    for (TokenId t : members_.values()) set_bit(all_tokens_.get(), t);
    for (Word c = 0; c < n_classes_; ++c) {
        add(all_classes_, c);
        const auto own = members(c);
        if (own.size() <= large) {
            add(small_, c);
            continue;
        }
        large_.push_back({c, own.size(), std::make_unique<std::uint32_t[]>(n_words_)});
        for (TokenId t : own) set_bit(large_.back().tokens.get(), t);
    }
    const auto n_sets = static_cast<std::size_t>(sets_.set_offsets.n_lists());
    many_.assign(n_sets, -1);
    for (std::size_t s = 0; s < n_sets; ++s) {
        const auto own = sets_.set_classes[sets_.set_offsets.range(s)];
        if (own.size() < n_class_words_) continue;
        many_[s] = static_cast<Word>(many_classes_.size() / n_class_words_);
        many_classes_.resize(many_classes_.size() + n_class_words_);
        const Classes classes = Classes(many_classes_).last(n_class_words_);
        for (SetMember m : own) add(classes, m.v);
    }
}

void ClassRows::unite(ClassSet set, Classes classes) const {
    if (many_[set.index()] < 0) {
        for (SetMember m : sets_.set_classes[sets_.set_offsets[set]]) add(classes, m.v);
        return;
    }
    const std::uint64_t* own = many_classes_.data() + static_cast<std::size_t>(many_[set.index()]) * n_class_words_;
    for (std::size_t i = 0; i < n_class_words_; ++i) classes[i] |= own[i];
}

std::size_t ClassRows::distance(ConstClasses a, ConstClasses b) const {
    std::size_t d = count_bits(n_class_words_, [&](std::size_t i) { return a[i] ^ b[i]; });
    for (const Large& l : large_)
        if (has(a, l.token_class) != has(b, l.token_class)) d += n_words_ / 16;
    return d;
}

std::size_t ClassRows::flip(ConstClasses before, ConstClasses after, std::size_t n_tokens, std::uint32_t* words) const {
    for (std::size_t i = 0; i < n_class_words_; ++i)
        for (std::uint64_t left = (before[i] ^ after[i]) & small_[i]; left; left &= left - 1) {
            const auto own = members(static_cast<Word>(i * 64) + std::countr_zero(left));
            for (TokenId t : own) words[t.v >> 5] ^= 1u << (t.v & 31);
            n_tokens += left & -left & after[i] ? own.size() : -own.size();
        }
    for (const Large& l : large_) {
        if (has(before, l.token_class) == has(after, l.token_class)) continue;
        const std::uint32_t* own = l.tokens.get();
        for (std::size_t i = 0; i < n_words_; ++i) words[i] ^= own[i];
        n_tokens += has(after, l.token_class) ? l.n_tokens : -l.n_tokens;
    }
    return n_tokens;
}

std::size_t ClassRows::put_stops(ConstClasses classes, std::uint32_t* words) const {
    std::size_t own = 0;
    for (const Stop& stop : stops_) {
        const bool is_text = stop.token_class && has(classes, stop.token_class.v);
        const bool stops = !is_text && has(classes, n_classes_);
        own += stops;
        if (is_text || stops)
            set_bit(words, stop.token);
        else
            clear_bit(words, stop.token);
    }
    return own;
}

}  // namespace psc
