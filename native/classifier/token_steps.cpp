#include "classifier/token_steps.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "base/limits.hpp"
#include "base/sorted.hpp"

namespace psc {

namespace {
constexpr int kMinKindsOfRun = 10;
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

ConfigSet TokenSteps::set_of(TokenConfig config) {
    if (const auto known = facts_[config.index()].alone) return *known;
    const auto [set, fresh] = config_sets_.intern({&config, 1});
    if (fresh) set_facts_.emplace_back();
    facts_[config.index()].alone = set;
    return set;
}

// The bytes of characters beyond ASCII.
void TokenSteps::follow_wide(std::span<const TokenConfig> from, Targets& targets) {
    std::vector<std::pair<TokenConfig, Utf8Place>> met;
    for (TokenConfig config : from) met.emplace_back(config, Utf8Place::between);
    for (std::size_t i = 0; i < met.size(); ++i) {
        const auto [config, place] = met[i];
        const auto [first, last] = wide_bytes_at(place);
        for (int byte = first; byte <= last; ++byte) {
            const auto to = step(config, lexer_.byte_class()[byte]);
            const Utf8Place after = place_after(place, byte);
            if (!to) {
                targets.some_dead = true;
            } else if (after == Utf8Place::between) {
                if (targets.all.empty() || targets.all.back() != *to) targets.all.push_back(*to);
            } else if (const std::pair next{*to, after}; std::find(met.rbegin(), met.rend(), next) == met.rend()) {
                if (met.size() == kMaxConfigs * 8) {
                    targets.some_dead = true;
                    return;
                }
                met.push_back(next);
                targets.within.push_back(*to);
            }
        }
    }
}

// Whether every byte of these kinds of ASCII leads on.
bool TokenSteps::reads(TokenConfig config, VocabularyIndex::Kinds kinds) {
    for (int b = 0; b < 0x80; ++b)
        if ((VocabularyIndex::kind(static_cast<std::uint8_t>(b)) & kinds) && !step(config, lexer_.byte_class()[b])) return false;
    return true;
}

// Most kinds lead to one config. Others go with them where they lead to configs with the same continuation that read on: in a string,
// `"` and what follows a backslash do not.
TokenSteps::Onward TokenSteps::onward(ConfigSet set, bool thorough) {
    if (const auto& known = set_facts_[set.index()].onward[thorough]) return *known;
    const std::vector<TokenConfig> configs = config_sets_.copy(set);
    std::array<Targets, VocabularyIndex::kKinds> of_kind;
    std::array<VocabularyIndex::Kinds, 256> seen{};  // per class of bytes
    for (int b = 0; b < 0xc0; ++b) {
        const auto kind = b < 0x80 ? VocabularyIndex::kind(static_cast<std::uint8_t>(b)) : VocabularyIndex::kRest;
        const ByteClass byte_class = lexer_.byte_class()[b];
        if (seen[byte_class.index()] & kind) continue;
        seen[byte_class.index()] |= kind;
        Targets& targets = of_kind[std::countr_zero(kind)];
        for (TokenConfig config : configs) {
            if (const auto to = step(config, byte_class))
                targets.all.push_back(*to);
            else
                targets.some_dead = true;
        }
    }
    follow_wide(configs, of_kind[std::countr_zero(VocabularyIndex::kWide)]);
    for (Targets& targets : of_kind) sort_unique(targets.all);
    Onward found{set, 0, 0};
    std::map<TokenConfig, VocabularyIndex::Kinds> to_one;
    for (int k = 0; k < VocabularyIndex::kKinds; ++k) {
        const Targets& targets = of_kind[k];
        const auto kind = VocabularyIndex::Kinds{1} << k;
        if (targets.all.size() == 1 && !targets.some_dead && targets.within.empty()) to_one[targets.all[0]] |= kind;
        if (targets.some_dead && targets.all.empty() && targets.within.empty()) found.dead |= kind;
    }
    if (found.dead & VocabularyIndex::kWide) found.dead |= VocabularyIndex::kCut;
    const auto weighs_less = [](const auto& a, const auto& b) { return std::popcount(a.second) < std::popcount(b.second); };
    VocabularyIndex::Kinds first = 0, read = 0;  // that lead to one config; that what is reached by others has to read
    Continuation after{};
    std::vector<TokenConfig> next, more;
    const Continuation own = continuation(configs[0]);
    const auto is_like = [&](TokenConfig to) { return continuation(to) == after; };
    if (const auto most = std::max_element(to_one.begin(), to_one.end(), weighs_less); most != to_one.end()) {
        next.push_back(most->first);
        after = continuation(most->first);
        first = read = most->second;
    } else {
        after = own;
        for (char c : {'a', 'A', '0'}) {
            const auto kind = VocabularyIndex::kind(static_cast<std::uint8_t>(c));
            const Targets& targets = of_kind[std::countr_zero(kind)];
            if (!targets.some_dead && std::ranges::all_of(targets.all, is_like)) read |= kind;
        }
    }
    if (read) {
        found.kinds = first;
        for (int k = 0; k < VocabularyIndex::kKinds; ++k) {
            const Targets& targets = of_kind[k];
            const auto kind = VocabularyIndex::Kinds{1} << k;
            if ((found.kinds & kind) || targets.some_dead || targets.all.empty()) continue;
            // Of characters that are counted, to look at others for one subtree costs more than to walk them.
            if (!thorough && after != own && kind != VocabularyIndex::kWide) continue;
            const auto goes_on = [&](TokenConfig to) { return (first && to == next[0]) || reads(to, read); };
            if (!std::ranges::all_of(targets.all, is_like) || !std::ranges::all_of(targets.within, is_like) ||
                !std::ranges::all_of(targets.all, goes_on))
                continue;
            found.kinds |= kind == VocabularyIndex::kWide ? kind | VocabularyIndex::kCut : kind;
            more.insert(more.end(), targets.all.begin(), targets.all.end());
        }
        next.insert(next.end(), more.begin(), more.end());
        sort_unique(next);
        if (found.kinds && next.size() <= kMaxConfigs) {
            const auto [id, fresh] = config_sets_.intern(next);
            if (fresh) set_facts_.emplace_back();
            found.next = id;
        } else {
            found.kinds = 0;
        }
    }
    return *(set_facts_[set.index()].onward[thorough] = found);
}

std::optional<TokenSteps::Run> TokenSteps::run(TokenConfig config, Word longest) {
    using Index = VocabularyIndex;
    ConfigSet set = set_of(config);
    Index::Kinds kinds = onward(set, true).kinds & ~(Index::kRest | Index::kStray);
    if (!(kinds & Index::kWide)) kinds &= ~Index::kCut;
    if (std::popcount(kinds) < kMinKindsOfRun || !(kinds & Index::kind('a'))) return {};
    Run run{kinds, {config}, {true}, false};
    bool counts = false;
    for (Word k = 0; k < longest; ++k) {
        const Onward to = onward(set, true);
        if ((kinds & ~to.dead) == 0) {
            run.ends = true;
            break;
        }
        if ((kinds & ~to.kinds) != 0) return {};
        if (to.next == set) break;
        set = to.next;
        const TokenConfig any = config_sets_[set][0];
        counts = counts || continuation(any) != continuation(config);
        run.by_length.push_back(any);
        run.alone.push_back(config_sets_[set].size() == 1);
    }
    if (!counts) return {};
    return run;
}

Maybe<TokenConfig> TokenSteps::after_any_wide(TokenConfig config) {
    Targets targets;
    follow_wide({&config, 1}, targets);
    sort_unique(targets.all);
    if (targets.some_dead || targets.all.size() != 1) return {};
    const Continuation after = continuation(targets.all[0]);
    const bool alike = std::ranges::all_of(targets.within, [&](TokenConfig within) { return continuation(within) == after; });
    return alike ? Maybe<TokenConfig>(targets.all[0]) : Maybe<TokenConfig>();
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
    for (const LexWay& way : lexer_.steps(before.state, byte_class))
        if (const auto to = extend(before.sequence, lexer_.output(way.output))) after.push_back({*to, way.next});
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
        for (std::size_t i = 0; i < FewSteps::kMost; ++i) row[few.byte_class[i]] = few.to[i];
        few = {};
        few_to_use_.push_back(place);
        place = -1;
    }
    row[byte_class.index()] = to;
}

Maybe<TokenConfig> TokenSteps::find_step(TokenConfig config, ByteClass byte_class) {
    if (const Word place = facts_[config.index()].few; place >= 0) {
        const FewSteps& few = few_[static_cast<std::size_t>(place)];
        for (std::size_t i = 0; i < FewSteps::kMost && few.to[i] != kUnknown; ++i)
            if (few.byte_class[i] == byte_class.v) return few.to[i];
    }
    return make_step(config, byte_class);
}

Maybe<TokenConfig> TokenSteps::make_step(TokenConfig config, ByteClass byte_class) {
    auto& after = after_;
    after.clear();
    for (const Outcome& before : configs_[config]) follow(before, byte_class, after);
    if (after.size() > 1) {
        sort_unique(after);
        // An outcome that no stack lets go on tells apart what is alike: in a string, what could be the beginning of a keyword.
        std::erase_if(after, [&](const Outcome& outcome) { return nodes(continuation_of_one(outcome)).empty(); });
        if (after.size() > kMaxOutcomes) throw LimitExceeded("ways to lex one token", kMaxOutcomes);
    }
    Maybe<TokenConfig> result;
    // What no stack lets become a lexeme is dead at once, though the lexer could go on: it could only become what it can now.
    if (!after.empty())
        if (const TokenConfig to = intern(after); !nodes(continuation(to)).empty()) result = to;
    remember(config, byte_class, result);
    return result;
}

}  // namespace psc
