// A matrix of which most cells are empty: what a row has in a column, or nothing.
//
// Each row is a hash table of its own; the tables lie one after the other. Multiplicative hashing gives a column its slot, which
// spreads consecutive columns, as rows often have. A column whose slot is taken goes into the next free one, beyond the end of the
// row's own slots if need be, and a row gets more slots where many columns would. A row ends with a free slot, so that a search
// needs no bound. An empty row is the free slot at the end of the row before.
//
// Cost: find() is O(1) expected: the row's begin, a multiplication, mostly one slot. 8 bytes a row, two to eight slots an entry.
// Threads: rows do not change once made; copies share them.
// Source: D. Knuth, "The Art of Computer Programming" 3, 6.4 (multiplicative hashing, linear probing).
#pragma once

#include <bit>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.hpp"

namespace psc {

template <class V>
class SparseRows {
public:
    struct Entry {
        Word column;  // -1: a free slot
        V value;
    };

private:
    struct Row {
        Word begin;
        int shift;  // of a column's hash, 32 bits, to its slot
    };

public:
    class Builder {
    public:
        // `n_slots`: where it is known, the sum of least_slots() of all rows, so that no row moves all rows before it.
        explicit Builder(std::size_t n_rows, std::size_t n_slots = 0) {
            rows_.reserve(n_rows + 1);
            slots_.reserve(n_slots + 1);
        }
        // Of a row with this many entries.
        static std::size_t least_slots(std::size_t n) { return n < 2 ? n : std::size_t{1} << std::bit_width(n); }

        // The next row, each column at most once.
        void add(std::span<const Entry> entries) {
            const std::size_t n = entries.size();
            if (n == 0) {
                rows_.push_back({static_cast<Word>(slots_.size()) - 1, kNoBits});
                return;
            }
            const auto width = static_cast<int>(std::bit_width(n));
            int bits = n == 1 ? 0 : width;
            while (!spread(entries, bits) && bits < width + kMoreBits) ++bits;
            const Row row{static_cast<Word>(slots_.size()), kNoBits - bits};
            rows_.push_back(row);
            slots_.resize(slots_.size() + (std::size_t{1} << bits), kFree);
            for (const Entry& e : entries) {
                std::size_t at = slot_of(row, e.column);
                while (at < slots_.size() && slots_[at].column >= 0) ++at;
                if (at == slots_.size()) slots_.push_back(kFree);
                slots_[at] = e;
            }
            if (slots_.back().column >= 0) slots_.push_back(kFree);
        }
        SparseRows take() {
            rows_.push_back({static_cast<Word>(slots_.size()) - 1, kNoBits});
            const auto arrays = std::make_shared<const Arrays>(std::move(rows_), std::move(slots_));
            SparseRows made;
            made.rows_ = arrays->first.data();
            made.slots_ = arrays->second.data();
            made.bytes_ = arrays->first.size() * sizeof(Row) + arrays->second.size() * sizeof(Entry);
            made.owner_ = arrays;
            return made;
        }

    private:
        // Whether at most one in eight collides with another.
        bool spread(std::span<const Entry> entries, int bits) {
            taken_.assign(std::size_t{1} << bits, 0);
            std::size_t collisions = 0;
            for (const Entry& e : entries) collisions += std::exchange(taken_[slot_of({0, kNoBits - bits}, e.column)], 1);
            return collisions <= entries.size() / 8;
        }

        std::vector<Row> rows_;
        std::vector<Entry> slots_{kFree};
        std::vector<char> taken_;
    };

    // Null where the row has nothing in the column.
    const V* find(std::size_t row, Word column) const {
        const Entry* at = slots_ + slot_of(rows_[row], column);
        for (; at->column != column; ++at)
            if (at->column < 0) return nullptr;
        return &at->value;
    }
    // Calls f(column, value) for the entries of a row, in no order.
    template <class F>
    void each(std::size_t row, const F& f) const {
        for (Word i = rows_[row].begin; i < rows_[row + 1].begin; ++i)
            if (slots_[i].column >= 0) f(slots_[i].column, slots_[i].value);
    }
    std::size_t bytes() const { return bytes_; }

private:
    static constexpr int kNoBits = 32, kMoreBits = 2;
    static constexpr Entry kFree{-1, {}};
    using Arrays = std::pair<std::vector<Row>, std::vector<Entry>>;

    static std::size_t slot_of(Row row, Word column) {
        const std::uint64_t hash = static_cast<std::uint32_t>(column) * std::uint32_t{0x9e3779b1};
        return static_cast<std::size_t>(row.begin) + (hash >> row.shift);
    }

    const Row* rows_ = nullptr;
    const Entry* slots_ = nullptr;
    std::size_t bytes_ = 0;
    std::shared_ptr<const void> owner_;  // copies share
};

}  // namespace psc
