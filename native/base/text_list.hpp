// Many short texts in one block of memory, by number; and an index from a text to its number.
//
// A grammar has thousands of rule names, most of them derived from another one (`object_1`, `object_2`). Strings would be an
// allocation for each name in each stage. A TextList is copied as two blocks, and a TextIndex stores numbers and hashes, no texts.
//
// Cost: push_back() copies the text; a lookup is O(length) expected. Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/intern.hpp"

namespace psc {

class TextList {
public:
    // Valid until the next push_back().
    std::string_view operator[](std::size_t i) const {
        const std::size_t begin = i > 0 ? ends_[i - 1] : 0;
        return {text_.data() + begin, ends_[i] - begin};
    }
    void push_back(std::string_view text) {
        text_.append(text);
        ends_.push_back(text_.size());
    }
    std::size_t size() const { return ends_.size(); }
    // For callers that need objects.
    std::vector<std::string> strings() const {
        std::vector<std::string> out;
        out.reserve(size());
        for (std::size_t i = 0; i < size(); ++i) out.emplace_back((*this)[i]);
        return out;
    }

private:
    std::string text_;
    std::vector<std::size_t> ends_;
};

// The numbers 0, 1, ... by their texts, which the caller stores: `text_of(number)` returns one.
class TextIndex {
public:
    TextIndex() : slots_(16) {}

    static std::size_t hash(std::string_view text) { return std::hash<std::string_view>()(text); }
    // The number, or -1.
    template <class TextOf>
    Word find(std::string_view text, std::size_t hash, const TextOf& text_of) const {
        for (std::size_t slot = hash & mask(); slots_[slot].number >= 0; slot = (slot + 1) & mask())
            if (slots_[slot].tag == tag(hash) && text_of(slots_[slot].number) == text) return slots_[slot].number;
        return -1;
    }
    // The text must be new.
    template <class TextOf>
    void insert(Word number, std::size_t hash, const TextOf& text_of) {
        if (++count_ * 2 > slots_.size()) {
            std::vector<Slot> old(slots_.size() * 4);
            old.swap(slots_);
            for (const Slot& s : old)
                if (s.number >= 0) put(s.number, TextIndex::hash(text_of(s.number)));
        }
        put(number, hash);
    }

private:
    struct Slot {
        Word number = -1;
        std::uint32_t tag = 0;  // bits of the hash that the slot does not determine
    };
    std::size_t mask() const { return slots_.size() - 1; }
    static std::uint32_t tag(std::size_t hash) { return static_cast<std::uint32_t>(hash >> 32); }
    void put(Word number, std::size_t hash) {
        std::size_t slot = hash & mask();
        while (slots_[slot].number >= 0) slot = (slot + 1) & mask();
        slots_[slot] = {number, tag(hash)};
    }

    std::vector<Slot> slots_;
    std::size_t count_ = 0;
};

// Distinct names, and for each the last number that was appended to it to make another name.
class NameTable {
    struct TextOf {
        const TextList& list;
        std::string_view operator()(Word number) const { return list[static_cast<std::size_t>(number)]; }
    };
    TextOf text_of() const { return {list_}; }

public:
    std::string_view operator[](Word name) const { return list_[static_cast<std::size_t>(name)]; }
    const TextList& list() const { return list_; }
    // The name's number, or -1.
    Word find(std::string_view name) const { return index_.find(name, TextIndex::hash(name), text_of()); }
    bool contains(std::string_view name) const { return find(name) >= 0; }
    // The name's number; a new name gets `last`.
    Word add(std::string_view name, Word last) {
        const std::size_t hash = TextIndex::hash(name);
        if (const Word existing = index_.find(name, hash, text_of()); existing >= 0) return existing;
        const Word number = static_cast<Word>(list_.size());
        list_.push_back(name);
        last_.push_back(last);
        index_.insert(number, hash, text_of());
        return number;
    }
    Word& last(Word name) { return last_[static_cast<std::size_t>(name)]; }

private:
    TextList list_;
    TextIndex index_;
    std::vector<Word> last_;
};

}  // namespace psc
