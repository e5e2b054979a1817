// Cancelling a compilation from another thread.
//
// The thread that compiles names the flag that it obeys once (Cancellation::obey). Everything that it runs checks that flag where
// it counts work (base/work.hpp) and once for each state, rule or production that it makes. The flag is a thread-local pointer and
// no argument of every pass: a compilation belongs to one thread, there are many passes, and a pass that forgot to hand the
// argument on could not be cancelled.
//
// A check may throw. So a pass checks only where it owns what it builds, and a structure that several compilations share checks
// only where its work is counted, at which points it is consistent.
//
// Cost: a load of a pointer; where there is a flag, a second load. Threads: cancel() may be called from any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>

namespace psc {

// Thrown in a cancelled compilation. Not a LimitExceeded: code that continues after a limit must not continue here.
class Cancelled : public std::exception {
public:
    const char* what() const noexcept override { return "the compilation was cancelled"; }
};

class Cancellation {
public:
    // Cancels itself at check number `after_checks`, so that tests can stop a compilation at every check; -1: it does not.
    explicit Cancellation(std::int64_t after_checks = -1) : checks_left_(after_checks) {}

    // From any thread.
    void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
    bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

    // Cancels what all threads but the calling one do under a flag, now and later: the process ends.
    static void cancel_others() {
        spared_ = true;
        others_cancelled_.store(true, std::memory_order_relaxed);
    }

    // Sets the flag that the calling thread obeys, or null, and returns the one before. The flag must outlive its use.
    static Cancellation* obey(Cancellation* next) {
        Cancellation* const before = obeyed_;
        obeyed_ = next;
        return before;
    }
    static const Cancellation* obeyed() { return obeyed_; }

private:
    friend void stop_if_cancelled();

    bool check() {
        if (checks_left_.load(std::memory_order_relaxed) >= 0 && checks_left_.fetch_sub(1, std::memory_order_relaxed) == 0)
            cancel();
        return cancelled() || (others_cancelled_.load(std::memory_order_relaxed) && !spared_);
    }

    std::atomic<bool> cancelled_ = false;
    std::atomic<std::int64_t> checks_left_;
    static inline std::atomic<bool> others_cancelled_ = false;
    static inline thread_local constinit bool spared_ = false;
    static inline thread_local constinit Cancellation* obeyed_ = nullptr;
};

// While it lives, the calling thread's work is not cancelled: its result is for the whole process.
class Uninterrupted {
public:
    Uninterrupted() : before_(Cancellation::obey(nullptr)) {}
    ~Uninterrupted() { Cancellation::obey(before_); }
    Uninterrupted(const Uninterrupted&) = delete;
    Uninterrupted& operator=(const Uninterrupted&) = delete;

private:
    Cancellation* before_;
};

// Throws Cancelled if the calling thread's compilation was cancelled.
inline void stop_if_cancelled() {
    if (Cancellation::obeyed_ && Cancellation::obeyed_->check()) [[unlikely]]
        throw Cancelled();
}

// The same for loops whose steps are cheaper than a check: it checks each few thousand steps.
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
