// The allowance of steps for the construction of one pattern's automaton; a step takes some 10 to 30 ns.
//
// Cost: a comparison each. Threads: one at a time.
#pragma once

#include "base/cancellation.hpp"
#include "base/errors.hpp"

namespace psc {

class PatternSteps {
public:
    explicit PatternSteps(std::size_t limit) : limit_(limit), left_(limit) {}
    void spend(std::size_t steps) {
        if (steps > left_) throw LimitExceeded("steps in the construction of a pattern's automaton", limit_);
        left_ -= steps;
        watch_.step(steps);
    }

private:
    std::size_t limit_, left_;
    CancellationWatch watch_;
};

}  // namespace psc
