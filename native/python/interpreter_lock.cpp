#include "python/interpreter_lock.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#if defined(__linux__) && !defined(__arm__)
#include <unwind.h>
#endif

namespace psc {

namespace {

// Calls that go on without the lock, and forks that wait for them. The numbers change with the interpreter's lock held; those that
// others wait for without it, under the mutex too.
struct CallsWithoutLock {
    std::size_t running = 0, ended = 0, forks = 0;
    std::mutex mutex;
    std::condition_variable changed;
};

constexpr std::chrono::seconds kMostBehindForks{5};

// Never destroyed: threads may still be in a call when the process exits.
CallsWithoutLock* all_calls = new CallsWithoutLock;

// Of the calling thread, where it let go of the lock in this file.
thread_local PyThreadState* let_go_by = nullptr;

bool finalizing() {
#if PY_VERSION_HEX >= 0x030d0000
    return Py_IsFinalizing();
#else
    return _Py_IsFinalizing();
#endif
}

[[noreturn]] void stay_here() {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

// A thread may ask before the interpreter is going and get the answer after it, so looking at `finalizing` is not enough.
void take(PyThreadState* thread) {
    if (finalizing()) stay_here();
    try {
        PyEval_RestoreThread(thread);
    } catch (...) {
        stay_here();
    }
}

// The thread that ends the program, and what std::terminate did before.
std::atomic<std::thread::id> ending_thread;
std::terminate_handler terminate_before = nullptr;

// Frames of other libraries' C++, as NumPy's, forbid to be unwound.
[[noreturn]] void stay_or_terminate() {
    const std::thread::id by = ending_thread;
    if (finalizing() && by != std::thread::id() && by != std::this_thread::get_id() && !std::current_exception()) stay_here();
    if (terminate_before) terminate_before();
    std::abort();
}

// While it lives the calling thread waits for others, and no fork waits for it.
class Waiting {
public:
    Waiting() : thread_(PyEval_SaveThread()) {}
    ~Waiting() { take(thread_); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

private:
    PyThreadState* thread_;
};

PyThreadState* release() {
    ++all_calls->running;
    return let_go_by = PyEval_SaveThread();
}

void take_back(PyThreadState* thread) {
    take(thread);
    let_go_by = nullptr;
    auto& all = *all_calls;
    --all.running;
    {
        const std::lock_guard lock(all.mutex);
        ++all.ended;
    }
    all.changed.notify_all();
}

// Waits until some call has ended that runs without the lock now.
void wait_for_an_end() {
    auto& all = *all_calls;
    const std::size_t seen = all.ended;
    const Waiting waiting;
    std::unique_lock lock(all.mutex);
    all.changed.wait(lock, [&] { return all.ended != seen; });
}

// Calls that follow each other on several threads would leave no moment for a fork. The time is limited, since whatever else runs
// before a fork may wait for this thread.
void stand_behind_forks() {
    auto& all = *all_calls;
    if (!all.forks) [[likely]]
        return;
    const Waiting waiting;
    std::unique_lock lock(all.mutex);
    all.changed.wait_for(lock, kMostBehindForks, [&] { return !all.forks; });
}

}  // namespace

void keep_ended_threads() { terminate_before = std::set_terminate(&stay_or_terminate); }

void begin_end() { ending_thread = std::this_thread::get_id(); }

// A thread that runs while the interpreter is going is the one that ends it. It keeps the lock.
WithoutInterpreterLock::WithoutInterpreterLock() {
    if (finalizing()) return;
    stand_behind_forks();
    thread_ = release();
}
WithoutInterpreterLock::WithoutInterpreterLock(InUse) : thread_(finalizing() ? nullptr : release()) {}
WithoutInterpreterLock::~WithoutInterpreterLock() {
    if (thread_) take_back(thread_);
}

WithInterpreterLock::WithInterpreterLock() : thread_(let_go_by) {
    if (thread_) take_back(thread_);
}
WithInterpreterLock::~WithInterpreterLock() {
    if (thread_) release();
}

nb::object call_with(nb::handle f, const nb::tuple& arguments) {
    PyObject* result = nullptr;
    try {
        result = PyObject_CallObject(f.ptr(), arguments.ptr());
    } catch (...) {
        stay_here();
    }
    if (!result) nb::raise_python_error();
    return nb::steal(result);
}

void Turn::wait_for(const bool& in_use) {
    while (in_use) {
        if (finalizing()) throw std::runtime_error("the program ends while a thread that does not go on any more uses this");
        wait_for_an_end();
    }
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
    if (let_go_by || !PyGILState_GetThisThreadState() || !PyGILState_Check() || finalizing()) return;
    if (Turn* const turn = Turn::current_) turn->let_go();
}

void begin_fork() {
    if (finalizing()) return;
    {
        const std::lock_guard lock(all_calls->mutex);
        ++all_calls->forks;
    }
    while (all_calls->running) wait_for_an_end();
}

void end_fork_in_parent() {
    auto& all = *all_calls;
    if (!all.forks) return;
    {
        const std::lock_guard lock(all.mutex);
        --all.forks;
    }
    all.changed.notify_all();
}

// Threads that waited in the parent are not there.
void end_fork_in_child() { all_calls = new CallsWithoutLock; }

}  // namespace psc

#if defined(__linux__) && !defined(__arm__)
// What the unwinder calls for each frame of this library (CMakeLists.txt has the linker put it there), before anything of the frame runs.
extern "C" {
_Unwind_Reason_Code __real___gxx_personality_v0(int, _Unwind_Action, _Unwind_Exception_Class, _Unwind_Exception*, _Unwind_Context*);
_Unwind_Reason_Code __wrap___gxx_personality_v0(int version, _Unwind_Action actions, _Unwind_Exception_Class kind,
                                                _Unwind_Exception* exception, _Unwind_Context* context) {
    if ((actions & _UA_FORCE_UNWIND) && psc::finalizing()) psc::stay_here();
    return __real___gxx_personality_v0(version, actions, kind, exception, context);
}
}
#endif
