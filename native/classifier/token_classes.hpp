// Token classes: tokens that no lexer state tells apart, found by walking the vocabulary once for all lexer states together.
//
// A token acts on the lexer as a function: from each state, what it leads to (a config, see classifier/token_steps.hpp, or
// failure). The function of a longer token is that of its prefix, then one more byte; equal functions are one. So the
// vocabulary's byte trie is walked once, with interned functions (the transition monoid of the lexer, as far as the
// vocabulary goes). A function is a tuple of blocks of 32 configs, and the step of a block
// under a byte class is remembered too: most functions share most of their blocks.
//
// Cost: a lookup per trie node for known (function, byte class) pairs; states / 32 lookups for new ones.
#pragma once

#include <cstdint>
#include <vector>

#include "classifier/token_steps.hpp"

namespace psc {

class TokenClasses {
public:
    // `states`: the lexer states that functions are defined on. `bytes`/`offsets`: the tokens; `ids`: those that are text. What new
    // functions cost is spent from `work`.
    TokenClasses(const Lexer& lexer, TokenSteps& steps, std::vector<LexerState> states, std::span<const std::uint8_t> bytes,
                 std::span<const std::int64_t> offsets, std::span<const TokenId> ids, Work& work);

    Word size() const { return static_cast<Word>(representative_.size()); }
    std::size_t n_tokens() const { return class_of_.size(); }
    Maybe<TokenClass> class_of(TokenId token) const { return class_of_[token.index()]; }  // none for tokens that are not text
    TokenId representative(TokenClass of) const {
        return representative_[of.index()];
    }  // the token of the class with the smallest id
    const std::vector<LexerState>& states() const { return states_; }

    // States go in blocks of so many, and most classes do in a block what another one does there.
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
