// Tables that one thread at a time extends, under a lock of the caller, while any number of threads read without a lock.
//
// StableVector: elements never move. An element is visible to readers once publish() has counted it.
// PublishedArray: values in one array, which is replaced when it grows.
// StableSequences: a SequenceInterner whose spans stay valid.
// SharedPairMap: from a pair of 32-bit words to one word. A reader that misses looks again under the writers' lock.
//
// Arrays and tables that were outgrown stay until the owner dies, because readers may still use them: twice the memory at most.
//
// Cost: O(1) amortized. A PublishedArray is faster to read than a StableVector: one load finds the array.
// Threads: as above. When an allocation fails, every table is as it was before the call.
// Tried and dropped: StableVector::grow(), which counted the new element before the writer had filled it. A reader could keep half
// an element; ThreadSanitizer found it. next() and publish() are two calls since then.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/intern.hpp"

namespace psc {

template <class T>
class StableVector {
public:
    StableVector() = default;
    StableVector(const StableVector&) = delete;
    StableVector& operator=(const StableVector&) = delete;
    ~StableVector() {
        for (auto& chunk : chunks_) delete[] chunk.load(std::memory_order_relaxed);
    }

    std::size_t size() const { return size_.load(std::memory_order_acquire); }

    T& operator[](std::size_t i) const {
        const std::size_t at = i + kFirst;
        const int chunk = chunk_of(at);
        return chunks_[chunk].load(std::memory_order_acquire)[at - (kFirst << chunk)];
    }

