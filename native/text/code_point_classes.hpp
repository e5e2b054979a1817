// Classes of code points that a family of sets cannot tell apart, and the UTF-8 spelling of them all as one decision diagram.
//
// Automata over characters are built over these classes, which are few, and only then over bytes. The diagram reads the bytes of a
// character beyond ASCII and ends in its class. Equal nodes are one node, so Unicode's letters are some hundreds of runs. To write
// an automaton's state in bytes, one pass over the diagram puts the state's own targets in place of the classes, however many
// ranges the classes have.
//
// Code points beyond Unicode are symbols of tokens (text/token_symbols.hpp).
//
// Example: the sets [a-z] and [a-f] have the classes [a-f] and [g-z]; members([a-z]) are both.
//
// Cost: O(r log r) for r ranges in all sets, plus, per set, the intervals inside it. Surrogates have no class and no spelling.
// Threads: immutable once made.
// Source: the splitting of ranges by encoded length is that of K. Thompson's grep.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "base/intern.hpp"
#include "text/token_symbols.hpp"

namespace psc {

class CodePointClasses {
public:
    // Set i is the inclusive ranges ranges[offsets[i]..offsets[i + 1]), a flat list of pairs, ascending.
    CodePointClasses(std::span<const Word> ranges, std::span<const Word> offsets);

    // Classes are numbered by their first code point.
    Word size() const { return size_; }

    std::span<const Word> members(Word set) const {
        return {members_.data() + member_offsets_[set], member_offsets_[set + 1] - member_offsets_[set]};
    }

    // -1 for a character in none of the sets.
    Word of_ascii(int byte) const { return ascii_[byte]; }

    // The class of a symbol, by its number, or -1.
    Word of_symbol(Word number) const { return class_[interval_at(kFirstSymbol + number)]; }

    // Per token id the number of its symbol: tokens of one class share the symbol of the first; -1: in none of the sets. Empty
    // where no set has the symbol of any token.
    std::vector<Word> symbols(Word n_tokens) const;

    // Whether a set has the symbol of one of the first `n_tokens` tokens.
    bool has_symbols(Word n_tokens) const;

    // Whether the class has characters beyond ASCII.
    bool is_wide(Word c) const { return wide_[c] != 0; }

    // A node is a flat list of runs (first byte, last byte, to), to being a node of smaller number, or -1 - c for class c.
    Word node_count() const { return nodes_.size(); }
    std::span<const Word> node(Word i) const { return nodes_[i]; }
    // The runs that a character beyond ASCII starts with.
    std::span<const Word> root() const { return root_; }

    // Adds a run to such a list, and merges it with the one before where both lead to the same.
    static void append_run(std::vector<Word>& runs, Word first, Word last, Word to) {
        const std::size_t n = runs.size();
        if (n > 0 && runs[n - 2] == first - 1 && runs[n - 1] == to)
            runs[n - 2] = last;
        else
            runs.insert(runs.end(), {first, last, to});
    }

    std::size_t bytes() const {
        return (starts_.capacity() + class_.capacity() + members_.capacity() + root_.capacity()) * sizeof(Word) +
               member_offsets_.capacity() * sizeof(std::size_t) + nodes_.bytes();
    }

private:
    void partition(std::span<const Word> ranges, std::span<const Word> offsets);
    void spell();
    Word block(Word base, int depth, Word floor, Word end);
    Word whole(int depth, Word c);
    void append_block(std::vector<Word>& runs, Word byte, Word count, Word base, int depth, Word floor, Word end);
    std::size_t interval_at(Word code_point) const;

    Word size_ = 0;
    std::vector<Word> starts_;  // of the intervals between the boundaries of all sets
    std::vector<Word> class_;   // per interval, or -1
    std::vector<Word> members_;
    std::vector<std::size_t> member_offsets_{0};
    std::array<Word, 128> ascii_{};
    std::vector<char> wide_;
    SequenceInterner nodes_;
    std::vector<Word> root_;
    std::array<std::vector<Word>, 4> whole_;  // per depth and class, the node where every continuation is of that class
};

}  // namespace psc
