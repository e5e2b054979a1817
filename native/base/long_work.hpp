// Announcing work that takes long or waits for another thread, so that the embedding program can release what others wait for.
//
// The bindings set `before_long_work` to a function that releases the interpreter's lock. A thread that extends a shared machine,
// or waits for one that does, calls it first; a call that finds everything built never does.
//
// Cost: nothing where a thread neither builds nor waits.
#pragma once

#include <atomic>
#include <mutex>

namespace psc {

// Called before a thread waits for another one, or continues with work that takes long. Set once, by the bindings. It must not
// throw, and must not wait for a thread that may be building.
inline void (*before_long_work)() = [] {};

// How many threads wait for a lock of the core. Work ahead of requests pauses while there are any.
inline std::atomic<int> threads_waiting{0};

// A std::lock_guard that announces the wait before it waits.
class PatientLock {
public:
    explicit PatientLock(std::mutex& mutex) : lock_(mutex, std::try_to_lock) {
        if (lock_.owns_lock()) return;
        before_long_work();
        threads_waiting.fetch_add(1, std::memory_order_relaxed);
        lock_.lock();
        threads_waiting.fetch_sub(1, std::memory_order_relaxed);
    }

private:
    std::unique_lock<std::mutex> lock_;
};

}  // namespace psc
