// A matcher: where one generated text is, as a lexer state and a parser stack.
//
// The stack is a path in a tree of parent-linked nodes that only grows, so a copy of a stack is one index; nodes that no
// stack uses are dropped when they outnumber the live ones.
//
// Cost of a step: mask_row() reads the stack down to where the classifier is done (a few symbols), accept() lexes the
// token's bytes and shifts the terminals they emit.
#pragma once

#include <memory>
#include <vector>

#include "runtime_tables.hpp"

namespace psc {

class Matcher {
public:
    explicit Matcher(std::shared_ptr<RuntimeTables> tables);

    Word mask_row();  // throws std::runtime_error once terminated
    bool accept(Word token);
    // Reads bytes as text, as far as there is a continuation: the number of bytes read. A token boundary may follow.
    std::size_t accept_bytes(std::span<const std::uint8_t> bytes);
    bool is_terminated() const { return terminated_; }
    bool is_complete();  // a stop token would be accepted now
    void reset();
    std::vector<Word> expected_terminals();  // terminals that the parser can take next, the end of text among them
    Word lexer_state() const { return lexer_state_; }
    std::vector<Word> stack() const;  // top first
    const RuntimeTables& tables() const { return *tables_; }
    const std::shared_ptr<RuntimeTables>& shared_tables() const { return tables_; }

private:
    struct Node {
        Word symbol, parent;
    };

    bool shift(Word terminal, Word& top);
    bool viable(std::span<const Word> terminals);
    bool lex(std::span<const std::uint8_t> bytes, Word& state, Word& top);
    void compact();
    std::span<const Word> emission(Word id) const {
        const RuntimeArrays& a = tables_->arrays();
        return {a.emission_terminals.data() + a.emission_offsets[id],
                static_cast<std::size_t>(a.emission_offsets[id + 1] - a.emission_offsets[id])};
    }

    std::shared_ptr<RuntimeTables> tables_;
    std::vector<Node> nodes_;
    std::size_t compact_at_;
    Word top_ = 0;
    Word lexer_state_ = 0;
    Word read_top_ = -1;  // the stack top that was last read down from, and the emissions met: most tokens leave the stack alone
    Word read_ = 0;
    Word row_ = -1;  // of the current position, when known
    bool terminated_ = false;
};

}  // namespace psc
