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

#include "machine.hpp"

namespace psc {

class MaskSlots {
public:
    // What to write into a slot: all bits, or the only tokens allowed, or the only ones refused.
    struct Write {
        Word slot, form, begin, count;  // a MaskRows::Form; a range of pool()
    };

    explicit MaskSlots(Word n_slots);

    Word n_slots() const { return static_cast<Word>(slots_.size()); }
    Word n_used() const { return n_used_; }

    // Begins a step: forgets what was to be written.
    void begin();
    // The slot of a row; throws BitmaskError when there are more rows in this step than slots.
    Word slot_of(const std::shared_ptr<Machine::Cache>& cache, Word row);

    std::span<const Write> writes() const { return writes_; }
    std::span<const std::uint32_t> pool() const { return pool_; }

private:
    struct Grammar {  // one generation of its rows
        std::weak_ptr<Machine::Cache> cache;  // keeps the address from being another's
        std::vector<Word> slot_of_row;
        Word n_slots = 0;
    };
    struct Slot {
        Machine::Cache* cache = nullptr;
        Word row = 0;
        bool met = false;
        std::uint64_t step = 0;
    };

    Word free_slot();

    std::unordered_map<Machine::Cache*, Grammar> grammars_;
    Machine::Cache* last_ = nullptr;
    Grammar* last_grammar_ = nullptr;
    std::vector<Slot> slots_;
    Word n_used_ = 0;
    std::size_t hand_ = 0;
    std::uint64_t step_ = 0;
    std::vector<Write> writes_;
    std::vector<std::uint32_t> pool_;
};

}  // namespace psc
