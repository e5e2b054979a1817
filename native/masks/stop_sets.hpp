// The stop tokens that matchers have instead of their grammar's, numbered for the rows in which they are (RowCache::other_stops).
//
// A set is a list of tokens that stop a text and, where a grammar speaks of tokens, those of them that it requests as such at a
// position. Each list has two ids: one for rows where the text may not end, one for rows where it may.
//
// Example: a server whose chats end with <|im_end|> or <|endoftext|> has one list, whatever its grammar; its rows come in two kinds,
// with both bits set and with both cleared.
//
// Sets belong to a cache, and go with it. A cache with max_size() lists is full: its machine begins an empty one, in which the
// matchers that still have a list number it again. So a server that is sent ever new lists never has more of them, and refuses none.
//
// Cost: id_of() hashes the tokens, O(1) lists are compared.
//
// Tried and dropped: one list per machine, searched from its front under the machine's lock and never shortened (a grammar in a
// cache refused every list after 65,536 of them); counting the users of each list (a number that is used again would be the key of the
// rows that the list before it has left in the cache).
#pragma once

#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/intern.hpp"

namespace psc {

class StopSets {
public:
    struct Set {
        std::span<const TokenId> tokens;
        std::span<const TokenId> requested;  // of `tokens`, those that the grammar requests as such
        bool may_end;                        // whether the text may end where the row is
    };
    static constexpr Word max_size() { return 1 << 16; }

    // The set for positions where the text may not end; at_end() is the other. Writers only.
    StopSet id_of(std::span<const TokenId> tokens, std::span<const TokenId> requested);
    static StopSet at_end(StopSet set) { return {set.v | 1}; }
    // Until the next id_of().
    Set operator[](StopSet set) const;

    bool is_full() const { return lists_.size() >= max_size(); }
    std::size_t bytes() const { return lists_.bytes(); }

private:
    SequenceInterner lists_;     // the number of tokens, these, and those requested
    std::vector<Word> scratch_;  // of id_of()
};

}  // namespace psc
