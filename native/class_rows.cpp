#include "class_rows.hpp"

#include <bit>
#include <cstring>

#include "mask_rows.hpp"

namespace psc {

ClassRows::ClassRows(const TokenTables& tokens, const ClassifierTables& sets, const GivenTokens& given)
    : sets_(sets), n_words_((static_cast<std::size_t>(given.vocab_size) + 31) / 32), n_classes_(tokens.n_classes) {
    offsets_.assign(n_classes_ + 2, 0);
    for (const auto c : tokens.class_of_token)
        if (c) ++offsets_[c.v + 1];
    for (Word c = 0; c < n_classes_; ++c) offsets_[c + 1] += offsets_[c];
    members_.resize(offsets_[n_classes_], TokenId{0});
    auto at = offsets_;
    for (TokenId token{0}; token.v < given.vocab_size; ++token.v)
        if (const auto c = tokens.class_of_token[token]) members_[at[c.v]++] = token;
    members_.insert(members_.end(), given.stop_tokens.begin(), given.stop_tokens.end());
    offsets_[n_classes_ + 1] = static_cast<Word>(members_.size());
    // To set a bit costs some nanoseconds, to merge eight words one. So there are at most eight times 32 large classes.
    const std::size_t large = n_words_ / 8;
    wanted_.resize(static_cast<std::size_t>(n_classes_) / 64 + 1);
    small_.resize(wanted_.size());
    all_large_ = std::make_unique<std::uint32_t[]>(n_words_);
    all_small_ = std::make_unique<std::uint32_t[]>(n_words_);
    for (Word c = 0; c < n_classes_; ++c) {
        const auto own = members(c);
        if (own.size() <= large) {
            small_[c / 64] |= std::uint64_t{1} << c % 64;
            n_small_tokens_ += own.size();
            for (TokenId t : own) set_bit(all_small_.get(), t);
            continue;
        }
        large_.push_back({c, std::make_unique<std::uint32_t[]>(n_words_)});
        for (TokenId t : own) {
            set_bit(large_.back().tokens.get(), t);
            set_bit(all_large_.get(), t);
        }
    }
}

void ClassRows::unite(std::span<const ClassSet> sets, std::uint32_t* words) {
    std::fill(wanted_.begin(), wanted_.end(), 0);
    for (ClassSet set : sets)
        for (SetMember m : sets_.set_classes[sets_.set_offsets[set]]) wanted_[m.v / 64] |= std::uint64_t{1} << m.v % 64;
    const auto is_wanted = [&](Word c) { return wanted_[c / 64] >> c % 64 & 1; };
    std::size_t n_tokens = 0, n_large = 0;
    const auto each_small = [&](std::uint64_t flip, const auto& f) {
        for (std::size_t i = 0; i < wanted_.size(); ++i)
            for (std::uint64_t left = (wanted_[i] ^ flip) & small_[i]; left; left &= left - 1)
                f(members(static_cast<Word>(i * 64) + std::countr_zero(left)));
    };
    each_small(0, [&](std::span<const TokenId> own) { n_tokens += own.size(); });
    if (2 * n_tokens <= n_small_tokens_) {
        each_small(0, [&](std::span<const TokenId> own) {
            for (TokenId t : own) set_bit(words, t);
        });
    } else {
        std::memcpy(words, all_small_.get(), n_words_ * 4);
        each_small(~std::uint64_t{0}, [&](std::span<const TokenId> own) {
            for (TokenId t : own) clear_bit(words, t);
        });
    }
    for (const Large& l : large_) n_large += is_wanted(l.token_class);
    const auto merge = [&](const std::uint32_t* tokens) {
        for (std::size_t i = 0; i < n_words_; ++i) words[i] |= tokens[i];
    };
    if (2 * n_large <= large_.size()) {
        for (const Large& l : large_)
            if (is_wanted(l.token_class)) merge(l.tokens.get());
    } else {
        merge(all_large_.get());
        for (const Large& l : large_)
            if (!is_wanted(l.token_class))
                for (std::size_t i = 0; i < n_words_; ++i) words[i] &= ~l.tokens[i];
    }
    if (is_wanted(n_classes_))
        for (TokenId t : members(n_classes_)) set_bit(words, t);
}

}  // namespace psc
