// Memory for trees that only grow, shared by copies: allocation by moving a pointer, freed in one go.
//
// A fork shares every chunk that exists and takes new ones of its own, so that two threads never write to one chunk. Going
// back to a place gives the memory after it back, unless a fork can still see it.
//
// Cost: allocate, fork and rewind are O(1) amortized.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace psc {

class Arena {
public:
    Arena() = default;
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    // Shares what `other` holds.
    void fork_from(const Arena& other) {
        chunk_ = other.chunk_;
        at_ = end_ = nullptr;
    }

    template <class T>
    T* make(std::size_t n = 1) {
        static_assert(alignof(T) <= 8 && std::is_trivially_destructible_v<T>);
        return reinterpret_cast<T*>(allocate((n * sizeof(T) + 7) / 8 * 8));
    }

    // The place after the last allocation.
    struct Mark {
        const void* chunk;
        char* at;
    };
    Mark mark() const { return {chunk_.get(), at_}; }
    // Back to a mark that this arena gave since its last fork or rewind_to_end_of.
    void rewind(Mark mark) {
        if (chunk_.get() == mark.chunk) {
            if (mark.at) at_ = mark.at;
            return;
        }
        while (chunk_ && chunk_.get() != mark.chunk) chunk_ = std::shared_ptr<Chunk>(chunk_->below);
        settle(mark.at);
    }
    // Gives back what was allocated after this object.
    template <class T>
    void rewind_to_end_of(const T* last) {
        char* end = const_cast<char*>(reinterpret_cast<const char*>(last + 1));
        while (chunk_ && !chunk_->contains(end)) chunk_ = std::shared_ptr<Chunk>(chunk_->below);
        settle(end);
    }

private:
    struct Chunk {
        Chunk(std::size_t n, std::shared_ptr<Chunk> under, std::uint64_t who)
            : below(std::move(under)), data(std::make_unique_for_overwrite<std::uint64_t[]>(n / 8)), size(n), owner(who) {}
        // A long chain is let go of one by one, not by recursion.
        ~Chunk() {
            while (below && below.use_count() == 1) {
                auto next = std::move(below->below);
                below = std::move(next);
            }
        }
        char* begin() const { return reinterpret_cast<char*>(data.get()); }
        bool contains(const char* p) const { return p > begin() && p <= begin() + size; }

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

    void add_chunk(std::size_t n) {
        // A quarter of what there is, so that little of it is not used.
        const std::size_t before = chunk_ ? chunk_->total : 0;
        const std::size_t size = std::max(n, std::clamp(before / 4 / 8 * 8, kFirst, kLargest));
        chunk_ = std::make_shared<Chunk>(size, std::move(chunk_), id());
        chunk_->total = before + size;
        at_ = chunk_->begin();
        end_ = at_ + size;
    }

    // Goes on at `at` in the current chunk if it is ours alone.
    void settle(char* at) {
        if (at && chunk_ && chunk_->owner == id() && chunk_.use_count() == 1) {
            std::atomic_thread_fence(std::memory_order_acquire);  // a fork that was dropped on another thread has read its last
            at_ = at;
            end_ = chunk_->begin() + chunk_->size;
        } else {
            at_ = end_ = nullptr;
        }
    }

    std::uint64_t id() {
        static std::atomic<std::uint64_t> last{0};
        if (!id_) id_ = ++last;
        return id_;
    }

    std::shared_ptr<Chunk> chunk_;
    char *at_ = nullptr, *end_ = nullptr;
    std::uint64_t id_ = 0;
};

}  // namespace psc
