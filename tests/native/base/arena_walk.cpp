// Random use of an Arena by several copies, checked against what each was told to remember. Built and run by test_arena.py.
//
// Every object holds the number that its allocation had. Whatever attempts are made and given back, and however copies come and
// go, what a copy has kept must still hold its number, and no address may be given out twice while somebody can see it.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "base/arena.hpp"
#include "check.hpp"

using psc::Arena;

namespace {

struct Object {
    std::uint64_t number, size;  // of words, with these two
};

std::uint64_t last_number = 0;

struct User {
    std::unique_ptr<Arena> arena;
    std::vector<std::pair<const Object*, std::uint64_t>> kept;  // in the order of their allocation

    const Object* allocate(std::size_t words) {
        auto* first = arena->make<std::uint64_t>(words);
        for (std::size_t i = 0; i < words; ++i) first[i] = ~0ull;
        auto* o = reinterpret_cast<Object*>(first);
        *o = {++last_number, words};
        return o;
    }
    void keep(const Object* o) { kept.emplace_back(o, o->number); }
    void check() const {
        for (const auto& [object, number] : kept) {
            CHECK(object->number == number, "an object that was kept was written over");
            const auto* words = reinterpret_cast<const std::uint64_t*>(object);
            for (std::uint64_t i = 2; i < object->size; ++i) CHECK(words[i] == ~0ull, "the end of an object that was kept was written over");
        }
    }
};

using Random = std::mt19937_64;

std::size_t size_of(Random& r) { return 2 + (r() % 16 ? r() % 12 : r() % 300); }

// Attempts within attempts, kept, given back, or left by an exception.
bool attempt(User& user, Random& r, int depth) {
    Arena::Attempt here(*user.arena);
    const std::size_t before = user.kept.size();
    for (std::uint64_t n = r() % 4; n > 0; --n) {
        user.keep(user.allocate(size_of(r)));
        if (depth < 4 && r() % 2) attempt(user, r, depth + 1);
    }
    if (r() % 3 == 0) {
        here.keep();
        return true;
    }
    user.kept.resize(before);
    if (r() % 4 == 0 && depth > 0) throw depth;
    return false;
}

void walk(Random& r, int steps) {
    std::vector<User> users(1);
    users[0].arena = std::make_unique<Arena>();
    users[0].keep(users[0].allocate(2));
    for (int step = 0; step < steps; ++step) {
        User& user = users[r() % users.size()];
        switch (r() % 6) {
            case 0:
            case 1:
                for (std::uint64_t n = r() % 8; n > 0; --n) {
                    const auto* o = user.arena->make<Object>();
                    const_cast<Object*>(o)->number = ++last_number;
                    const_cast<Object*>(o)->size = 2;
                    user.keep(o);
                }
                break;
            case 2: {
                const std::size_t before = user.kept.size();
                try {
                    attempt(user, r, 0);
                } catch (int) {
                    user.kept.resize(before);  // every attempt around it was given back
                }
                break;
            }
            case 3: {
                if (users.size() >= 6) break;
                User copy;
                copy.arena = std::make_unique<Arena>(*user.arena);
                copy.kept = user.kept;
                users.push_back(std::move(copy));
                break;
            }
            case 4: {
                const std::size_t to = r() % user.kept.size();
                if (user.kept[to].first->size != 2) break;  // an array: only an object can be gone back to
                user.kept.resize(to + 1);
                user.arena->rewind_to_end_of(user.kept[to].first);
                break;
            }
            case 5:
                if (users.size() > 1) users.erase(users.begin() + static_cast<std::ptrdiff_t>(r() % users.size()));
                break;
        }
        for (const User& u : users) u.check();
    }
}

// The case that an arena without whole restoring gets wrong: two attempts end in one chunk, which a copy shares.
void nested_with_a_copy() {
    for (int filled = 1; filled < 60; ++filled) {
        Arena arena;
        for (int i = 0; i < filled; ++i) arena.make<Object>();
        const Arena copy(arena);
        {
            Arena::Attempt outer(arena);
            arena.make<Object>();
            Arena::Attempt inner(arena);
            arena.make<std::uint64_t>(400);
        }
        for (int i = 0; i < 3000; ++i) *arena.make<Object>() = {1, 2};
    }
}

template <class F>
void refused(F call, const char* what) {
    try {
        call();
    } catch (const std::logic_error&) {
        return;
    }
    CHECK(false, what);
}

void wrong_use_is_refused() {
    Arena arena;
    const auto* first = arena.make<Object>();
    Arena::Attempt open(arena);
    refused([&] { Arena copy(arena); }, "a copy within an attempt");
    refused([&] { arena.rewind_to_end_of(first); }, "a rewind within an attempt");
}

}  // namespace

int main(int, char** argv) {
    const std::uint64_t seed = std::strtoull(argv[1], nullptr, 10);
    const int walks = std::atoi(argv[2]);
    nested_with_a_copy();
    wrong_use_is_refused();
    for (int i = 0; i < walks; ++i) {
        Random r(seed + static_cast<std::uint64_t>(i));
        walk(r, 300);
    }
    std::printf("%llu objects\n", static_cast<unsigned long long>(last_number));
}
