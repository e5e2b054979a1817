// Steps that texts have made, each in one line of memory: from a position, by a token, to a position and its row.
//
// A batch advances its texts one after another. By the time a text's turn comes, its grammar's data has left the processor's cache: reading
// a token by its bytes waits for a dozen lines of memory, and finding the row for as many. Here one is enough. A step applies to all
// positions with the same row and the same state of the lexer whose stacks have the same states as far down as the step looked. As the
// row is the same, the token is allowed; the rest says what is popped, what is pushed, and the row afterwards.
//
// Example: in `{"a": 1` the token `,` pops what becomes a member and pushes what is read after one. It looked at the states down to the
// object's, so it is the step of each number that ends in an object which began like this one.
//
// Some keys are not worth it: the stack is looked at too far down, or differs too often. They are closed, so that no text finds that out
// again.
//
// Threads: one at a time may add; any number may look meanwhile. What was added never changes.
//
// Cost: 64 bytes in a table that is half empty, and 96 where there are many states; to find a step, one line of memory, or three. What
// it saves is in matcher/matcher.hpp.
//
// Tried and dropped: steps for drafts alone (a batch without drafts gains as much); steps of linked machines, which have none yet.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/concurrent.hpp"
#include "base/ids.hpp"
#include "base/intern.hpp"

namespace psc {

class KnownSteps {
public:
    KnownSteps() = default;
    KnownSteps(const KnownSteps&) = delete;
    KnownSteps& operator=(const KnownSteps&) = delete;

    struct Key {
        MaskRow row;  // of the position, with the stop tokens of the matcher
        LexerState state;
        TokenId token;
        Word stops;  // which stop tokens the matcher has
        bool operator==(const Key&) const = default;
    };
    static constexpr std::size_t kMaxStates = 24;
    // With this many steps, those that lead to where they began are left out.
    static constexpr std::size_t kMaxThatStay = 1000;
    struct Counts {
        std::uint8_t n_seen = 0, n_popped = 0, n_pushed = 0;
        std::size_t n_states() const { return std::size_t{n_seen} + n_pushed; }
    };
    struct Step {
        Key key;
        LexerState to;
        MaskRow row;  // there
        Counts counts;
        // Those seen, the top first, then those pushed, the top last. The last one seen is below what is popped.
        std::array<LrState, kMaxStates> states{};
    };
    // A step as it is stored.
    struct Stored {
        LexerState to;
        MaskRow row;
        Counts counts;
        const LrState* states;
    };

    // The step of this key that `fits`, which is given its counts and states.
    template <class Fits>
    std::optional<Stored> find(const Key& key, const Fits& fits) const {
        return find_any(key, [&](Counts counts, const LrState* states) { return counts.n_seen && fits(counts, states); });
    }
    // Whether no more steps of this key are added.
    bool is_closed(const Key& key) const {
        return is_full() || find_any(key, [](Counts counts, const LrState*) { return !counts.n_seen; });
    }
    // Writers only: adds a step, unless it is there. Keys with many steps are closed.
    void add(const Step& step);
    // Writers only.
    void close(const Key& key);

    std::size_t size() const { return n_.load(std::memory_order_relaxed); }
    std::size_t bytes() const {
        return (tables_.empty() ? 0 : (tables_.back()->mask + 1) * 2 * sizeof(Slot)) +
               long_.size() * sizeof(std::array<LrState, kMaxStates>);
    }

private:
    static constexpr std::size_t kMax = 4000, kMaxOfKey = 4, kFew = 7;  // no more than what fits into a table
    struct alignas(64) Slot {
        std::atomic<std::uint64_t> tag{0};  // 0: nothing is here, nor after it
        Key key;
        LexerState to;
        MaskRow row;
        Counts counts;  // none seen: the key is closed
        union {
            std::array<LrState, kFew> few;
            std::uint32_t in_long;  // where there are more
        };

        Slot() : few{} {}
    };
    static_assert(sizeof(Slot) == 64);
    struct Table {
        std::size_t mask;
        std::unique_ptr<Slot[]> slots;
    };

    bool is_full() const { return n_.load(std::memory_order_relaxed) >= kMax; }
    template <class Fits>
    std::optional<Stored> find_any(const Key& key, const Fits& fits) const {
        const Table* t = table_.load(std::memory_order_acquire);
        if (!t) return {};
        const std::uint64_t tag = tag_of(key);
        for (std::size_t at = tag & t->mask;; at = (at + 1) & t->mask) {
            const Slot& slot = t->slots[at];
            const std::uint64_t have = slot.tag.load(std::memory_order_acquire);
            if (have == 0) return {};
            if (have != tag || slot.key != key) continue;
            const LrState* states = slot.counts.n_states() > kFew ? long_[slot.in_long].data() : slot.few.data();
            if (fits(slot.counts, states)) return Stored{slot.to, slot.row, slot.counts, states};
        }
    }
    static std::uint64_t tag_of(const Key& key) {
        const auto two = [](Word a, Word b) {
            return static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32 | static_cast<std::uint32_t>(b);
        };
        return mix(mix(two(key.row.v, key.state.v)) ^ two(key.stops, key.token.v)) | std::uint64_t{1} << 63;
    }
    static Slot& free_slot(Table& table, std::uint64_t tag);
    void make_room();

    std::atomic<Table*> table_{nullptr};                  // the last one
    std::vector<std::unique_ptr<Table>> tables_;          // one that was outgrown stays for the threads that read it
    StableVector<std::array<LrState, kMaxStates>> long_;  // what does not fit into a slot
    std::atomic<std::size_t> n_{0};
};

}  // namespace psc
