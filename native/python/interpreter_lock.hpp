// The interpreter's lock, and calls that let go of it.
//
// A call on one matcher keeps the lock in the steady state, where it takes a tenth of a microsecond. When something has to be built that
// takes long, or another thread is building, the core says so (base/long_work.hpp), and the call goes on without the lock until it
// returns: to take it again once a call costs up to 5 ms on a busy interpreter, to take it again for each thing built would cost that
// many times. A matcher whose call runs without the lock is in use; another thread's call on that matcher waits for its turn.
//
// A thread never asks for the interpreter's lock while it holds a lock of the core, so the two cannot wait for each other.
// A fork waits for the calls that run without the lock, so that a child never finds a lock of the core taken. Calls that begin
// meanwhile wait behind the fork, but for those on a matcher or table that is marked as in use: the child would find the mark.
//
// No other file lets go of the lock or takes it (.ci/native_rooms).
//
// When the interpreter is going, CPython before 3.14 ends the threads that ask for its lock, by pthread_exit, and glibc unwinds their
// frames. Those of C++ forbid it (std::terminate), take it for an exception (nanobind's `catch (...)`), or drop objects of Python's
// without the lock. So such a thread stays in this file: where it asks for the lock here; and where it asks in Python's code below a
// frame of this library, as in `__index__` of an argument, `__del__` of what is dropped, or a garbage collection, in the personality
// routine of that frame, which the unwinder calls first. Below frames of other libraries it stays in the handler of std::terminate.
// Tried and dropped: nanobind's gil_scoped_release, whose thread is unwound; looking whether the interpreter is going before asking,
// which is too early by as long as the lock's holder runs; a guard around each call of Python's functions, which are too many.
//
// Cost: a few instructions a call; a condition variable where two calls meet.
#pragma once

#include <utility>

#include "python/bindings.hpp"

namespace psc {

// While it lives the calling thread goes on without the interpreter's lock.
class WithoutInterpreterLock {
public:
    struct InUse {};  // something is marked as in use

    WithoutInterpreterLock();
    explicit WithoutInterpreterLock(InUse);
    ~WithoutInterpreterLock();
    WithoutInterpreterLock(const WithoutInterpreterLock&) = delete;
    WithoutInterpreterLock& operator=(const WithoutInterpreterLock&) = delete;

private:
    PyThreadState* thread_ = nullptr;
};

// While it lives a thread that is in a WithoutInterpreterLock has the lock again, for a call back into Python. No fork waits for it
// meanwhile: it may be the one that forks.
class WithInterpreterLock {
public:
    WithInterpreterLock();
    ~WithInterpreterLock();
    WithInterpreterLock(const WithInterpreterLock&) = delete;
    WithInterpreterLock& operator=(const WithInterpreterLock&) = delete;

private:
    PyThreadState* thread_;
};

// What a function of Python's returns. Its code may let go of the lock, and ask for it when the program ends.
nb::object call_with(nb::handle f, const nb::tuple& arguments);
template <class... Arguments>
nb::object call_python(nb::handle f, Arguments&&... arguments) {
    return call_with(f, nb::make_tuple(std::forward<Arguments>(arguments)...));
}

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

// Has threads stay that CPython ends below frames of C++: of this library, and from `begin_end` on, which the thread that ends the
// program calls, of others.
void keep_ended_threads();
void begin_end();

// Before a fork: waits until no call runs without the lock, and so none holds a lock of the core. And after it.
void begin_fork();
void end_fork_in_parent();
void end_fork_in_child();

}  // namespace psc