    // Writers only. The storage of one more element: as `new T[]()` makes it, or as an earlier, failed attempt to fill it has left
    // it. It becomes an element by publish(); readers may read everything below size().
    T& next() {
        const std::size_t at = size_.load(std::memory_order_relaxed) + kFirst;
        const int chunk = chunk_of(at);
        T* begin = chunks_[chunk].load(std::memory_order_relaxed);
        if (!begin) {
            begin = new T[kFirst << chunk]();
            chunks_[chunk].store(begin, std::memory_order_release);
        }
        return begin[at - (kFirst << chunk)];
    }
    void publish() noexcept { size_.store(size_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
    void push_back(T value) {
        next() = std::move(value);
        publish();
    }

private:
    static constexpr int kBits = 5;
    static constexpr std::size_t kFirst = 1 << (kBits - 1);
    // `at` is at least kFirst; setting that bit shows the compiler that the result is not negative.
    static int chunk_of(std::size_t at) { return std::bit_width(at | kFirst) - kBits; }
    std::array<std::atomic<T*>, 32> chunks_{};
    std::atomic<std::size_t> size_{0};
};

// Values in one array, each written once, before the caller publishes its index.
template <class T>
class PublishedArray {
public:
    const T& operator[](std::size_t i) const { return data_.load(std::memory_order_acquire)[i]; }
    std::size_t size() const { return size_; }

    // Writers only.
    void push_back(const T& value) {
        make_room();
        data_.load(std::memory_order_relaxed)[size_++] = value;
    }
    // For one more value, whose push_back() then cannot fail.
    void make_room() {
        if (size_ < capacity_) return;
        const std::size_t capacity = std::max<std::size_t>(16, capacity_ * 2);
        arrays_.push_back(std::make_unique<T[]>(capacity));
        T* grown = arrays_.back().get();
        std::copy_n(data_.load(std::memory_order_relaxed), size_, grown);
        data_.store(grown, std::memory_order_release);
        capacity_ = capacity;
    }

private:
    std::atomic<T*> data_{nullptr};
    std::size_t size_ = 0, capacity_ = 0;
    std::vector<std::unique_ptr<T[]>> arrays_;
};

// Interned sequences that never move.
class StableSequences {
public:
    std::pair<Word, bool> intern(std::span<const Word> words) {
        const auto result = ids_.intern(words);
        if (result.second) {
            try {
                spans_.make_room();
                pool_.emplace_back(words.begin(), words.end());
            } catch (...) {
                ids_.forget_last();
                throw;
            }
            n_words_ += words.size();
            spans_.push_back({pool_.back().data(), pool_.back().size()});
        }
        return result;
    }
    std::span<const Word> operator[](Word id) const { return spans_[id]; }
    Word size() const { return static_cast<Word>(spans_.size()); }
    // The words are stored twice: for interning, and where they never move.
    std::size_t bytes() const {
        constexpr std::size_t each = sizeof(std::vector<Word>) + 2 * sizeof(std::span<const Word>);
        return ids_.bytes() + n_words_ * sizeof(Word) + static_cast<std::size_t>(size()) * each;
    }

private:
    std::size_t n_words_ = 0;
    SequenceInterner ids_;
    std::deque<std::vector<Word>> pool_;
    PublishedArray<std::span<const Word>> spans_;
};

class SharedPairMap {
public:
    SharedPairMap() { table_.store(add_table(64), std::memory_order_release); }

    Word find(Word a, Word b, Word missing = -1) const {
        const Table* t = table_.load(std::memory_order_acquire);
        const std::uint64_t key = key_of(a, b);
        for (std::size_t slot = mix(key) & t->mask;; slot = (slot + 1) & t->mask) {
            const std::uint64_t have = t->slots[slot].key.load(std::memory_order_acquire);
            if (have == key) return t->slots[slot].value;
            if (have == kNone) return missing;
        }
    }

    // Writers only: stores `value` for (a, b), which must not be present, and must not be (-1, -1).
    void insert(Word a, Word b, Word value) {
        Table* t = tables_.back().get();
        if ((count_ + 1) * 2 > t->mask) {
            const Table* old = t;
            t = add_table((old->mask + 1) * 2);
            for (std::size_t i = 0; i <= old->mask; ++i)
                if (const auto key = old->slots[i].key.load(std::memory_order_relaxed); key != kNone)
                    put(*t, key, old->slots[i].value);
            put(*t, key_of(a, b), value);
            table_.store(t, std::memory_order_release);
        } else {
            put(*t, key_of(a, b), value);
        }
        ++count_;
    }

    std::size_t bytes() const { return tables_.empty() ? 0 : (tables_.back()->mask + 1) * 2 * sizeof(Slot); }

    // Calls f(a, b, value) for each entry, in no order.
    template <class F>
    void each(const F& f) const {
        const Table* t = table_.load(std::memory_order_acquire);
        for (std::size_t slot = 0; slot <= t->mask; ++slot)
            if (const auto key = t->slots[slot].key.load(std::memory_order_acquire); key != kNone)
                f(static_cast<Word>(key >> 32), static_cast<Word>(key), t->slots[slot].value);
    }

private:
    static constexpr std::uint64_t kNone = ~0ULL;
    struct Slot {
        std::atomic<std::uint64_t> key{kNone};
        Word value = 0;
    };
    struct Table {
        std::size_t mask;
        std::unique_ptr<Slot[]> slots;
    };

    static std::uint64_t key_of(Word a, Word b) {
        return static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32 | static_cast<std::uint32_t>(b);
    }

    Table* add_table(std::size_t size) {
        tables_.push_back(std::make_unique<Table>(Table{size - 1, std::make_unique<Slot[]>(size)}));
        return tables_.back().get();
    }

    static void put(Table& t, std::uint64_t key, Word value) {
        std::size_t slot = mix(key) & t.mask;
        while (t.slots[slot].key.load(std::memory_order_relaxed) != kNone) slot = (slot + 1) & t.mask;
        t.slots[slot].value = value;
        t.slots[slot].key.store(key, std::memory_order_release);
    }

    std::vector<std::unique_ptr<Table>> tables_;
    std::atomic<Table*> table_;
    std::size_t count_ = 0;
};

}  // namespace psc
