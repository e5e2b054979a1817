// The interners and maps of base/intern.hpp and base/concurrent.hpp with typed ids as keys and values.
//
// Interned: every distinct sequence of T (ids, or small structs of ids) has one id of the space I. IdMap: from two ids to a value;
// a missing one is std::nullopt, and no value has to mean "none". SharedIdMap: the same with lock-free readers.
//
// Cost, threads: those of the tables underneath.
#pragma once

#include <bit>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/concurrent.hpp"
#include "base/ids.hpp"
#include "base/intern.hpp"

namespace psc {

// `Words`: a SequenceInterner, whose spans the next intern() invalidates, or StableSequences.
template <class I, WordsLike T, class Words = SequenceInterner>
class Interned {
public:
    // The id; second is true when it is new.
    std::pair<I, bool> intern(std::span<const T> members) {
        const auto [id, fresh] = words_.intern(words_of(members));
        return {I{id}, fresh};
    }
    I id_of(std::span<const T> members) { return intern(members).first; }
    I id_of(const std::vector<T>& members) { return intern(members).first; }
    I id_of(std::initializer_list<T> members) { return intern({members.begin(), members.size()}).first; }

    std::span<const T> operator[](I id) const { return ids_of<T>(words_[id.v]); }
    // A copy, for callers that intern more while they iterate.
    std::vector<T> copy(I id) const {
        const auto members = (*this)[id];
        return {members.begin(), members.end()};
    }
    Word size() const { return words_.size(); }
    std::size_t bytes() const { return words_.bytes(); }

private:
    Words words_;
};

template <class I, WordsLike T>
using StableInterned = Interned<I, T, StableSequences>;

// Interned for records of one size: every distinct T has one id.
template <class I, WordsLike T>
class InternedRecords {
public:
    I id_of(const T& record) { return I{words_.intern(words_of(std::span<const T>(&record, 1))).first}; }
    // Valid until the next id_of(). Records of one size lie where their numbers say.
    const T& operator[](I id) const { return ids_of<T>(words_.all())[id.index()]; }
    std::size_t bytes() const { return words_.bytes(); }

private:
    SequenceInterner words_;
};

// For the standard library's hash tables; their iteration order is then that of plain integers.
struct IdHash {
    template <class I>
    std::size_t operator()(I id) const {
        return std::hash<Word>()(id.v);
    }
};

// An id as a word of a key.
template <class T>
constexpr Word key_word(T id) {
    if constexpr (sizeof(T) == sizeof(Word))
        return std::bit_cast<Word>(id);
    else
        return id.v;
}

template <class A, class B, WordLike V>
class IdMap {
public:
    std::optional<V> find(A a, B b) const {
        const Word* cached = map_.look(key_word(a), key_word(b));
        return cached ? std::optional<V>(std::bit_cast<V>(*cached)) : std::nullopt;
    }
    bool contains(A a, B b) const { return map_.look(key_word(a), key_word(b)); }
    void prefetch(A a, B b) const { map_.prefetch(key_word(a), key_word(b)); }
    // Stores `value` for (a, b), which must not be present.
    void insert(A a, B b, V value) { map_.insert(key_word(a), key_word(b), std::bit_cast<Word>(value)); }
    std::size_t size() const { return map_.size(); }
    std::size_t bytes() const { return map_.bytes(); }

private:
    PairMap map_;
};

template <class A, class B>
class IdPairs {
public:
    bool contains(A a, B b) const { return map_.look(key_word(a), key_word(b)); }
    // Whether the pair is new.
    bool insert(A a, B b) {
        if (contains(a, b)) return false;
        map_.insert(key_word(a), key_word(b), 0);
        return true;
    }
    std::size_t bytes() const { return map_.bytes(); }

private:
    PairMap map_;
};

template <class A, class B, class V>
class SharedIdMap {
public:
    Maybe<V> find(A a, B b) const { return Maybe<V>::from_word(map_.find(key_word(a), key_word(b))); }
    // Writers only: (a, b) must not be present.
    void insert(A a, B b, V value) { map_.insert(key_word(a), key_word(b), value.v); }
    std::size_t bytes() const { return map_.bytes(); }
    // Calls f(a, b, value) for each entry, in no order.
    template <class F>
    void each(const F& f) const {
        map_.each([&](Word a, Word b, Word value) { f(A{a}, B{b}, V{value}); });
    }

private:
    SharedPairMap map_;
};

}  // namespace psc
