// What reading bytes does to the lexer, for tokens read from a known lexer state: a *config* is the set of outcomes, each the
// terminal sequence emitted (a node of the trie) and the lexer state reached. Configs are interned and their steps kept in dense
// rows, so that walking a vocabulary costs one array access a byte. Most configs lie deep in few tokens: one of which few steps are
// known has these in a list, and one where tokens end has none. (Rows for all of them were three quarters of what the words of SQL
// take.)
//
// With a deterministic lexer a config has one outcome; with `any` lexing, or where a fall-back depends on the stack, several.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/interned.hpp"
#include "classifier/sequences.hpp"
#include "lexer/lexer.hpp"
#include "vocabulary/character_runs.hpp"

namespace psc {

// A list of sequence nodes, one of which must be viable after a token.
struct Continuation {
    Word v;
    std::size_t index() const { return static_cast<std::size_t>(v); }
    bool operator==(const Continuation&) const = default;
};

// Configs with one continuation, to which texts of as many characters lead.
struct ConfigSet {
    Word v;
    std::size_t index() const { return static_cast<std::size_t>(v); }
    bool operator==(const ConfigSet&) const = default;
};

class TokenSteps {
public:
    struct Outcome {
        SequenceNode sequence;
        LexerState state;
        auto operator<=>(const Outcome&) const = default;
    };

    TokenSteps(Lexer& lexer, SequenceTrie& trie) : lexer_(lexer), trie_(trie), unknown_(lexer.n_classes(), kUnknown) {}

    TokenConfig config(SequenceNode node, LexerState state) { return intern({{node, state}}); }
    // None where no stack allows what the lexer emits, or what the lexeme that is open can become.
    Maybe<TokenConfig> step(TokenConfig config, ByteClass byte_class) {
        const auto known = rows_[config.index()][byte_class.index()];
        return known != kUnknown ? known : find_step(config, byte_class);
    }
    // Whether all characters of these kinds lead back to the config. Of one beyond ASCII that a token ends within, too, if there it
    // has the same continuation.
    bool stays(TokenConfig config, CharacterKinds kinds) {
        const StayingKinds& known = facts_[config.index()].staying;
        return known.next_unknown(kinds) ? find_stays(config, kinds) : known.all_stay(kinds);
    }
    bool knows_stays(TokenConfig config) const { return facts_[config.index()].staying.some_are_known(); }
    // Where all texts of some kinds lead from a config, by their number of characters: a text of k of them to the config
    // `by_length[k]`, a longer one to the last, or nowhere if it `ends` there. In [a-z]{1,24} letters lead from state to state, and
    // where each character is a terminal of its own, each adds one to the sequence. Texts of a length may lead to several configs,
    // if these have one continuation: what is open after `be` where `beta` is searched for is no other string. A character that is
    // cut off counts as a whole one.
    struct Ladder {
        std::span<const TokenConfig> by_length;  // until the next call
        bool ends;
        bool is_uniform;  // whether all have the continuation of the first, and none ends
    };
    // The ladder that decides the tokens below a node of the vocabulary, which add up to `height` bytes of these kinds to its text,
    // or none where they do not lead the same way. `worth(k)`: for how many nodes of the vocabulary it would matter where texts of
    // k characters lead; none until as many were asked for as make finding out pay.
    template <class Worth>
    std::optional<Ladder> ladder(TokenConfig config, CharacterKinds kinds, int height, Worth worth) {
        sets_.assign(1, set_of(config));
        const auto ends = follow_run(sets_, kinds, height, [&](ConfigSet set, int k) -> const SetOnward* {
            SetFacts& facts = set_facts_[set.index()];
            if (!facts.onward[false] && (facts.nodes += worth(k)) < kNodesBeforeAnswer) return nullptr;
            return &onward(set, Together::uncounted);
        });
        if (!ends) return {};
        rungs_.clear();
        for (ConfigSet set : sets_) rungs_.push_back(config_sets_[set][0]);
        const auto is_alike = [&](TokenConfig to) { return continuation(to) == continuation(config); };
        const bool is_uniform = !*ends && std::ranges::all_of(rungs_, is_alike);
        // The rest of a character that began above the node is no character, so texts are not told apart by their number.
        if (!is_uniform && (kinds & character_kinds::kRest)) return {};
        return Ladder{rungs_, *ends, is_uniform};
    }
    // Where runs of characters of most kinds lead, if that depends on how many they are: after k of them to `by_length[k]`, after
    // more to the last, or nowhere if it `ends` there. As of a ladder: a text of a length that is not `alone` may lead to another
    // config, which has the same continuation, but may go on in another way: after `(a[` and `(ab` in a grammar of regexes `/` does
    // not do the same.
    struct Run {
        CharacterKinds kinds;
        std::vector<TokenConfig> by_length;
        std::vector<char> alone;
        bool ends;
    };
    std::optional<Run> run(TokenConfig config, Word longest);
    // Where all characters beyond ASCII lead, if that is to one config, and a token that ends within one has its continuation.
    Maybe<TokenConfig> after_any_wide(TokenConfig config);
    // What must be viable for a token that ends in the config to have a continuation.
    Continuation continuation(TokenConfig config) {
        const auto known = facts_[config.index()].continuation;
        return known ? *known : find_continuation(config);
    }
    std::span<const SequenceNode> nodes(Continuation continuation) const { return continuations_[continuation]; }
    std::span<const Outcome> outcomes(TokenConfig config) const { return configs_[config]; }
    Word size() const { return configs_.size(); }
    std::size_t bytes() const {
        return own_rows_.size() * (unknown_.size() * sizeof(Word) + 32) + rows_.size() * (32 + sizeof(Facts)) +
               few_.size() * sizeof(FewSteps) + n_outcomes_ * sizeof(Outcome) + continuations_.bytes() +
               continuation_ids_.size() * 32;
    }

