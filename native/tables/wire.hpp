// Structures as one list of words, for another process with the same version of psc.
//
// Vectors are written with their lengths. Reading checks that every length lies inside the list and that nothing is left over. It
// does not check what the words mean: psc wrote them.
//
// Cost: a copy. Threads: one at a time.
#pragma once

#include <stdexcept>
#include <type_traits>
#include <vector>

#include "tables/columns.hpp"

namespace psc {

class WordWriter {
public:
    void put(Word w) { words_.push_back(w); }
    void put(std::span<const Word> v) {
        put(static_cast<Word>(v.size()));
        words_.insert(words_.end(), v.begin(), v.end());
    }
    template <WordLike T>
    void put(const std::vector<T>& v) {
        put(words_of(std::span<const T>(v)));
    }
    std::vector<Word> take() { return std::move(words_); }

private:
    std::vector<Word> words_;
};

class WordReader {
public:
    explicit WordReader(std::span<const Word> words) : rest_(words) {}

    Word word() {
        if (rest_.empty()) fail();
        const Word w = rest_.front();
        rest_ = rest_.subspan(1);
        return w;
    }
    template <WordLike T = Word>
    std::vector<T> vector() {
        const Word n = word();
        if (n < 0 || static_cast<std::size_t>(n) > rest_.size()) fail();
        const auto elements = ids_of<T>(rest_.first(n));
        std::vector<T> v(elements.begin(), elements.end());
        rest_ = rest_.subspan(n);
        return v;
    }
    void end() const {
        if (!rest_.empty()) fail();
    }

private:
    [[noreturn]] static void fail() {
        throw std::invalid_argument("words sent by another process are cut short, or of another version");
    }

    std::span<const Word> rest_;
};

// A table of tables/columns.hpp, field by field.
template <class Index, class T, Presence kPresence>
void put_field(WordWriter& w, const Column<Index, T, kPresence>& column) {
    w.put(words_of(column.all()));
}
template <WordLike T>
void put_field(WordWriter& w, const T& one) {
    w.put(words_of(std::span<const T>(&one, 1))[0]);
}
template <class Table>
void put_table(WordWriter& w, const Table& table) {
    each_field(table, [&](const char*, const auto& field, const char*) { put_field(w, field); });
}

template <class Index, class T, Presence kPresence>
void take_field(WordReader& r, Column<Index, T, kPresence>& column) {
    column = {r.vector<T>()};
}
template <class Index, class Pool, Word kLeast>
void take_field(WordReader& r, Offsets<Index, Pool, kLeast>& offsets) {
    offsets = {r.vector()};
}
template <WordLike T>
void take_field(WordReader& r, T& one) {
    const Word w = r.word();
    one = ids_of<T>({&w, 1})[0];
}
template <class Table>
void take_table(WordReader& r, Table& table) {
    each_field(table, [&](const char*, auto& field, const char*) { take_field(r, field); });
}

}  // namespace psc
