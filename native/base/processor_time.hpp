// How long a thread has computed, for work that gives up after a time. Seconds on the clock would make what it finds depend on what else
// the machine does.
#pragma once

#include <ctime>

namespace psc {

// Of the calling thread, in seconds. Cost: a call of the system.
inline double processor_seconds() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace psc
