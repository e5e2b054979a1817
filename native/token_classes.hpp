// Token classes: tokens that no lexer state tells apart, found by walking the vocabulary once for all lexer states together.
//
// A token acts on the lexer as a function: from each state, what it leads to (a config, see token_steps.hpp, or
// failure). The function of a longer token is that of its prefix, then one more byte; equal functions are one. So the
// vocabulary's byte trie is walked once, with interned functions (the transition monoid of the lexer, as far as the
// vocabulary goes). A function is a tuple of blocks of 32 configs, and the step of a block
// under a byte class is remembered too: most functions share most of their blocks.
//
// Cost: a lookup per trie node for known (function, byte class) pairs; states / 32 lookups for new ones.
#pragma once

#include <cstdint>
#include <vector>

#include "intern.hpp"
#include "token_steps.hpp"

namespace psc {

class TokenClasses {
public:
    // `states`: the lexer states that functions are defined on. `bytes`/`offsets`: the tokens; `ids`: those that are text.
    TokenClasses(const Lexer& lexer, TokenSteps& steps, std::vector<Word> states, std::span<const std::uint8_t> bytes,
                 std::span<const std::int64_t> offsets, std::span<const Word> ids);

    Word size() const { return static_cast<Word>(representative_.size()); }
    Word class_of(Word token) const { return class_of_[token]; }          // kFail for tokens that are not text
    Word representative(Word cls) const { return representative_[cls]; }  // a token of the class, the smallest id
    const std::vector<Word>& states() const { return states_; }

    // The config of `cls` from the i-th state, or kFail.
    Word config(Word cls, std::size_t i) const { return blocks_[functions_[function_of_class_[cls]][i / kBlock]][i % kBlock]; }
    // Forgets the functions: afterwards only class_of() and representative() answer.
    void release_functions();

private:
    static constexpr std::size_t kBlock = 32;

    Word step_block(Word block, Word byte_class);
    Word step_function(Word function, Word byte_class);

    TokenSteps& steps_;
    std::vector<Word> states_;
    PairMap block_steps_, function_steps_;
    SequenceInterner blocks_, functions_;
    std::vector<Word> class_of_, function_of_class_, representative_;
};

}  // namespace psc
