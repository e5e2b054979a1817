// Memory for trees that only grow, shared by copies: allocation by moving a pointer, freed in one go.
//
// A copy (a fork) shares every chunk that exists and takes new ones of its own, so two threads never write to one chunk. Memory is
// given back in two ways, and by these alone:
//   * Arena::Attempt: what is allocated while the object lives is given back when it ends, by return or by exception, unless keep()
//     was called. Attempts nest as blocks do.
//   * rewind_to_end_of(object): all that was allocated after an object that stays. It asks whether a copy can still see the chunk.
// An arena that is copied or rewound while an attempt is open would let a copy see what the attempt gives back: that throws.
//
// The free part of a chunk belongs to the arena that made the chunk, also when copies share it: they see only what was allocated
// before them. So an attempt restores the whole place (chunk, next free byte, end of the free part), without asking who shares it.
// Example of the case that needs all three: a fork is alive, an attempt inside an attempt outgrows the chunk; going back to the
// inner attempt's begin and then to the outer's is going back to the same chunk twice.
//
// Cost: allocate, copy and rewind are O(1) amortized; an attempt is a few moves.
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
    // Shares what `other` holds.
    Arena(const Arena& other) : chunk_(other.chunk_) { other.no_attempt(); }
    Arena& operator=(const Arena&) = delete;

    template <class T>
    T* make(std::size_t n = 1) {
        static_assert(alignof(T) <= 8 && std::is_trivially_destructible_v<T>);
        return reinterpret_cast<T*>(allocate((n * sizeof(T) + 7) / 8 * 8));
    }

    // Whether the next make<T>() gives an object in the chunk that has `object`, which is the arena's, and after it.
    template <class T>
    bool has_room_beside(const void* object) const {
        const auto* p = static_cast<const char*>(object);
        return static_cast<std::size_t>(end_ - at_) >= sizeof(T) && p >= chunk_->begin() && p < at_;
    }

    // Lives on the stack of the function that tries something.
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

    // Gives back what was allocated after this object, which is the arena's and not within an array.
    template <class T>
    void rewind_to_end_of(const T* last) {
        static_assert(sizeof(T) % 8 == 0);
        no_attempt();
        char* end = const_cast<char*>(reinterpret_cast<const char*>(last + 1));
        while (chunk_ && !chunk_->contains(end)) drop_chunk();
        // A fork that was dropped on another thread has read its last then.
        if (chunk_ && chunk_->owner == id() && is_sole_owner(chunk_)) {
            at_ = end;
            end_ = chunk_->end();
        } else {
            at_ = end_ = nullptr;  // a copy can see the chunk: the next allocation takes another
        }
    }

private:
    struct Chunk {
        Chunk(std::size_t n, std::shared_ptr<Chunk> under, std::uint64_t who)
            : below(std::move(under)), data(std::make_unique_for_overwrite<std::uint64_t[]>(n / 8)), size(n), owner(who) {}
        // A long chain is let go of one by one, not by recursion.
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
        // A quarter of what there is, so that little of it is not used.
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
    char *at_ = nullptr, *end_ = nullptr;  // the free part of chunk_; both null: none of it is ours to write
    std::uint64_t id_ = 0;
    std::uint64_t n_attempts_ = 0;  // open ones
};

}  // namespace psc
