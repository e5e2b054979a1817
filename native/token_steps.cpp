#include "token_steps.hpp"

#include <algorithm>

#include "limits.hpp"

namespace psc {

namespace {
constexpr std::size_t kMaxOutcomes = 1 << 14;
constexpr std::size_t kMaxOutcomesInAll = 1 << 23;
}  // namespace

Word TokenSteps::intern(const std::vector<Word>& outcomes) {
    const auto [id, fresh] = configs_.intern(outcomes);
    if (fresh) {
        n_outcomes_ += outcomes.size() / 2;
        if (n_outcomes_ > kMaxOutcomesInAll) throw LimitExceeded("ways to lex all tokens", kMaxOutcomesInAll);
        rows_.push_back(std::make_unique_for_overwrite<Word[]>(lexer_.n_classes()));
        std::fill_n(rows_.back().get(), lexer_.n_classes(), kUnknown);
    }
    return id;
}

VocabularyIndex::Kinds TokenSteps::state_stays(Word state) {
    if (static_cast<std::size_t>(state) >= stays_.size()) stays_.resize(lexer_.n_states());
    if (stays_[state]) return *stays_[state];
    std::vector<char> same(lexer_.n_classes());
    for (Word c = 0; c < lexer_.n_classes(); ++c) {
        const auto steps = lexer_.steps(state, c);
        same[c] = steps.size() == 2 && steps[0] == 0 && steps[1] == state;
    }
    VocabularyIndex::Kinds leaves = 0;
    for (int b = 0; b < 256; ++b)
        if (!same[lexer_.byte_class()[b]]) leaves |= VocabularyIndex::kind(static_cast<std::uint8_t>(b));
    if (static_cast<std::size_t>(state) >= stays_.size()) stays_.resize(lexer_.n_states());
    return *(stays_[state] = ~leaves);
}

Word TokenSteps::config(Word node, Word state) { return intern({node, state}); }

Word TokenSteps::extend(Word node, std::span<const Word> symbols) {
    for (Word symbol : symbols) {
        if (node == kNoNode) break;
        node = lexer_.is_condition(symbol) ? trie_.where(node, lexer_.condition(symbol)) : trie_.child(node, symbol);
    }
    return node;
}

const std::vector<Word>& TokenSteps::futures(Word node, Word state) {
    found_.clear();
    trie_.add_any_of(node, as_trie_has_it(lexer_.futures(state)), found_);
    return found_;
}

// The lexer's sets name conditions in a way of its own.
Word TokenSteps::as_trie_has_it(Word set) {
    if (set <= SequenceSets::kOne) return set;
    if (const auto known = trie_sets_.find(set); known != trie_sets_.end()) return known->second;
    std::vector<Word> parts;
    const auto edges = lexer_.future_sets().edges(set);
    for (std::size_t i = 0; i < edges.size(); i += 2) {
        const Word symbol = lexer_.is_condition(edges[i]) ? trie_.condition_symbol(lexer_.condition(edges[i])) : edges[i];
        parts.push_back(trie_.sets().before(symbol, as_trie_has_it(edges[i + 1])));
    }
    return trie_sets_[set] = trie_.sets().unite(std::move(parts));
}

Word TokenSteps::find_step(Word config, Word byte_class) {
    const auto span = configs_[config];
    std::vector<Word> after;
    if (span.size() == 2) {
        const Word node = span[0];
        const auto steps = lexer_.steps(span[1], byte_class);
        for (std::size_t i = 0; i < steps.size(); i += 2)
            if (const Word to = extend(node, lexer_.emission(steps[i])); to != kNoNode)
                after.insert(after.end(), {to, steps[i + 1]});
    } else {
        const std::vector<Word> before(span.begin(), span.end());
        for (std::size_t k = 0; k < before.size(); k += 2) {
            const auto steps = lexer_.steps(before[k + 1], byte_class);
            for (std::size_t i = 0; i < steps.size(); i += 2)
                if (const Word to = extend(before[k], lexer_.emission(steps[i])); to != kNoNode)
                    after.insert(after.end(), {to, steps[i + 1]});
        }
    }
    if (after.size() > 2) {
        std::vector<std::pair<Word, Word>> all;
        for (std::size_t i = 0; i < after.size(); i += 2) all.emplace_back(after[i], after[i + 1]);
        std::sort(all.begin(), all.end());
        all.erase(std::unique(all.begin(), all.end()), all.end());
        if (all.size() > kMaxOutcomes) throw LimitExceeded("ways to lex one token", kMaxOutcomes);
        after.clear();
        for (const auto& [node, state] : all) after.insert(after.end(), {node, state});
    }
    const Word result = after.empty() ? kDead : intern(after);
    rows_[config][byte_class] = result;
    return result;
}

}  // namespace psc
