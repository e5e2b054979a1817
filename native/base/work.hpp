// What one call may cost, in steps: a parent visited, an edge made, an item processed. A step takes 10 to 100 ns.
//
// The algorithms over ambiguous grammars are polynomial in the text and exponential in nothing but the grammar (the states of a
// closed classifier, the ways to lex a token). Yet a fifth power is enough to hang a server. So a call gets an allowance,
// everything that it does spends from it, and when the allowance is exhausted the call ends with an error that names the limit.
// Structures that many calls build together borrow the allowance of the call that builds (Lent), so that no call pays for another.
//
// Most calls spend little. Work beyond kSoon steps is announced first (base/long_work.hpp), and each kSoon steps the call checks
// whether its compilation was cancelled (base/cancellation.hpp).
//
// Cost: a comparison and a subtraction each. Threads: one at a time for each Work.
// Tried and dropped: to drop a machine's cache when an allowance was exhausted. Shared structures are consistent wherever work is
// spent, so what was finished stays, and the next call continues from there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/cancellation.hpp"
#include "base/errors.hpp"
#include "base/long_work.hpp"

namespace psc {

// An allowance is exhausted. Shared structures store only finished results and spend nothing in between, so another call can
// continue.
class OutOfWork : public LimitExceeded {
public:
    using LimitExceeded::LimitExceeded;
};

class Work {
public:
    // `what`: the name of the limit, for the message.
    Work(const char* what, std::size_t limit) : what_(what), limit_(limit) { renew(); }

    void spend(std::size_t steps = 1) {
        if (steps > left_) go_on(steps);
        left_ -= steps;
    }

    // Of the steps those for what later calls find built.
    void spend_on_shared(std::size_t steps) {
        spend(steps);
        shared_ += steps;
    }
    std::size_t shared() const { return shared_; }

    // The whole allowance again, plus `more`.
    void renew(std::size_t more = 0) { allow(limit_ + more); }
    // `steps` from now on, whatever the limit is.
    void allow(std::size_t steps) {
        left_ = steps < kSoon ? steps : kSoon;
        held_back_ = steps - left_;
    }
    std::size_t left() const { return left_ + held_back_; }

    // While it lives, `to` spends the allowance of `from`.
    class Lent {
    public:
        Lent(Work& to, Work& from) : to_(to), from_(from) { std::swap(to_, from_); }
        ~Lent() { std::swap(to_, from_); }
        Lent(const Lent&) = delete;
        Lent& operator=(const Lent&) = delete;

    private:
        Work &to_, &from_;
    };

private:
    static constexpr std::size_t kSoon = 4096;  // some 0.1 ms

    [[gnu::noinline, gnu::cold]] void go_on(std::size_t steps) {
        if (held_back_) before_long_work();
        stop_if_cancelled();
        const std::size_t more = std::min(held_back_, std::max(steps - left_, kSoon));
        left_ += more;
        held_back_ -= more;
        if (steps <= left_) return;
        left_ = 0;
        throw OutOfWork(what_, limit_);
    }

    const char* what_;
    std::size_t limit_;
    std::size_t left_ = 0, held_back_ = 0;  // held back until a slice is used up
    std::size_t shared_ = 0;
};

}  // namespace psc
