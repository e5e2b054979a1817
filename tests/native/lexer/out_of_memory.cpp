// Tables that everything is built in, while memory runs out: each allocation fails once, and what was there before is there as before.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <new>
#include <random>
#include <vector>

#include "check.hpp"
#include "base/interned.hpp"
#include "lexer/sequence_sets.hpp"

namespace {
long allocations_left = -1;  // until one fails; -1: none does
}

void* operator new(std::size_t n) {
    if (allocations_left == 0) throw std::bad_alloc();
    if (allocations_left > 0) --allocations_left;
    if (void* p = std::malloc(n ? n : 1)) return p;
    throw std::bad_alloc();
}
void* operator new[](std::size_t n) { return operator new(n); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

namespace {

using psc::Word;
using Words = std::vector<Word>;

// Calls `f` with ever more memory until there is enough; whether it ever failed.
template <class F>
bool until_done(const F& f) {
    for (long n = 0;; ++n) {
        allocations_left = n;
        try {
            f();
            allocations_left = -1;
            return n > 0;
        } catch (const std::bad_alloc&) {
            allocations_left = -1;
        }
    }
}

Words random_words(std::mt19937& rng) {
    Words words(rng() % 4);
    for (Word& w : words) w = static_cast<Word>(rng() % 40);
    return words;
}

template <class Interner>
void intern(unsigned seed) {
    std::mt19937 rng(seed);
    Interner interner;
    std::map<Words, Word> known;
    std::vector<Words> all;
    int failures = 0;
    for (int i = 0; i < 4000; ++i) {
        const Words words = random_words(rng);
        std::pair<Word, bool> got;
        failures += until_done([&] { got = interner.intern(words); });
        const auto [it, fresh] = known.try_emplace(words, static_cast<Word>(all.size()));
        if (fresh) all.push_back(words);
        CHECK(got.first == it->second && got.second == fresh, "intern() gives another id");
        CHECK(interner.size() == static_cast<Word>(all.size()), "another number of sequences");
        const auto at = rng() % all.size();
        const auto there = interner[static_cast<Word>(at)];
        CHECK(Words(there.begin(), there.end()) == all[at], "a sequence has changed");
    }
    CHECK(failures > 10, "memory hardly ran out");
}

template <class Map>
void map_pairs(unsigned seed) {
    std::mt19937 rng(seed);
    Map map;
    std::map<std::pair<Word, Word>, Word> known;
    int failures = 0;
    for (Word i = 0; i < 3000; ++i) {
        const std::pair<Word, Word> key{static_cast<Word>(rng() % 80), static_cast<Word>(rng() % 80)};
        const auto it = known.find(key);
        CHECK(map.find(key.first, key.second) == (it == known.end() ? -1 : it->second), "find() gives another value");
        if (it != known.end()) continue;
        failures += until_done([&] { map.insert(key.first, key.second, i); });
        known.emplace(key, i);
    }
    CHECK(failures > 3, "memory hardly ran out");
}

void grow_vectors() {
    psc::StableVector<std::unique_ptr<int>> stable;
    psc::PublishedArray<std::array<int, 5>> published;
    int failures = 0;
    for (int i = 0; i < 3000; ++i) {
        auto owned = std::make_unique<int>(i);
        failures += until_done([&] {
            auto& place = stable.next();
            place = std::move(owned);
        });
        CHECK(stable.size() == static_cast<std::size_t>(i), "an element is there before it is published");
        stable.publish();
        failures += until_done([&] { published.push_back({i, i, i, i, i}); });
        const auto at = static_cast<std::size_t>(i) / 2;
        CHECK(*stable[at] == static_cast<int>(at) && published[at][4] == static_cast<int>(at), "an element has changed");
        CHECK(stable.size() == published.size(), "another number of elements");
    }
    CHECK(failures > 10, "memory hardly ran out");
}

// Sets by the sequences in them, of which none is a prefix of another.
void unite_sets(unsigned seed) {
    std::mt19937 rng(seed);
    psc::SequenceSets sets, plain;
    std::vector<std::pair<Word, Word>> made{{0, 0}, {1, 1}};  // in `sets`, and where memory never ran out
    int failures = 0;
    for (int i = 0; i < 1500; ++i) {
        const auto one = made[rng() % made.size()], two = made[rng() % made.size()];
        const Word symbol = static_cast<Word>(rng() % 5);
        std::pair<Word, Word> next;
        if (rng() % 2) {
            failures += until_done([&] { next.first = sets.before(symbol, one.first); });
            next.second = plain.before(symbol, one.second);
        } else {
            const Word parts[2] = {one.first, two.first}, same[2] = {one.second, two.second};
            failures += until_done([&] { next.first = sets.unite(parts); });
            next.second = plain.unite(same);
        }
        CHECK(sets.count(next.first) == plain.count(next.second), "another number of sequences");
        CHECK(sets.edges(next.first).size() == plain.edges(next.second).size(), "another number of edges");
        if (sets.count(next.first) < 1000 && made.size() < 300) made.push_back(next);
    }
    CHECK(failures > 10, "memory hardly ran out");
}

}  // namespace

int main() {
    for (unsigned seed = 1; seed <= 3; ++seed) {
        intern<psc::SequenceInterner>(seed);
        intern<psc::StableSequences>(seed);
        map_pairs<psc::PairMap>(seed);
        map_pairs<psc::SharedPairMap>(seed);
        unite_sets(seed);
    }
    grow_vectors();
}
