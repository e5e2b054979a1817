// Whether an object that is shared is nobody else's any more, and may be written to.
//
// A count that is read says that the others have let go, and no more: what they read of the object before might, for the processor, still
// come after what is written now. So the one who is left waits for what the others did before they let go.
//
// Cost: a load, and nothing more on x86.
#pragma once

#include <atomic>
#include <memory>

namespace psc {

template <class T>
bool is_sole_owner(const std::shared_ptr<T>& object) {
    if (object.use_count() != 1) return false;
#ifdef __SANITIZE_THREAD__
    std::shared_ptr<T>(object).reset();  // ThreadSanitizer knows no fences; letting go waits likewise
#else
    std::atomic_thread_fence(std::memory_order_acquire);
#endif
    return true;
}

}  // namespace psc
