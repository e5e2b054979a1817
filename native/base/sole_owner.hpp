// Whether the caller holds the last reference to a shared object, and may therefore write to it.
//
// use_count() == 1 alone is not enough: it says that the other owners have released the object, but their reads before that may
// still be unordered with the caller's next writes. An acquire fence orders them.
//
// Cost: a load, and nothing more on x86. Threads: the one that holds the reference.
// Tried and dropped: a comparison of use_count() in each caller, of which one alone had the fence.
#pragma once

#include <atomic>
#include <memory>

namespace psc {

template <class T>
bool is_sole_owner(const std::shared_ptr<T>& object) {
    if (object.use_count() != 1) return false;
#ifdef __SANITIZE_THREAD__
    std::shared_ptr<T>(object).reset();  // ThreadSanitizer does not model fences; a release of a copy orders likewise
#else
    std::atomic_thread_fence(std::memory_order_acquire);
#endif
    return true;
}

}  // namespace psc
