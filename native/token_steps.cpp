#include "token_steps.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "limits.hpp"
#include "sorted.hpp"

namespace psc {

namespace {
constexpr std::size_t kMaxOutcomes = 1 << 14;
constexpr std::size_t kMaxOutcomesInAll = 1 << 23;
}  // namespace

TokenConfig TokenSteps::intern(const std::vector<Outcome>& outcomes) {
    const auto [id, fresh] = configs_.intern(outcomes);
    if (fresh) {
        n_outcomes_ += outcomes.size();
        if (n_outcomes_ > kMaxOutcomesInAll) throw LimitExceeded("ways to lex all tokens", kMaxOutcomesInAll);
        rows_.push_back(std::make_unique_for_overwrite<Maybe<TokenConfig>[]>(lexer_.n_classes()));
        std::fill_n(rows_.back().get(), lexer_.n_classes(), kUnknown);
        facts_.emplace_back();
    }
    return id;
}

VocabularyIndex::Kinds TokenSteps::find_stays(TokenConfig config) {
    VocabularyIndex::Kinds all = ~0u;
    for (const Outcome& outcome : configs_[config]) all &= state_stays(outcome.state);
    return *(facts_[config.index()].stays = all);
}

VocabularyIndex::Kinds TokenSteps::state_stays(LexerState state) {
    if (state.index() >= stays_.size()) stays_.resize(lexer_.n_states());
    if (stays_[state.index()]) return *stays_[state.index()];
    struct {  // the bytes of a class mostly follow each other
        Maybe<LexerState> from;
        ByteClass byte_class;
        std::optional<LexerState> to;
    } last{};
    const auto step = [&](LexerState from, std::uint8_t byte) {
        const ByteClass byte_class = lexer_.byte_class()[byte];
        if (last.from != Maybe<LexerState>(from) || last.byte_class != byte_class) {
            const auto ways = lexer_.steps(from, byte_class);
            last = {from, byte_class, {}};
            if (ways.size() == 1 && ways[0].output.v == 0) last.to = ways[0].next;
        }
        return last.to;
    };
    VocabularyIndex::Kinds stays = VocabularyIndex::kinds_that_stay(state, step);
    if (stays & VocabularyIndex::kWide) {
        const FutureSet future = lexer_.futures(state);
        bool same = true;
        after_wide(state, step, [&](LexerState within) { same = same && lexer_.futures(within) == future; });
        if (same) stays |= VocabularyIndex::kCut;
    }
    if (state.index() >= stays_.size()) stays_.resize(lexer_.n_states());
    return *(stays_[state.index()] = stays);
}

TokenSteps::Onward TokenSteps::onward(TokenConfig config) {
    if (facts_[config.index()].onward) return *facts_[config.index()].onward;
    std::vector<Maybe<TokenConfig>> targets(lexer_.n_classes());
    for (Word c = 0; c < lexer_.n_classes(); ++c) targets[c] = step(config, {static_cast<std::uint8_t>(c)});
    // Per kind, where all of its bytes lead; none where they do not lead to one config.
    std::array<Maybe<TokenConfig>, VocabularyIndex::kKinds> of_kind{};
    VocabularyIndex::Kinds seen = 0, mixed = VocabularyIndex::kWide | VocabularyIndex::kCut | VocabularyIndex::kStray;
    for (int b = 0; b < 0xc0; ++b) {
        const auto kind = b < 0x80 ? VocabularyIndex::kind(static_cast<std::uint8_t>(b)) : VocabularyIndex::kRest;
        const auto to = targets[lexer_.byte_class()[b].index()];
        auto& of = of_kind[std::countr_zero(kind)];
        if ((seen & kind) == 0)
            of = to;
        else if (of != to)
            mixed |= kind;
        seen |= kind;
    }
    // Where a character leads to one config, and a token that ends within it can become what one that ends there can.
    std::vector<TokenConfig> within;
    const auto after = after_wide(
        config, [&](TokenConfig at, std::uint8_t byte) { return step(at, lexer_.byte_class()[byte]); },
        [&](TokenConfig at) { within.push_back(at); });
    const auto becomes_it = [&](TokenConfig at) { return continuation(at) == continuation(*after); };
    if (after && std::all_of(within.begin(), within.end(), becomes_it)) {
        of_kind[std::countr_zero(VocabularyIndex::kWide)] = *after;
        mixed &= ~VocabularyIndex::kWide;
    }
    Onward best{config, 0, 0};
    const auto [first, last] = wide_bytes_at(Utf8Place::between);
    const auto is_dead = [&](ByteClass byte_class) { return !targets[byte_class.index()]; };
    if (std::all_of(&lexer_.byte_class()[first], &lexer_.byte_class()[last] + 1, is_dead))
        best.dead = VocabularyIndex::kWide | VocabularyIndex::kCut;
    for (int k = 0; k < VocabularyIndex::kKinds; ++k) {
        const auto to = of_kind[k];
        if ((mixed >> k & 1) || (best.kinds >> k & 1)) continue;
        VocabularyIndex::Kinds same = 0;
        for (int other = k; other < VocabularyIndex::kKinds; ++other)
            if (of_kind[other] == to && !(mixed >> other & 1)) same |= VocabularyIndex::Kinds{1} << other;
        if (!to)
            best.dead |= same;
        else if (std::popcount(same) > std::popcount(best.kinds))
            best = {*to, same, best.dead};
    }
    if (best.kinds & VocabularyIndex::kWide) best.kinds |= VocabularyIndex::kCut;
    return *(facts_[config.index()].onward = best);
}

Continuation TokenSteps::find_continuation(TokenConfig config) {
    Continuation made;
    if (const auto outcomes = configs_[config]; outcomes.size() == 1) {
        // The states of a lexeme mostly become the same.
        const Outcome only = outcomes[0];
        const FutureSet set = lexer_.futures(only.state);
        if (const auto known = continuation_ids_.find(only.sequence, set)) {
            made = *known;
        } else {
            made = continuation_of({only});
            continuation_ids_.insert(only.sequence, set, made);
        }
    } else {
        made = continuation_of(configs_.copy(config));
    }
    facts_[config.index()].continuation = made;
    return made;
}

Continuation TokenSteps::continuation_of(const std::vector<Outcome>& outcomes) {
    std::vector<SequenceNode> all;
    for (const Outcome& outcome : outcomes) {
        const auto& more = futures(outcome);
        all.insert(all.end(), more.begin(), more.end());
    }
    sort_unique(all);
    return continuations_.id_of(all);
}

Maybe<SequenceNode> TokenSteps::extend(Maybe<SequenceNode> node, std::span<const OutputSymbol> symbols) {
    for (OutputSymbol symbol : symbols) {
        if (!node) break;
        node = lexer_.is_condition(symbol) ? trie_.where(*node, lexer_.condition(symbol)) : trie_.child(*node, symbol.terminal());
    }
    return node;
}

const std::vector<SequenceNode>& TokenSteps::futures(Outcome outcome) {
    found_.clear();
    trie_.add_any_of(outcome.sequence, as_trie_has_it(lexer_.futures(outcome.state)), found_);
    return found_;
}

// The lexer's sets name conditions in a way of its own.
TrieSet TokenSteps::as_trie_has_it(FutureSet set) {
    if (set <= FutureSets::kOne) return {set.v};
    if (const auto known = trie_sets_.find(set); known != trie_sets_.end()) return known->second;
    std::vector<TrieSet> parts;
    for (const FutureEdge& edge : lexer_.future_sets().edges(set)) {
        const TrieSymbol symbol = lexer_.is_condition(edge.symbol) ? trie_.condition_symbol(lexer_.condition(edge.symbol))
                                                                   : TrieSymbol::of(edge.symbol.terminal());
        parts.push_back(trie_.sets().before(symbol, as_trie_has_it(edge.then)));
    }
    return trie_sets_[set] = trie_.sets().unite(parts);
}

void TokenSteps::follow(Outcome before, ByteClass byte_class, std::vector<Outcome>& after) {
    for (const LexWay& way : lexer_.steps(before.state, byte_class))
        if (const auto to = extend(before.sequence, lexer_.output(way.output))) after.push_back({*to, way.next});
}

Maybe<TokenConfig> TokenSteps::find_step(TokenConfig config, ByteClass byte_class) {
    auto& after = after_;
    after.clear();
    for (const Outcome& before : configs_[config]) follow(before, byte_class, after);
    if (after.size() > 1) {
        sort_unique(after);
        if (after.size() > kMaxOutcomes) throw LimitExceeded("ways to lex one token", kMaxOutcomes);
    }
    Maybe<TokenConfig> result;
    // What no stack lets become a lexeme is dead at once, though the lexer could go on: it could only become what it can now.
    if (!after.empty())
        if (const TokenConfig to = intern(after); !nodes(continuation(to)).empty()) result = to;
    rows_[config.index()][byte_class.index()] = result;
    return result;
}

}  // namespace psc
