#include "classifier/token_steps.hpp"

#include <algorithm>
#include <bit>

#include "base/limits.hpp"
#include "base/sorted.hpp"

namespace psc {

namespace {
constexpr int kMinKindsOfRun = 10;
constexpr std::size_t kStepsForFollowed = 4;  // what the trie keeps of it, too
constexpr std::size_t kMaxOutcomes = limit("token_ways");
constexpr std::size_t kMaxOutcomesInAll = limit("vocabulary_ways");
}  // namespace

TokenConfig TokenSteps::intern(const std::vector<Outcome>& outcomes) {
    const auto [id, fresh] = configs_.intern(outcomes);
    if (fresh) {
        n_outcomes_ += outcomes.size();
        if (n_outcomes_ > kMaxOutcomesInAll) throw LimitExceeded("ways to lex all tokens", kMaxOutcomesInAll);
        rows_.push_back(unknown_.data());
        facts_.emplace_back();
    }
    return id;
}

// Configs as states of an automaton; two differ if their continuations do.
struct TokenSteps::ConfigAutomaton {
    using State = TokenConfig;
    TokenSteps& steps;

    ByteClass byte_class(std::uint8_t byte) const { return steps.lexer_.byte_class()[byte]; }
    Maybe<TokenConfig> step(TokenConfig config, std::uint8_t byte) { return steps.step(config, byte_class(byte)); }
    Continuation continuation(TokenConfig config) { return steps.continuation(config); }
};

// Lexer states inside one lexeme; two differ if their lexemes can become different terminals.
struct TokenSteps::StateAutomaton {
    using State = LexerState;
    Lexer& lexer;

