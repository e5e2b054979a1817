// A compilation that another thread calls off.
//
// The calling thread says once which flag it obeys (Cancellation::obey), and whatever it runs looks at that flag where it counts work (base/work.hpp)
// and once for each state, rule or production that it makes. A thread-local pointer, rather than an argument of every pass: a
// compilation is one thread's, passes are many, and a pass that is given no flag would be one that nobody can stop.
//
// Who looks may throw, so only passes look that own what they build, and structures that several compilations share where their
// work is counted, at which they are whole.
//
// Cost: a load of a pointer; where there is a flag, a second one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>

namespace psc {

// What a compilation ends with that was called off. Not a LimitExceeded: whoever goes on where a limit is passed must not go on here.
class Cancelled : public std::exception {
public:
    const char* what() const noexcept override { return "the compilation was cancelled"; }
};

class Cancellation {
public:
    // Cancels itself when it has been looked at so often, so that tests can stop a compilation at each place; -1: it does not.
    explicit Cancellation(std::int64_t after_looks = -1) : looks_left_(after_looks) {}

    // From any thread.
    void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
    bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

    // Which one the calling thread obeys from now on, or null; gives the one before. It must live until that is set again.
    static Cancellation* obey(Cancellation* next) {
        Cancellation* const before = obeyed_;
        obeyed_ = next;
        return before;
    }

private:
    friend void stop_if_cancelled();

    bool look() {
        if (looks_left_.load(std::memory_order_relaxed) >= 0 && looks_left_.fetch_sub(1, std::memory_order_relaxed) == 0) cancel();
        return cancelled();
    }

    std::atomic<bool> cancelled_ = false;
    std::atomic<std::int64_t> looks_left_;
    static inline thread_local constinit Cancellation* obeyed_ = nullptr;
};

// While it lives the calling thread's work goes on whatever was called off: what it makes is the process's.
class Uninterrupted {
public:
    Uninterrupted() : before_(Cancellation::obey(nullptr)) {}
    ~Uninterrupted() { Cancellation::obey(before_); }
    Uninterrupted(const Uninterrupted&) = delete;
    Uninterrupted& operator=(const Uninterrupted&) = delete;

private:
    Cancellation* before_;
};

// Throws Cancelled where the calling thread's work was called off.
inline void stop_if_cancelled() {
    if (Cancellation::obeyed_ && Cancellation::obeyed_->look()) [[unlikely]]
        throw Cancelled();
}

// The same for loops whose steps take less than looking does: each few thousand steps.
class CancellationWatch {
public:
    void step(std::size_t steps = 1) {
        if (steps >= left_) [[unlikely]] {
            left_ = kSteps;
            stop_if_cancelled();
        } else {
            left_ -= steps;
        }
    }

private:
    static constexpr std::size_t kSteps = 4096;
    std::size_t left_ = kSteps;
};

}  // namespace psc
