// Classes of bytes: those that lead from every state of an automaton to the same state, numbered by their first bytes.
//
// Cost: a comparison for each state and byte (or class); a class is split at most 255 times. Threads: pure functions.
// Tried and dropped: automata of terminals with 256 words a state. With classes that stage of a compilation takes half the time
// (Java 9 to 4.5 ms, SQL 15 to 7 ms).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.hpp"

namespace psc {

class ByteClasses {
public:
    // Every byte a class.
    ByteClasses() : representative_(256) {
        for (int b = 0; b < 256; ++b) representative_[b] = class_of_[b].v = static_cast<std::uint8_t>(b);
    }

    Word size() const { return static_cast<Word>(representative_.size()); }
    const std::array<ByteClass, 256>& class_of() const { return class_of_; }
    // The first byte of each class.
    const std::vector<std::uint8_t>& representatives() const { return representative_; }

    // The classes after merging those that are equal in all rows. `rows`: state * size() + class -> state.
    ByteClasses merged(std::span<const Word> rows) const {
        const auto n = static_cast<std::size_t>(size());
        std::vector<std::uint8_t> first(n);                        // per class, the first one that was equal so far
        std::vector<std::pair<std::uint8_t, std::uint8_t>> parts;  // of a row: what was the first one, and is in this part of it
        for (auto row = rows; !row.empty(); row = row.subspan(n)) {
            bool same = true;
            for (std::size_t c = 0; c < n; ++c) same &= row[c] == row[first[c]];
            if (same) continue;
            parts.clear();
            for (std::size_t c = 0; c < n; ++c) {
                if (row[c] == row[first[c]]) continue;
                std::uint8_t part = static_cast<std::uint8_t>(c);
                for (const auto& [from, other] : parts)
                    if (from == first[c] && row[other] == row[c]) part = other;
                if (part == c) parts.emplace_back(first[c], part);
                first[c] = part;
            }
        }
        ByteClasses made(*this);
        made.representative_.clear();
        std::vector<ByteClass> number(n);
        for (std::size_t c = 0; c < n; ++c) {
            if (first[c] == c) {
                number[c].v = static_cast<std::uint8_t>(made.representative_.size());
                made.representative_.push_back(representative_[c]);
            } else {
                number[c] = number[first[c]];
            }
        }
        for (ByteClass& c : made.class_of_) c = number[c.v];
        return made;
    }

    // The rows of these classes as those of `merged` ones.
    std::vector<Word> narrowed(std::span<const Word> rows, const ByteClasses& merged) const {
        const auto n = static_cast<std::size_t>(size());
        std::vector<std::uint8_t> kept;
        for (std::uint8_t byte : merged.representative_) kept.push_back(class_of_[byte].v);
        std::vector<Word> out(rows.size() / n * kept.size());
        Word* at = out.data();
        for (auto row = rows; !row.empty(); row = row.subspan(n))
            for (std::uint8_t c : kept) *at++ = row[c];
        return out;
    }
    // The rows of these classes as those of all bytes.
    std::vector<Word> widened(std::span<const Word> rows) const {
        const auto n = static_cast<std::size_t>(size());
        std::vector<Word> out(rows.size() / n * 256);
        Word* at = out.data();
        for (auto row = rows; !row.empty(); row = row.subspan(n))
            for (ByteClass c : class_of_) *at++ = row[c.v];
        return out;
    }

private:
    std::array<ByteClass, 256> class_of_;
    std::vector<std::uint8_t> representative_;
};

}  // namespace psc
