#include "python/interpreter_lock.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace psc {

namespace {

// Calls that go on without the lock. Both numbers change with the interpreter's lock held; `ended` also under the mutex, for those
// who wait without it.
struct CallsWithoutLock {
    std::size_t running = 0, ended = 0;
    std::mutex mutex;
    std::condition_variable one_ended;
};

// Never destroyed: threads may still be in a call when the process exits.
CallsWithoutLock* all_calls = new CallsWithoutLock;

// Whether the calling thread let go of the lock in this file.
thread_local bool has_no_lock = false;

PyThreadState* release() {
    ++all_calls->running;
    PyThreadState* const thread = PyEval_SaveThread();
    has_no_lock = true;
    return thread;
}

bool finalizing() {
#if PY_VERSION_HEX >= 0x030d0000
    return Py_IsFinalizing();
#else
    return _Py_IsFinalizing();
#endif
}

void take_back(PyThreadState* thread) {
    // When the interpreter is going, CPython ends the threads that ask for its lock, and unwinds them through frames of C++ that forbid it.
    while (finalizing()) std::this_thread::sleep_for(std::chrono::hours(1));
    PyEval_RestoreThread(thread);
    has_no_lock = false;
    auto& all = *all_calls;
    --all.running;
    {
        const std::lock_guard lock(all.mutex);
        ++all.ended;
    }
    all.one_ended.notify_all();
}

// Waits until some call has ended that runs without the lock now.
void wait_for_an_end() {
    auto& all = *all_calls;
    const std::size_t seen = all.ended;
    nb::gil_scoped_release released;
    std::unique_lock lock(all.mutex);
    all.one_ended.wait(lock, [&] { return all.ended != seen; });
}

}  // namespace

// A thread that runs while the interpreter is going is the one that ends it. It keeps the lock.
WithoutInterpreterLock::WithoutInterpreterLock() : thread_(finalizing() ? nullptr : release()) {}
WithoutInterpreterLock::~WithoutInterpreterLock() {
    if (thread_) take_back(thread_);
}

void Turn::wait_for(const bool& in_use) {
    while (in_use) wait_for_an_end();
}

void Turn::let_go() {
    current_ = nullptr;
    in_use_ = true;
    thread_ = release();
}

void Turn::end() {
    take_back(thread_);
    in_use_ = false;
}

void let_go_of_interpreter_lock() {
    // Threads of the core have no Python state.
    if (has_no_lock || !PyGILState_GetThisThreadState() || !PyGILState_Check() || finalizing()) return;
    if (Turn* const turn = Turn::current_) turn->let_go();
}

void wait_for_all_calls() {
    while (all_calls->running) wait_for_an_end();
}

// Threads that waited in the parent are not there.
void begin_in_child() { all_calls = new CallsWithoutLock; }

}  // namespace psc
