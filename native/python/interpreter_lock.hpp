// The interpreter's lock, and calls that let go of it.
//
// A call on one matcher keeps the lock in the steady state, where it takes a tenth of a microsecond. When something has to be built that
// takes long, or another thread is building, the core says so (base/long_work.hpp), and the call goes on without the lock until it
// returns: to take it again once a call costs up to 5 ms on a busy interpreter, to take it again for each thing built would cost that
// many times. A matcher whose call runs without the lock is in use; another thread's call on that matcher waits for its turn.
//
// A thread never asks for the interpreter's lock while it holds a lock of the core, so the two cannot wait for each other.
// Before a fork, calls that run without the lock are waited for, so that a child never finds a lock of the core taken.
//
// Cost: a few instructions a call; a condition variable where two calls meet.
#pragma once

#include "python/bindings.hpp"

namespace psc {

// While it lives the calling thread goes on without the interpreter's lock.
class WithoutInterpreterLock {
public:
    WithoutInterpreterLock();
    ~WithoutInterpreterLock();
    WithoutInterpreterLock(const WithoutInterpreterLock&) = delete;
    WithoutInterpreterLock& operator=(const WithoutInterpreterLock&) = delete;

private:
    PyThreadState* thread_;
};

// What `f` gives, where it may have to be built, or another thread may be building it.
template <class F>
auto without_lock(const F& f) {
    const WithoutInterpreterLock released;
    return f();
}

// A call on something that one thread at a time may use, begun and ended with the interpreter's lock. `in_use` is read and written
// with the lock only. Python's code must not run while one lives.
class Turn {
public:
    explicit Turn(bool& in_use) : in_use_(in_use) {
        if (in_use) wait_for(in_use);
        current_ = this;
    }
    ~Turn() {
        if (thread_) [[unlikely]]
            end();
        else
            current_ = nullptr;
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    static void wait_for(const bool& in_use);

private:
    friend void let_go_of_interpreter_lock();
    void let_go();
    void end();

    inline static Turn* current_ = nullptr;  // of the thread that has the lock
    bool& in_use_;
    PyThreadState* thread_ = nullptr;  // once the lock is gone
};

// before_long_work: from here on the current Turn, if the calling thread is in one, does without the lock.
void let_go_of_interpreter_lock();

// Before a fork: waits until no call runs without the lock, and so none holds a lock of the core. And after one, in the child.
void wait_for_all_calls();
void begin_in_child();

}  // namespace psc
