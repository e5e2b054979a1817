// Structures as one list of words, to be sent from one process to another of the same version of psc.
//
// Vectors are written with their lengths. Reading checks that every length lies inside the list and that nothing is left over; what
// the words mean is not checked: both ends are ours.
#pragma once

#include <stdexcept>
#include <type_traits>
#include <vector>

#include "intern.hpp"

namespace psc {

class WordWriter {
public:
    void put(Word w) { words_.push_back(w); }
    void put(std::span<const Word> v) {
        put(static_cast<Word>(v.size()));
        words_.insert(words_.end(), v.begin(), v.end());
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
    std::vector<Word> vector() {
        const Word n = word();
        if (n < 0 || static_cast<std::size_t>(n) > rest_.size()) fail();
        std::vector<Word> v(rest_.begin(), rest_.begin() + n);
        rest_ = rest_.subspan(n);
        return v;
    }
    void end() const {
        if (!rest_.empty()) fail();
    }

private:
    [[noreturn]] static void fail() { throw std::invalid_argument("words sent by another process are cut short, or of another version"); }

    std::span<const Word> rest_;
};

}  // namespace psc
