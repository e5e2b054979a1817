// A set of pairs of 64-bit words by open addressing: the nodes and edges that a search over a graph of stacks has visited.
//
// Cost: insert() is O(1) expected; 16 bytes a slot, at most half of the slots used. The first eight pairs are in the object itself,
// so nothing is allocated before the ninth. Threads: one at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/intern.hpp"

namespace psc {

class FlatSet {
public:
    // Whether the pair is new. `b` must not be kFree.
    bool insert(std::uint64_t a, std::uint64_t b) {
        if (slots_.empty()) {
            for (std::size_t i = 0; i < count_; ++i)
                if (few_[i].a == a && few_[i].b == b) return false;
            if (count_ < few_.size()) {
                few_[count_++] = {a, b};
                return true;
            }
            slots_.assign(4 * few_.size(), Slot{0, kFree});
            for (const Slot& s : few_) *find(s.a, s.b) = s;
        }
        if ((count_ + 1) * 2 > slots_.size()) grow();
        Slot* at = find(a, b);
        if (at->b != kFree) return false;
        *at = {a, b};
        ++count_;
        return true;
    }
    bool contains(std::uint64_t a, std::uint64_t b) const {
        if (!slots_.empty()) return const_cast<FlatSet*>(this)->find(a, b)->b != kFree;
        return std::any_of(few_.begin(), few_.begin() + static_cast<std::ptrdiff_t>(count_),
                           [&](const Slot& s) { return s.a == a && s.b == b; });
    }
    std::size_t size() const { return count_; }

    static constexpr std::uint64_t kFree = ~std::uint64_t{0};

private:
    struct Slot {
        std::uint64_t a, b;
    };

    Slot* find(std::uint64_t a, std::uint64_t b) {
        std::size_t i = mix(mix(a) ^ b) & (slots_.size() - 1);
        while (slots_[i].b != kFree && (slots_[i].a != a || slots_[i].b != b)) i = (i + 1) & (slots_.size() - 1);
        return &slots_[i];
    }
    void grow() {
        std::vector<Slot> old(slots_.size() * 2, Slot{0, kFree});
        old.swap(slots_);
        for (const Slot& s : old)
            if (s.b != kFree) *find(s.a, s.b) = s;
    }

    std::array<Slot, 8> few_{};
    std::vector<Slot> slots_;  // empty while there are few
    std::size_t count_ = 0;
};

}  // namespace psc
