// An arena for trees that only grow: allocation moves a pointer, copies share what exists, and all memory is freed at once.
//
// A copy (a fork of a matcher) shares every chunk that exists and adds chunks of its own, so two threads never write to one chunk.
// Memory is given back in two ways only:
//   * Arena::Attempt: what is allocated while the object lives is given back when it ends, by return or by exception, unless keep()
//     was called. Attempts nest as blocks do.
//   * rewind_to_end_of(object): gives back all that was allocated after an object that stays, unless a copy sees the chunk.
// To copy or rewind an arena with an open attempt would let a copy see what the attempt gives back; both throw std::logic_error.
//
// The free part of a chunk belongs to the arena that made the chunk, even when copies share it: they see only what was allocated
// before them. So an attempt restores the whole position (chunk, next free byte, end of the free part) and need not know who shares
// it.
// Example that needs all three: a fork is alive, and an attempt inside an attempt outgrows the chunk. Undoing the inner one and
// then the outer one returns to the same chunk twice.
//
// Cost: allocate, copy and rewind are O(1) amortized; an attempt is a few moves.
// Threads: one at a time for each arena. Copies may live and be destroyed on other threads.
// Tried and dropped: mark() and rewind(mark), which restored the chunk and the next byte alone. With a fork alive they returned to
// a chunk that the fork could see, and a matcher wrote behind its memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <type_traits>

#include "base/sole_owner.hpp"

namespace psc {

class Arena {
    struct Chunk;

public:
    Arena() = default;
    // Shares the chunks of `other`.
    Arena(const Arena& other) : chunk_(other.chunk_) { other.no_attempt(); }
    Arena& operator=(const Arena&) = delete;

    template <class T>
    T* make(std::size_t n = 1) {
        static_assert(alignof(T) <= 8 && std::is_trivially_destructible_v<T>);
        return reinterpret_cast<T*>(allocate((n * sizeof(T) + 7) / 8 * 8));
    }

    // Whether the next make<T>() allocates after `object`, an object of this arena, in the same chunk.
    template <class T>
    bool has_room_beside(const void* object) const {
        const auto* p = static_cast<const char*>(object);
        return static_cast<std::size_t>(end_ - at_) >= sizeof(T) && p >= chunk_->begin() && p < at_;
    }

    // A transaction over the arena, on the stack of the function that begins it.
    class Attempt {
    public:
        explicit Attempt(Arena& arena) : at_(arena.at_), end_(arena.end_), chunk_(arena.chunk_.get()), arena_(arena) {
            ++arena.n_attempts_;
        }
        ~Attempt() {
            --arena_.n_attempts_;
            if (kept_) return;
            if (arena_.chunk_.get() != chunk_) arena_.drop_chunks_above(chunk_);
            arena_.at_ = at_;
            arena_.end_ = end_;
        }
        Attempt(const Attempt&) = delete;
        Attempt& operator=(const Attempt&) = delete;
        static void* operator new(std::size_t) = delete;

        void keep() { kept_ = true; }

    private:
        char *at_, *end_;
        const Chunk* chunk_;
        Arena& arena_;
        bool kept_ = false;
    };

    // Gives back what was allocated after `last`, an object of this arena that is no array element.
    template <class T>
    void rewind_to_end_of(const T* last) {
        static_assert(sizeof(T) % 8 == 0);
        no_attempt();
        char* end = const_cast<char*>(reinterpret_cast<const char*>(last + 1));
        while (chunk_ && !chunk_->contains(end)) drop_chunk();
        // is_sole_owner() also waits for the reads of a fork that another thread has destroyed.
        if (chunk_ && chunk_->owner == id() && is_sole_owner(chunk_)) {
            at_ = end;
            end_ = chunk_->end();
        } else {
            at_ = end_ = nullptr;  // a copy can see the chunk: the next allocation takes another
        }
    }

private:
    struct Chunk {
        Chunk(std::size_t n, std::shared_ptr<Chunk> under, std::uint64_t maker)
            : below(std::move(under)), data(std::make_unique_for_overwrite<std::uint64_t[]>(n / 8)), size(n), owner(maker) {}
        // A long chain is destroyed in a loop; recursion would overflow the stack.
        ~Chunk() {
            while (below && is_sole_owner(below)) {
                auto next = std::move(below->below);
                below = std::move(next);
            }
        }
        char* begin() const { return reinterpret_cast<char*>(data.get()); }
        char* end() const { return begin() + size; }
        bool contains(const char* p) const { return p > begin() && p <= end(); }

        std::shared_ptr<Chunk> below;
        std::unique_ptr<std::uint64_t[]> data;
        std::size_t size;
        std::size_t total = 0;  // with those below
        std::uint64_t owner;
    };

    static constexpr std::size_t kFirst = 448, kLargest = 1 << 16;

    char* allocate(std::size_t n) {
        if (static_cast<std::size_t>(end_ - at_) < n) add_chunk(n);
        char* p = at_;
        at_ += n;
        return p;
    }

    [[gnu::noinline, gnu::cold]] void add_chunk(std::size_t n) {
        // A quarter of the present size, so that little of it stays unused.
        const std::size_t before = chunk_ ? chunk_->total : 0;
        const std::size_t size = std::max(n, std::clamp(before / 4 / 8 * 8, kFirst, kLargest));
        auto chunk = std::make_shared<Chunk>(size, chunk_, id());
        chunk->total = before + size;
        chunk_ = std::move(chunk);
        at_ = chunk_->begin();
        end_ = chunk_->end();
    }

    void drop_chunk() { chunk_ = std::shared_ptr<Chunk>(chunk_->below); }

    [[gnu::noinline, gnu::cold]] void drop_chunks_above(const Chunk* chunk) {
        while (chunk_.get() != chunk) drop_chunk();
    }

    void no_attempt() const {
        if (n_attempts_) throw std::logic_error("an arena is copied or rewound while an attempt is open");
    }

    std::uint64_t id() {
        static std::atomic<std::uint64_t> last{0};
        if (!id_) id_ = ++last;
        return id_;
    }

    std::shared_ptr<Chunk> chunk_;
    char *at_ = nullptr, *end_ = nullptr;  // the free part of chunk_; both null: this arena may write to none of it
    std::uint64_t id_ = 0;
    std::uint64_t n_attempts_ = 0;  // open ones
};

}  // namespace psc
