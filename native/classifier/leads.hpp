// Leads: first terminals that are shifted before the classifier reads the stack, so that it is closed over what follows them only.
//
// A lexer state inside of a lexeme has the sequences `a r`, where `a` is a terminal that the lexeme may become, and `r` what may follow
// any lexeme. All lexer states together have as many as there are terminals times such rests, and a classifier that is closed over
// them has states for each combination: for TypeScript half a million. But a text knows its stack. So for such a state, a matcher shifts
// `a` on the stack that it has, and reads the stack after that for the rests, which all lexer states and all terminals share. The mask
// is the union of the tokens that the state has for each of its leads, and of those that it has without one.
//
// Example: after `fo`, the token `o(x` ends the word `foo`, and stands for NAME ( NAME. After `i`, the token `f(x` ends the word `if`,
// and stands for IF ( NAME. Without leads the classifier is closed over both sequences. With them, the state inside `fo` has the lead
// NAME, the one after `i` the lead IF, and behind both comes the one sequence ( NAME. A text after `i` shifts IF on its own stack, and
// the classifier says whether that stack takes ( NAME.
//
// So bytes are read with the first terminal kept apart: what is behind a lead is a config of the rest, as if it began on any stack. A
// rest is stepped once for all leads, and the whole sequences, 2.9 million for PostgreSQL, are never made. Rests are left out whose
// first terminal no LR state looks at once the lead is shifted; others that no stack allows there are never emitted there.
//
// Whole are sequences from states where nothing has to come, as at a start of the lexer or in blanks: there as many terminals may come
// as the grammar has. So are those that begin with a condition, and those of one terminal.
//
// Cost: that of the steps of rests (classifier/token_steps.hpp). PostgreSQL for Qwen 3 takes 5 s and 0.5 GB. A step of Java and its mask
// take 1.2 times as long with leads as without, which it does not need.
// Threads: one at a time.
// Tried and dropped: to make the whole sequences, and to cut them then: PostgreSQL took 12 s and 1.6 GB until the classifier. To drop
// all rests that no stack allows behind a lead, token by token: 5 s more.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "classifier/token_steps.hpp"

namespace psc {

// What comes before a config's sequences: a terminal that is a lead, or one of these.
struct Before {
    Word v;

    static constexpr Before none() { return {-1}; }  // the sequences are whole
    static constexpr Before open() { return {-2}; }  // the first lexeme is open, and what it becomes will be a lead
    static constexpr Before of(Terminal t) { return {t.v}; }
    constexpr bool is_terminal() const { return v >= 0; }
    constexpr Terminal terminal() const { return {v}; }
    auto operator<=>(const Before&) const = default;
};

// A config with first terminals apart.
struct LedConfig {
    Word v;
    std::size_t index() const { return static_cast<std::size_t>(v); }
    auto operator<=>(const LedConfig&) const = default;
};

class LedSteps {
public:
    // `with_leads`: without, all sequences are whole.
    LedSteps(Lexer& lexer, SequenceTrie& trie, bool with_leads)
        : lexer_(lexer), trie_(trie), steps_(lexer, trie), with_leads_(with_leads) {}

    struct Part {
        Before lead;
        TokenConfig config;
        auto operator<=>(const Part&) const = default;
    };

    using Behind = std::pair<Before, SequenceNode>;

    bool with_leads() const { return with_leads_; }
    // Where nothing was read.
    LedConfig config(LexerState state);
    // None where no stack allows what the lexer emits, or what the lexeme that is open can become.
    Maybe<LedConfig> step(LedConfig config, ByteClass byte_class);
    std::span<const Part> parts(LedConfig config) const { return parts_[config]; }
    std::size_t n_outcomes(LedConfig config) const;
    // A config that is all behind one lead: the lead, and the config as if there were none. Else no lead, and itself.
    std::pair<Before, Maybe<LedConfig>> factored(LedConfig config);
    Word size() const { return parts_.size(); }

    // The sequences of which one must be viable for text that has led to the config to have a continuation, each behind its lead: a
    // number that configs share, below `n_futures()`, and the list of a number, until the next call.
    Word futures(LedConfig config);
    Word n_futures() const { return static_cast<Word>(lists_.size()); }
    std::span<const Behind> list(Word futures) const { return lists_[static_cast<std::size_t>(futures)]; }
    // A sequence behind a lead, where it may follow: whole where nothing is behind the lead.
    std::optional<Behind> after(Before lead, SequenceNode node);
    // What the lexer emits first, and the node of the rest; none where no stack allows it.
    std::pair<Before, Maybe<SequenceNode>> led(LexerState from, std::span<const OutputSymbol> symbols);

private:
    using Outcome = TokenSteps::Outcome;

    bool is_whole(LexerState state);
    std::pair<Before, Maybe<SequenceNode>> cut(std::span<const OutputSymbol> symbols);
    LedConfig whole(TokenConfig config);
    Maybe<LedConfig> step_parts(std::vector<Part> parts, ByteClass byte_class);

    Lexer& lexer_;
    SequenceTrie& trie_;
    TokenSteps steps_;
    bool with_leads_;
    Interned<LedConfig, Part> parts_;
    std::vector<Maybe<LedConfig>> whole_;            // per config: itself, whole
    IdMap<Before, Continuation, Word> list_of_one_;  // of configs of one part
    std::vector<Word> list_of_;                      // per config, -1: not found yet
    std::vector<std::vector<Behind>> lists_;
    std::vector<std::pair<Before, Outcome>> found_;  // scratch
    std::vector<Outcome> outcomes_;
};

}  // namespace psc
