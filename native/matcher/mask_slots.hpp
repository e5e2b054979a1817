// Which mask rows are in a table of a fixed number of slots, on a GPU or anywhere else, and what has to be written there.
//
// Rows belong to grammars, and are numbered by each; a table holds those of all grammars of a vocabulary. A row that is met gets a
// slot and is queued to be written there; when all are taken, the slot of a row that was not met lately goes (second chance, the
// clock of paging). Rows met in one step keep their slots until the next.
//
// Cost: slot_of() is a look into a vector for a row that has a slot; else a copy of the row, as ids where it is stored so.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "machine/machine.hpp"

namespace psc {

class MaskSlots {
public:
    // What to write into a slot: all bits, or the only tokens allowed, or the only ones refused.
    struct Write {
        Word slot, form, begin, count;  // a MaskRows::Form; a range of pool()
    };

    explicit MaskSlots(Word n_slots);

    Word n_slots() const { return n_slots_; }
    Word n_used() const { return static_cast<Word>(slots_.size()); }
    std::uint64_t n_steps() const { return step_; }

    // Begins a step: forgets what was to be written.
    void begin();
    // The slot of a row; throws BitmaskError when there are more rows in this step than slots.
    Word slot_of(const std::shared_ptr<RowCache>& cache, MaskRow row);

    std::span<const Write> writes() const { return writes_; }
    std::span<const std::uint32_t> pool() const { return pool_; }

private:
    struct Grammar {                    // one generation of its rows
        std::weak_ptr<RowCache> cache;  // keeps the address from being another's
        std::vector<Word> slot_of_row;
        Word n_slots = 0;
    };
    struct Slot {
        RowCache* cache = nullptr;
        MaskRow row{0};
        bool met = false;
        std::uint64_t step = 0;
    };

    Word free_slot();

    std::unordered_map<RowCache*, Grammar> grammars_;
    RowCache* last_ = nullptr;
    Grammar* last_grammar_ = nullptr;
    Word n_slots_;
    std::vector<Slot> slots_;  // those used
    std::size_t hand_ = 0;
    std::uint64_t step_ = 0;
    std::vector<Write> writes_;
    std::vector<std::uint32_t> pool_;
};

// A write that comes from elsewhere: throws BitmaskError when it reaches out of the table, the pool or the vocabulary.
void check_write(const MaskSlots::Write& write, std::span<const std::uint32_t> pool, std::size_t n_slots, Word vocab_size);
// The row of a write that is known to be sound, into ceil(vocab_size / 32) words.
void write_row(const MaskSlots::Write& write, std::span<const std::uint32_t> pool, Word vocab_size, std::uint32_t* out);

}  // namespace psc