    std::optional<LexerState> step(LexerState from, std::uint8_t byte) {
        const auto ways = lexer.steps(from, lexer.byte_class()[byte]);
        return ways.size() == 1 && ways[0].output.v == 0 ? std::optional(ways[0].next) : std::nullopt;
    }
    FutureSet continuation(LexerState state) { return lexer.futures(state); }
};

// Text leads from each lexer state back to it without emitting.
bool TokenSteps::find_stays(TokenConfig config, CharacterKinds kinds) {
    const auto outcomes = configs_[config];
    StayingKinds all = state_staying(outcomes[0].state, kinds);
    for (const Outcome& outcome : outcomes.subspan(1)) all = all & state_staying(outcome.state, kinds);
    return (facts_[config.index()].staying = all).all_stay(kinds);
}

StayingKinds TokenSteps::state_staying(LexerState state, CharacterKinds kinds) {
    StateAutomaton automaton{lexer_};
    const auto of = [&](LexerState at) -> StayingKinds& {
        if (at.index() >= staying_.size()) staying_.resize(static_cast<std::size_t>(lexer_.n_states()));
        return staying_[at.index()];
    };
    find_staying(automaton, state, kinds, of, [&](LexerState at) { return wide_end(automaton, at); });
    return of(state);
}

ConfigSet TokenSteps::set_of(std::span<const TokenConfig> configs) {
    const auto [set, fresh] = config_sets_.intern(configs);
    if (fresh) set_facts_.emplace_back();
    return set;
}

ConfigSet TokenSteps::set_of(TokenConfig config) {
    auto& alone = facts_[config.index()].alone;
    if (!alone) alone = set_of({&config, 1});
    return *alone;
}

// Of characters that are counted, to look at others than most for one subtree costs more than to walk them.
const TokenSteps::SetOnward& TokenSteps::onward(ConfigSet set, Together together) {
    const bool thorough = together == Together::alike;
    if (const auto& known = set_facts_[set.index()].onward[thorough]) return *known;
    ConfigAutomaton automaton{*this};
    const std::vector<TokenConfig> configs = config_sets_.copy(set);
    const auto found = psc::onward(automaton, std::span(configs), kMaxConfigs, together);
    const ConfigSet next = found.kinds ? set_of(found.next) : set;
    return *(set_facts_[set.index()].onward[thorough] = SetOnward{next, found.kinds, found.dead});
}

std::optional<TokenSteps::Run> TokenSteps::run(TokenConfig config, Word longest) {
    namespace kind = character_kinds;
    std::vector<ConfigSet> sets{set_of(config)};
    CharacterKinds kinds = onward(sets[0], Together::alike).kinds & ~(kind::kRest | kind::kStray);
    if (!(kinds & kind::kWide)) kinds &= ~kind::kCut;
    if (std::popcount(kinds) < kMinKindsOfRun || !(kinds & kind::of('a'))) return {};
    const auto next = [&](ConfigSet set, int) { return &onward(set, Together::alike); };
    const auto ends = follow_run(sets, kinds, longest, next);
    if (!ends) return {};
    Run run{kinds, {}, {}, *ends};
    for (ConfigSet set : sets) {
        run.by_length.push_back(config_sets_[set][0]);
        run.alone.push_back(config_sets_[set].size() == 1);
    }
    const auto is_alike = [&](TokenConfig to) { return continuation(to) == continuation(config); };
    return std::ranges::all_of(run.by_length, is_alike) ? std::nullopt : std::optional(std::move(run));
}

Maybe<TokenConfig> TokenSteps::after_any_wide(TokenConfig config) {
    ConfigAutomaton automaton{*this};
    const auto end = wide_end(automaton, config);
    return end.is_alike ? Maybe<TokenConfig>(*end.state) : Maybe<TokenConfig>();
}

Continuation TokenSteps::find_continuation(TokenConfig config) {
    Continuation made;
    if (const auto outcomes = configs_[config]; outcomes.size() == 1)
        made = continuation_of_one(outcomes[0]);
    else
        made = continuation_of(configs_.copy(config));
    facts_[config.index()].continuation = made;
    return made;
}

Continuation TokenSteps::continuation_of_one(Outcome outcome) {
    // The states of a lexeme mostly become the same.
    const FutureSet set = lexer_.futures(outcome.state);
    if (const auto known = continuation_ids_.find(outcome.sequence, set)) return *known;
    const Continuation made = continuation_of({outcome});
    continuation_ids_.insert(outcome.sequence, set, made);
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
    const auto ways = lexer_.steps(before.state, byte_class);
    for (const LexWay& way : ways)
        if (const auto to = extend(before.sequence, lexer_.output(way.output))) after.push_back({*to, way.next});
    lexer_.pay(kStepsForFollowed * ways.size());
}

void TokenSteps::remember(TokenConfig config, ByteClass byte_class, Maybe<TokenConfig> to) {
    auto& row = rows_[config.index()];
    if (row == unknown_.data()) {
        Word& place = facts_[config.index()].few;
        if (place < 0) {
            if (few_to_use_.empty()) {
                place = static_cast<Word>(few_.size());
                few_.emplace_back();
            } else {
                place = few_to_use_.back();
                few_to_use_.pop_back();
            }
        }
        FewSteps& few = few_[static_cast<std::size_t>(place)];
        if (const auto free = std::ranges::find(few.to, kUnknown); free != few.to.end()) {
            *free = to;
            few.byte_class[static_cast<std::size_t>(free - few.to.begin())] = static_cast<std::uint8_t>(byte_class.v);
            return;
        }
        own_rows_.push_back(std::make_unique_for_overwrite<Maybe<TokenConfig>[]>(unknown_.size()));
        row = own_rows_.back().get();
        std::copy(unknown_.begin(), unknown_.end(), row);
        for (std::size_t i = 0; i < FewSteps::kMax; ++i) row[few.byte_class[i]] = few.to[i];
        few = {};
        few_to_use_.push_back(place);
        place = -1;
    }
    row[byte_class.index()] = to;
}

Maybe<TokenConfig> TokenSteps::find_step(TokenConfig config, ByteClass byte_class) {
    if (const Word place = facts_[config.index()].few; place >= 0) {
        const FewSteps& few = few_[static_cast<std::size_t>(place)];
        for (std::size_t i = 0; i < FewSteps::kMax && few.to[i] != kUnknown; ++i)
            if (few.byte_class[i] == byte_class.v) return few.to[i];
    }
    return make_step(config, byte_class);
}

Maybe<TokenConfig> TokenSteps::make_step(TokenConfig config, ByteClass byte_class) {
    auto& after = after_;
    after.clear();
    for (const Outcome& before : configs_[config]) follow(before, byte_class, after);
    const auto result = this->config(after);
    remember(config, byte_class, result);
    return result;
}

Maybe<TokenConfig> TokenSteps::config(std::vector<Outcome>& outcomes) {
    if (outcomes.empty()) return {};
    if (outcomes.size() > 1) {
        sort_unique(outcomes);
        // An outcome that no stack lets go on tells apart what is alike: in a string, what could be the beginning of a keyword.
        std::erase_if(outcomes, [&](const Outcome& outcome) { return nodes(continuation_of_one(outcome)).empty(); });
        if (outcomes.empty()) return {};
        if (outcomes.size() > kMaxOutcomes) throw LimitExceeded("ways to lex one token", kMaxOutcomes);
    }
    // What no stack lets become a lexeme is dead at once, though the lexer could go on: it could only become what it can now.
    const TokenConfig made = intern(outcomes);
    return nodes(continuation(made)).empty() ? Maybe<TokenConfig>() : made;
}

}  // namespace psc