    // The node after the symbols (terminals and conditions) of `node`'s sequence and these, or none.
    Maybe<SequenceNode> extend(Maybe<SequenceNode> node, std::span<const OutputSymbol> symbols);
    // The nodes of which one must be viable for text that has led to the outcome to have a continuation.
    const std::vector<SequenceNode>& futures(Outcome outcome);

private:
    static constexpr auto kUnknown = Maybe<TokenConfig>::unknown();

    struct Facts {  // of a config, as far as they are known
        std::optional<Continuation> continuation;
        StayingKinds staying;
        Maybe<ConfigSet> alone;  // the set of it alone
        Word few = -1;           // the number of its steps in `few_`; none before the first is known and once it has a row
    };
    // The first steps that are known of a config; where there are fewer, what follows is kUnknown.
    struct FewSteps {
        static constexpr std::size_t kMost = 4;
        std::array<std::uint8_t, kMost> byte_class{};
        std::array<Maybe<TokenConfig>, kMost> to{kUnknown, kUnknown, kUnknown, kUnknown};
    };
    using SetOnward = Onward<ConfigSet>;
    struct SetFacts {
        Word nodes = 0;                      // of the subtrees that were asked about before there was an answer
        std::optional<SetOnward> onward[2];  // uncounted, alike
    };
    struct ConfigAutomaton;
    struct StateAutomaton;
    // In larger sets too much is told apart.
    static constexpr std::size_t kMaxConfigs = 48;
    // Finding out where every byte leads, that of no token too, costs more than walking so many nodes.
    static constexpr Word kNodesBeforeAnswer = 2048;

    Continuation find_continuation(TokenConfig config);
    Continuation continuation_of_one(Outcome outcome);
    Continuation continuation_of(const std::vector<Outcome>& outcomes);
    bool find_stays(TokenConfig config, CharacterKinds kinds);
    StayingKinds state_staying(LexerState state, CharacterKinds kinds);
    ConfigSet set_of(TokenConfig config);
    ConfigSet set_of(std::span<const TokenConfig> configs);
    const SetOnward& onward(ConfigSet set, Together together);  // until the next call
    // Of a config whose row does not say.
    Maybe<TokenConfig> find_step(TokenConfig config, ByteClass byte_class);
    Maybe<TokenConfig> make_step(TokenConfig config, ByteClass byte_class);
    void remember(TokenConfig config, ByteClass byte_class, Maybe<TokenConfig> to);
    TokenConfig intern(const std::vector<Outcome>& outcomes);
    void follow(Outcome before, ByteClass byte_class, std::vector<Outcome>& after);

    TrieSet as_trie_has_it(FutureSet set);

    Lexer& lexer_;
    SequenceTrie& trie_;
    std::map<FutureSet, TrieSet> trie_sets_;  // sets of the lexer as the trie has them
    std::vector<SequenceNode> found_;         // by futures()
    std::vector<ConfigSet> sets_;             // by ladder()
    std::vector<TokenConfig> rungs_;          // by ladder(): of each set one
    Interned<ConfigSet, TokenConfig> config_sets_;
    std::vector<SetFacts> set_facts_;
    Interned<TokenConfig, Outcome> configs_;
    Interned<Continuation, SequenceNode> continuations_;
    IdMap<SequenceNode, FutureSet, Continuation> continuation_ids_;  // of one outcome
    std::vector<Outcome> after_;                                     // scratch of find_step()
    std::vector<Facts> facts_;                                       // per config
    std::vector<Maybe<TokenConfig>> unknown_;                        // the row of all configs of which few steps are known
    std::vector<Maybe<TokenConfig>*> rows_;                          // per config
    std::vector<std::unique_ptr<Maybe<TokenConfig>[]>> own_rows_;    // of configs of which more are
    std::vector<FewSteps> few_;                                      // of the others
    std::vector<Word> few_to_use_;                                   // of configs that have got a row
    std::vector<StayingKinds> staying_;                              // per lexer state
    std::size_t n_outcomes_ = 0;                                     // of all configs
};

}  // namespace psc
