// Token classes: the tokens that every lexer state treats alike, computed in one walk over the vocabulary for all lexer states.
//
// A token acts on the lexer as a function from each state to the config that it leads to (classifier/token_steps.hpp), or to failure.
// The function of a longer token is that of its prefix followed by one more byte, and equal functions are one. So the vocabulary's trie
// of bytes is walked once, with interned functions: the transition monoid of the lexer, as far as the vocabulary reaches it. A function
// is a tuple of blocks of configs, and the step of a block under a byte class is cached too, since most functions share most of their
// blocks. A block is a shape, which says which states share a config and behind which lead each has it, and the configs. So where all
// states of a block end their lexemes, as before `(x`, one config is stepped, and the shape says what each lexeme has become.
//
// Example: in a lexer of numbers and words, `1` and `23` are one class, and so are `a` and `bc`; `1a` is a class of its own.
//
// Cost: a look-up for each trie node whose (function, byte class) is cached; a look-up for each block for others.
// Threads: one at a time while it is made, then immutable.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "classifier/leads.hpp"

namespace psc {

class TokenClasses {
public:
    // `states`: the lexer states that functions are defined on. `bytes`/`offsets`: the tokens; `ids`: those that are text. `work`
    // pays for new functions. Once `is_enough()`, the walk ends, and the classes are not complete.
    TokenClasses(const Lexer& lexer, LedSteps& steps, std::vector<LexerState> states, std::span<const std::uint8_t> bytes,
                 std::span<const std::int64_t> offsets, std::span<const TokenId> ids, Work& work,
                 const std::function<bool()>& is_enough);

    bool are_complete() const { return is_complete_; }
    Word size() const { return static_cast<Word>(representative_.size()); }
    std::size_t n_tokens() const { return class_of_.size(); }
    Maybe<TokenClass> class_of(TokenId token) const { return class_of_[token.index()]; }  // none for tokens that are not text
    TokenId representative(TokenClass of) const {
        return representative_[of.index()];
    }  // the token of the class with the smallest id
    const std::vector<LexerState>& states() const { return states_; }

    // The states in a block. Most classes act in a block as another class does there. With leads, blocks are large, as they are factored.
    std::size_t block_size() const { return steps_.with_leads() ? 256 : 32; }
    using Block = Id<Space::function_block>;
    // Of a state in a block: a lead, and the index in the block's configs of what is behind it; or -1, and the state fails.
    struct Entry {
        Before lead;
        Word config;
        auto operator<=>(const Entry&) const = default;
    };
    struct Shape {
        Word v;
    };
    // What the tokens of a class do in the states from the `kBlock * i`-th on.
    Block block(TokenClass of, std::size_t i) const { return functions_[function_of_class_[of.index()]][i]; }
    // Where they lead from each of these states. Most blocks differ in their configs only: what is behind a lead is the same in all.
    Shape shape(Block block) const { return {blocks_[block][0].v}; }
    std::span<const Entry> entries(Shape shape) const { return shapes_[shape]; }
    std::span<const LedConfig> configs(Block block) const { return blocks_[block].subspan(1); }

private:
    using Function = Id<Space::token_function>;

    Block block_of(std::span<const std::pair<Before, Maybe<LedConfig>>> states);
    Block step_block(Block block, ByteClass byte_class);
    Function step_function(Function function, ByteClass byte_class);

    LedSteps& steps_;
    Work& work_;
    std::vector<LexerState> states_;
    IdMap<Block, ByteClass, Block> block_steps_;
    IdMap<Function, ByteClass, Function> function_steps_;
    Interned<Block, LedConfig> blocks_;  // the shape, as a number, and the configs
    Interned<Shape, Entry> shapes_;
    std::vector<Word> place_;  // scratch: per config its index in a block, or -1
    Interned<Function, Block> functions_;
    std::vector<Maybe<TokenClass>> class_of_;
    std::vector<Function> function_of_class_;
    std::vector<TokenId> representative_;
    bool is_complete_ = true;
};

}  // namespace psc
