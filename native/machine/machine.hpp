// A machine: what the matchers of one text share, whatever its grammar is made of. One engine (machine/engine.hpp), or several
// that are linked (linked/machine.hpp).
//
// It has a vocabulary, the grammar's stop tokens, and a cache of mask rows (masks/row_cache.hpp) that it replaces by an empty one where
// it is too large. The cache is a value of its own, and each function that reads or extends one is given it: a matcher goes on with the
// cache that it has until it changes over.
//
// Threads: any number. What is cached is read without a lock; what is missing is built under `lock_`. Of the mutexes here and in what
// a machine uses, a thread that holds one may take those below it in this list, and none above:
//
//     LinkedPart::lock_            a part's engine is made under it
//     PartVocabularies::lock_      so are the vocabularies that parts share
//     Machine::lock_               all that is built: of a linked machine, and of an engine its lexer, classifier and rows. Nobody
//                                  holds those of two machines: a LinkedMatcher asks its parts first, then adds what they say.
//     Machine::cache_lock_         the pointer to the current cache
//     FreeOrderStates::lock_       LR states that remember which members they have seen
//     VocabularyIndex::lock_       fragments and runs of a vocabulary that many machines share
//     VocabularyRuns::lock_        what is made of one run
//     ReadingPolicy::Counts::lock_, MaskRows::looking_        nothing is taken under them
//
// A thread waits for a lock under which a walk over the vocabulary or a grammar is made with a PatientLock, which lets go of the
// interpreter's lock first. None is held while Python runs.
//
// Cost: of a mask row that is cached, a look-up.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/long_work.hpp"
#include "masks/row_cache.hpp"

namespace psc {

struct VocabularyView {
    Word size = 0;
    const Maybe<TokenClass>* class_of = nullptr;  // per token, the entry of `offsets` that has its bytes; null: the token itself
    const Word* offsets = nullptr;
    const std::uint8_t* bytes = nullptr;
    const std::uint8_t* is_stop = nullptr;  // per token
    const Word* symbols = nullptr;          // per token the number of its symbol, or -1; null: no token has one

    std::span<const std::uint8_t> text(TokenId token) const {
        const Word i = class_of ? class_of[token.v].v : token.v;
        return {bytes + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
    }
};

class Machine {
public:
    virtual ~Machine() = default;
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    const VocabularyView& vocabulary() const { return vocabulary_; }
    const std::vector<TokenId>& stop_tokens() const { return stop_tokens_; }
    // Equal for grammars of one vocabulary, and for no others; 0: not known.
    std::uint64_t vocabulary_tag = 0;
    // Whether the grammar speaks of tokens: a stop token may be in a row as itself. Then, and where machines are linked, rows do not
    // say whether a stop token may end the text.
    bool has_symbols() const { return vocabulary_.symbols != nullptr; }
    bool ends_apart() const { return ends_apart_; }
    std::size_t n_words() const { return (static_cast<std::size_t>(vocabulary_.size) + 31) / 32; }
    // Whether the grammar tells a token apart as such, and whether its text is one.
    virtual bool has_symbol(TokenId token) const { return vocabulary_.symbols && vocabulary_.symbols[token.v] >= 0; }
    virtual bool is_text(TokenId token) const = 0;
    // Of tokens that stop a text, those whose bits in a row may be those of their text: whether one is requested must be looked at.
    std::vector<TokenId> text_or_itself(const std::vector<TokenId>& stops) const;

    std::shared_ptr<RowCache> cache() const;
    std::size_t bytes();  // of the current cache
    // Of the tables that it was made of, and what is never dropped of what is built.
    virtual std::size_t table_bytes() const = 0;
    void clear();  // begins an empty cache
    // Of what is built before it is requested: half of the limit is left to what is requested.
    bool has_room_in_advance(std::size_t max_bytes);
    void set_limit(std::size_t bytes) { cache_limit_.store(bytes, std::memory_order_relaxed); }  // 0: none
    // Whether memory ran out while something was built that is never dropped: what is not there yet is not built any more.
    virtual bool is_broken() const { return false; }

    // The union of two rows.
    MaskRow row_union(RowCache& cache, MaskRow a, MaskRow b);
    // The same without composing it.
    static Maybe<MaskRow> cached_row_union(const RowCache& cache, MaskRow a, MaskRow b) {
        return a == b ? Maybe<MaskRow>(a) : cache.row_unions.find(std::min(a, b), std::max(a, b));
    }
    // The row in which other tokens stop the text, where the text may end: a row does not know, if the grammar has no stop token.
    // Where tokens have symbols the row has no stop tokens but those that are requested as such.
    MaskRow with_stops(RowCache& cache, MaskRow row, StopSet set);
    // `requested`: of the tokens those that are text, and that the grammar requests as such where the row is.
    StopSet stop_set(RowCache& cache, std::span<const TokenId> tokens, std::span<const TokenId> requested = {});

protected:
    Machine() = default;
    virtual std::shared_ptr<RowCache> new_cache() const { return std::make_shared<RowCache>(vocabulary_.size); }
    void begin();  // once the members below are set
    // Begins an empty cache when `cache`, to which something was just added, is too large. Under the lock.
    void limit(RowCache& cache);
    void retire(RowCache& cache);  // begins an empty one, unless that has happened

    VocabularyView vocabulary_;
    std::vector<TokenId> stop_tokens_;
    bool ends_apart_ = false;
    std::atomic<std::size_t> cache_limit_{0};  // bytes; 0 is none
    mutable std::mutex lock_;                  // of everything that is built

private:
    void put_stops(const StopSets::Set& stops, std::uint32_t* words) const;

    mutable std::mutex cache_lock_;  // of the pointer
    std::shared_ptr<RowCache> cache_;
};

}  // namespace psc
