// Token classes: the tokens that every lexer state treats alike, computed in one walk over the vocabulary for all lexer states.
//
// A token acts on the lexer as a function from each state to the config that it leads to (classifier/token_steps.hpp), or to failure.
// The function of a longer token is that of its prefix followed by one more byte, and equal functions are one. So the vocabulary's trie
// of bytes is walked once, with interned functions: the transition monoid of the lexer, as far as the vocabulary reaches it. A function
// is a tuple of blocks of 32 configs, and the step of a block under a byte class is cached too, since most functions share most of their
// blocks.
//
// Example: in a lexer of numbers and words, `1` and `23` are one class, and so are `a` and `bc`; `1a` is a class of its own.
//
// Cost: a look-up for each trie node whose (function, byte class) is cached; states / 32 look-ups for others.
// Threads: one at a time while it is made, then immutable.
#pragma once

#include <cstdint>
#include <vector>

#include "classifier/token_steps.hpp"

namespace psc {

class TokenClasses {
public:
    // `states`: the lexer states that functions are defined on. `bytes`/`offsets`: the tokens; `ids`: those that are text. `work`
    // pays for new functions.
    TokenClasses(const Lexer& lexer, TokenSteps& steps, std::vector<LexerState> states, std::span<const std::uint8_t> bytes,
                 std::span<const std::int64_t> offsets, std::span<const TokenId> ids, Work& work);

    Word size() const { return static_cast<Word>(representative_.size()); }
    std::size_t n_tokens() const { return class_of_.size(); }
    Maybe<TokenClass> class_of(TokenId token) const { return class_of_[token.index()]; }  // none for tokens that are not text
    TokenId representative(TokenClass of) const {
        return representative_[of.index()];
    }  // the token of the class with the smallest id
    const std::vector<LexerState>& states() const { return states_; }

    // The states in a block. Most classes act in a block as another class does there.
    static constexpr std::size_t kBlock = 32;
    using Block = Id<Space::function_block>;
    // What the tokens of a class do in the states from the `kBlock * i`-th on.
    Block block(TokenClass of, std::size_t i) const { return functions_[function_of_class_[of.index()]][i]; }
    // Where they lead from each of these states; none where they fail.
    std::span<const Maybe<TokenConfig>> configs(Block block) const { return blocks_[block]; }

private:
    using Function = Id<Space::token_function>;

    Block step_block(Block block, ByteClass byte_class);
    Function step_function(Function function, ByteClass byte_class);

    TokenSteps& steps_;
    Work& work_;
    std::vector<LexerState> states_;
    IdMap<Block, ByteClass, Block> block_steps_;
    IdMap<Function, ByteClass, Function> function_steps_;
    Interned<Block, Maybe<TokenConfig>> blocks_;
    Interned<Function, Block> functions_;
    std::vector<Maybe<TokenClass>> class_of_;
    std::vector<Function> function_of_class_;
    std::vector<TokenId> representative_;
};

}  // namespace psc
