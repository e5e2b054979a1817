// What one call may cost, in steps: a parent visited, an edge made, an item looked at; each takes 10 to 100 ns.
//
// The algorithms over ambiguous grammars are polynomial in the text and exponential in nothing but the grammar (the states of a closed
// classifier, the ways to lex a token), yet a power of five is enough to hang a server. So whoever begins a call gives it an
// allowance, everything that the call does spends from it, and when it is used up the call ends with an error that names the limit.
// Structures that many calls build together are lent the allowance of the call that builds (Lent), so that a call cannot
// be charged for another.
//
// Most calls spend little. What a call spends beyond kSoon is work that takes long, and is announced (base/long_work.hpp); a compilation that
// was called off ends each kSoon steps (base/cancellation.hpp).
//
// Cost: a comparison and a subtraction each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/cancellation.hpp"
#include "base/limits.hpp"
#include "base/long_work.hpp"

namespace psc {

// An allowance is used up. What many calls build together is written down when it is whole, and nothing is spent in between: what was
// finished stays, and another call goes on from there.
class OutOfWork : public LimitExceeded {
public:
    using LimitExceeded::LimitExceeded;
};

class Work {
public:
    // `what`: the limit's name, for the message.
    Work(const char* what, std::size_t limit) : what_(what), limit_(limit) { renew(); }

    void spend(std::size_t steps = 1) {
        if (steps > left_) go_on(steps);
        left_ -= steps;
    }

    // The whole allowance again, and so much more.
    void renew(std::size_t more = 0) { allow(limit_ + more); }
    // So many steps from now on, whatever the limit is.
    void allow(std::size_t steps) {
        left_ = steps < kSoon ? steps : kSoon;
        held_back_ = steps - left_;
    }
    std::size_t left() const { return left_ + held_back_; }

    // While it lives, `to` spends what `from` has.
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
};

}  // namespace psc
