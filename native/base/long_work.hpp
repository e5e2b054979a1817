// Work that takes long, or waits for another thread: whoever embeds the core is told first, and can let go of what others wait for.
//
// Cost: nothing where a thread neither builds nor waits.
#pragma once

#include <atomic>
#include <mutex>

namespace psc {

// Called before a thread waits for another one, or goes on with work that takes long; set once, by the bindings, which let go of
// the interpreter's lock. It must not throw, and must not wait for a thread that could be building.
inline void (*before_long_work)() = [] {};

// Threads that wait for a lock of the core. Work that nobody asked for pauses meanwhile.
inline std::atomic<int> threads_waiting{0};

// A std::lock_guard that says so before it waits.
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
