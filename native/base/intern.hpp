// Interning: every distinct sequence of 32-bit words gets one small id.
//
// The compiler's sets (threads of a classifier state, items of a bundle, sequences of an emission) are compared and hashed all the
// time. With an id for each set, equality is one integer comparison, and a set can be a member of another set. Ids with a type of
// their own use the same classes through base/interned.hpp.
//
// Example: intern({3, 7}) is {0, true}, intern({7}) is {1, true}, and intern({3, 7}) again is {0, false}.
//
// Cost: SequenceInterner: intern() is O(length) expected, operator[] is O(1). Words live in one growing pool, so the next intern()
// invalidates spans. PairMap: open addressing from a pair of words to one word, O(1) expected, 16 bytes a slot.
// Threads: one at a time; base/concurrent.hpp has tables with lock-free readers. When an allocation fails, both are as before the
// call.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace psc {

using Word = std::int32_t;

inline std::uint64_t mix(std::uint64_t x) {
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ULL;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ULL;
    x ^= x >> 32;
    return x;
}

// Takes two words a step; the last mix() spreads the result.
inline std::uint64_t hash_words(std::span<const Word> words) {
    std::uint64_t h = 0x9e3779b97f4a7c15ULL + words.size();
    const auto add = [&](std::uint64_t x) {
        h = (h ^ x) * 0xd6e8feb86659fd93ULL;
        h ^= h >> 32;
    };
    std::size_t i = 0;
    for (; i + 1 < words.size(); i += 2)
        add(static_cast<std::uint64_t>(static_cast<std::uint32_t>(words[i])) << 32 | static_cast<std::uint32_t>(words[i + 1]));
    if (i < words.size()) add(static_cast<std::uint32_t>(words[i]));
    return mix(h);
}

class SequenceInterner {
public:
    SequenceInterner() : slots_(16, -1) {}

    // The id of `words`; second is true when it is new.
    std::pair<Word, bool> intern(std::span<const Word> words) {
        const std::uint64_t h = hash_words(words);
        std::size_t slot = h & (slots_.size() - 1);
        while (slots_[slot] >= 0) {
            const Word id = slots_[slot];
            if (entries_[id].hash == h && equal(id, words)) return {id, false};
            slot = (slot + 1) & (slots_.size() - 1);
        }
        const Word id = size();
        if ((entries_.size() + 1) * 2 > slots_.size()) {
            grow();
            for (slot = h & (slots_.size() - 1); slots_[slot] >= 0; slot = (slot + 1) & (slots_.size() - 1)) {
            }
        }
        if (entries_.size() == entries_.capacity()) entries_.reserve(2 * entries_.size() + 8);
        pool_.insert(pool_.end(), words.begin(), words.end());
        entries_.push_back({h, pool_.size()});
        slots_[slot] = id;
        return {id, true};
    }

    // Undoes the last intern() that returned a new id.
    void forget_last() {
        const Word last = size() - 1;
        // No slot was taken after this one, so no probe sequence runs through it.
        std::size_t slot = entries_.back().hash & (slots_.size() - 1);
        while (slots_[slot] != last) slot = (slot + 1) & (slots_.size() - 1);
        slots_[slot] = -1;
        entries_.pop_back();
        pool_.resize(entries_.empty() ? 0 : entries_.back().end);
    }

    std::span<const Word> operator[](Word id) const {
        const std::size_t begin = id > 0 ? entries_[id - 1].end : 0;
        return {pool_.data() + begin, entries_[id].end - begin};
    }

    // Of all ids, one after the other.
    std::span<const Word> all() const { return pool_; }

    Word size() const { return static_cast<Word>(entries_.size()); }
    std::size_t bytes() const {
        return pool_.capacity() * sizeof(Word) + entries_.capacity() * sizeof(Entry) + slots_.capacity() * sizeof(Word);
    }

private:
    bool equal(Word id, std::span<const Word> words) const {
        const auto have = (*this)[id];
        return have.size() == words.size() && (words.empty() || std::memcmp(have.data(), words.data(), words.size_bytes()) == 0);
    }

    void grow() {
        std::vector<Word>(slots_.size() * 2, -1).swap(slots_);
        for (Word id = 0; id < size(); ++id) {
            std::size_t slot = entries_[id].hash & (slots_.size() - 1);
            while (slots_[slot] >= 0) slot = (slot + 1) & (slots_.size() - 1);
            slots_[slot] = id;
        }
    }

    struct Entry {
        std::uint64_t hash;
        std::size_t end;  // of its words in the pool; they begin where those of the id before end
    };
    std::vector<Word> pool_;
    std::vector<Entry> entries_;
    std::vector<Word> slots_;
};

class PairMap {
public:
    PairMap() : slots_(16) {}

    // The value stored for (a, b), until the next insert(); null where there is none.
    const Word* look(Word a, Word b) const {
        std::size_t slot = slot_of(a, b);
        while (slots_[slot].used) {
            if (slots_[slot].a == a && slots_[slot].b == b) return &slots_[slot].value;
            slot = (slot + 1) & (slots_.size() - 1);
        }
        return nullptr;
    }
    // Prefetches for a lookup of (a, b) that follows soon: in a large table most of a lookup is waiting for memory.
    void prefetch(Word a, Word b) const { __builtin_prefetch(&slots_[slot_of(a, b)]); }
    // The value stored for (a, b), or `missing`.
    Word find(Word a, Word b, Word missing = -1) const {
        const Word* cached = look(a, b);
        return cached ? *cached : missing;
    }

    // Stores `value` for (a, b), which must not be present.
    void insert(Word a, Word b, Word value) {
        if ((count_ + 1) * 2 > slots_.size()) grow();
        ++count_;
        put({a, b, value, true});
    }

    std::size_t size() const { return count_; }
    std::size_t bytes() const { return slots_.capacity() * sizeof(Slot); }

private:
    struct Slot {
        Word a = 0, b = 0, value = 0;
        bool used = false;
    };

    std::size_t slot_of(Word a, Word b) const {
        return mix((static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32) | static_cast<std::uint32_t>(b)) &
               (slots_.size() - 1);
    }

    void put(Slot s) {
        std::size_t slot = slot_of(s.a, s.b);
        while (slots_[slot].used) slot = (slot + 1) & (slots_.size() - 1);
        slots_[slot] = s;
    }

    void grow() {
        std::vector<Slot> old(slots_.size() * 2);
        old.swap(slots_);
        for (const Slot& s : old)
            if (s.used) put(s);
    }

    std::vector<Slot> slots_;
    std::size_t count_ = 0;
};

}  // namespace psc
