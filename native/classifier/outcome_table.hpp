// The outcomes of bundles on top of LR states, as closing asks for them: several times for each transition.
//
// Most outcomes emit nothing and leave one thread, which waits for a goto at once, as behind a reduction by one symbol. Such an
// outcome is its bundle and its nonterminal, and lies in the hash table itself, so that asking for it is one access to memory where
// a large table is not in the processor's cache. The others have numbers, which lead to them.
//
// Example: in a language with ten levels of operators, a number is an operand of each in turn: ten outcomes that are alike but for
// the nonterminal.
//
// Cost: open addressing, O(1) expected, 16 bytes a slot, of which at most half are taken. Threads: one at a time.
#pragma once

#include <vector>

#include "base/interned.hpp"

namespace psc {

class OutcomeTable {
public:
    class Entry {
    public:
        static Entry numbered(Word number) { return {number, kNumber}; }
        static Entry waiting(Bundle bundle, Nonterminal go_to) { return {bundle.v, go_to.v}; }
        bool waits() const { return kind_ >= 0; }
        Word number() const { return first_; }
        Bundle bundle() const { return {first_}; }
        Nonterminal go_to() const { return {kind_}; }

    private:
        friend OutcomeTable;
        static constexpr Word kNumber = -1, kNone = -2;

        Entry(Word first, Word kind) : first_(first), kind_(kind) {}

        Word first_, kind_;  // a nonterminal, or a negative number
    };

    OutcomeTable() : slots_(16) {}

    // Null where there is none; until the next insert().
    const Entry* find(Bundle bundle, LrState top) const {
        std::size_t at = slot_of(bundle, top);
        for (; slots_[at].is_taken(); at = (at + 1) & (slots_.size() - 1))
            if (slots_[at].bundle == bundle && slots_[at].top == top) return &slots_[at].entry;
        return nullptr;
    }
    void prefetch(Bundle bundle, LrState top) const { __builtin_prefetch(&slots_[slot_of(bundle, top)]); }
    // There must be none yet.
    void insert(Bundle bundle, LrState top, Entry entry) {
        if ((size_ + 1) * 2 > slots_.size()) grow();
        ++size_;
        put({bundle, top, entry});
    }
    std::size_t size() const { return size_; }

private:
    struct Slot {
        Bundle bundle{0};
        LrState top{0};
        Entry entry{0, Entry::kNone};

        bool is_taken() const { return entry.kind_ != Entry::kNone; }
    };

    std::size_t slot_of(Bundle bundle, LrState top) const {
        const auto key = static_cast<std::uint64_t>(static_cast<std::uint32_t>(bundle.v)) << 32 | static_cast<std::uint32_t>(top.v);
        return mix(key) & (slots_.size() - 1);
    }
    void put(const Slot& slot) {
        std::size_t at = slot_of(slot.bundle, slot.top);
        while (slots_[at].is_taken()) at = (at + 1) & (slots_.size() - 1);
        slots_[at] = slot;
    }
    void grow() {
        std::vector<Slot> old(slots_.size() * 2);
        old.swap(slots_);
        for (const Slot& slot : old)
            if (slot.is_taken()) put(slot);
    }

    std::vector<Slot> slots_;
    std::size_t size_ = 0;
};

}  // namespace psc
