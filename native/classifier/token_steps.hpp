// What reading bytes does to the lexer. A *config* is the set of outcomes of the bytes read so far; an outcome is the terminal sequence
// that the lexer has emitted (a node of the trie) and the lexer state that it is in.
//
// Configs are interned and their steps are stored in dense rows, so walking a vocabulary costs one array access a byte. Most configs are
// reached deep in a few tokens: a config with few computed steps has them in a list, and one at which tokens only end has none.
//
// A deterministic lexer gives one outcome; `any` lexing, or a fall-back that depends on the stack, gives several.
//
// Example: after `1.` in a lexer of INT, FLOAT and DOT the config has one outcome, the empty sequence in the state inside FLOAT; after
// `1.x` it is the sequence INT DOT in the state inside a word.
//
// Cost: an array access for a step that is in a row; a new step costs what its outcomes' lexer steps cost.
// Threads: one at a time.
// Tried and dropped: a dense row for every config; rows were then three quarters of the memory of SQL's words.
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
    // The config of some outcomes; none where no stack allows any of them, or what the lexeme that is open can become.
    Maybe<TokenConfig> config(std::vector<Outcome>& outcomes);
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
    // or none where they do not lead the same way. `worth(k)`: the number of vocabulary nodes for which a text of k characters
    // would be decided. The answer is none until requests add up to enough nodes to pay for it.
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
        // The rest of a character that began above the node is no character, so the number of characters does not separate texts.
        if (!is_uniform && (kinds & character_kinds::kRest)) return {};
        return Ladder{rungs_, *ends, is_uniform};
    }
    // Where runs of characters of most kinds lead, if that depends on how many they are: after k of them to `by_length[k]`, after
    // more to the last, or nowhere if it `ends` there. As in a ladder, a text of a length that is not `alone` may lead to another
    // config with the same continuation. The two may go on differently: after `(a[` and `(ab` in a grammar of regexes, `/` has
    // different meanings.
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

    struct Facts {  // about a config, as far as they were computed
        std::optional<Continuation> continuation;
        StayingKinds staying;
        Maybe<ConfigSet> alone;  // the set of it alone
        Word few = -1;           // the number of its steps in `few_`; -1 before the first step, and once it has a row
    };
    // The first steps of a config that were computed; the entries after them are kUnknown.
    struct FewSteps {
        static constexpr std::size_t kMax = 4;
        std::array<std::uint8_t, kMax> byte_class{};
        std::array<Maybe<TokenConfig>, kMax> to{kUnknown, kUnknown, kUnknown, kUnknown};
    };
    using SetOnward = Onward<ConfigSet>;
    struct SetFacts {
        Word nodes = 0;                      // of the subtrees of requests that got no answer
        std::optional<SetOnward> onward[2];  // uncounted, alike
    };
    struct ConfigAutomaton;
    struct StateAutomaton;
    // The largest set of configs that is followed: larger ones seldom have one continuation.
    static constexpr std::size_t kMaxConfigs = 48;
    // Computing where every byte leads, also bytes of no token, costs more than walking fewer nodes than this.
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
    std::vector<Maybe<TokenConfig>> unknown_;                        // the row of all configs with few computed steps
    std::vector<Maybe<TokenConfig>*> rows_;                          // per config
    std::vector<std::unique_ptr<Maybe<TokenConfig>[]>> own_rows_;    // of configs of which more are
    std::vector<FewSteps> few_;                                      // of the others
    std::vector<Word> few_to_use_;                                   // of configs that have got a row
    std::vector<StayingKinds> staying_;                              // per lexer state
    std::size_t n_outcomes_ = 0;                                     // of all configs
};

}  // namespace psc
