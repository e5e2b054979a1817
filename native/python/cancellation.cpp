// Calling off compilations: another thread's, or those of all threads when the program ends.
#include "base/cancellation.hpp"

#include <nanobind/stl/optional.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "python/bindings.hpp"
#include "python/interpreter_lock.hpp"

namespace psc {

namespace {

// Not shared with Python's object, so that a thread may keep it without the interpreter's lock.
struct BoundCancellation {
    std::shared_ptr<Cancellation> flag;
};

// How many threads are in an `Obeying`.
struct ObeyingThreads {
    int n = 0;
    std::mutex mutex;
    std::condition_variable one_left;
};

// Never destroyed: threads may still leave when the process exits.
ObeyingThreads* obeying_threads = new ObeyingThreads;

// What the calling thread obeys, and in how many blocks it is.
thread_local std::shared_ptr<Cancellation> obeyed_now;
thread_local int obeying_depth = 0;

void obey(std::shared_ptr<Cancellation> next) {
    Cancellation::obey(next.get());
    obeyed_now.swap(next);
}

void set_depth(int depth) {
    const bool was_in = obeying_depth > 0, is_in = depth > 0;
    obeying_depth = depth;
    if (was_in == is_in) return;
    {
        const std::lock_guard lock(obeying_threads->mutex);
        obeying_threads->n += is_in - was_in;
    }
    obeying_threads->one_left.notify_all();
}

std::uint64_t this_thread() {
    static std::atomic<std::uint64_t> last{0};
    static thread_local const std::uint64_t mine = ++last;
    return mine;
}

// A block of Python's `with`. Entering and leaving are one step each for handlers of signals, which may raise between two steps of
// Python. A block that is never left, as when something raises where it is about to be, ends with its object.
class Obeying {
public:
    explicit Obeying(std::optional<BoundCancellation> flag) : flag_(flag ? std::move(flag->flag) : nullptr) {}
    ~Obeying() { leave(); }
    Obeying(const Obeying&) = delete;
    Obeying& operator=(const Obeying&) = delete;

    void enter() {
        if (depth_) throw std::logic_error("this is entered once");
        before_ = obeyed_now;
        thread_ = this_thread();
        depth_ = obeying_depth + 1;
        set_depth(depth_);
        static const auto& nobody = *new std::shared_ptr<Cancellation>(std::make_shared<Cancellation>());
        if (flag_ || !before_) obey(flag_ ? flag_ : nobody);
        try {
            stop_if_cancelled();
        } catch (...) {
            leave();
            throw;
        }
    }

    // Blocks that were entered inside, and not left, end with this one.
    void leave() {
        if (depth_ && thread_ == this_thread() && depth_ <= obeying_depth) {
            obey(std::move(before_));
            set_depth(depth_ - 1);
        }
        before_.reset();
        depth_ = 0;
    }

private:
    std::shared_ptr<Cancellation> flag_, before_;
    std::uint64_t thread_ = 0;
    int depth_ = 0;
};

// Calls off what other threads do in such blocks, now and later, and waits until they have left.
bool end_compilations(double seconds) {
    begin_end();
    Cancellation::cancel_others();
    const int mine = obeying_depth > 0;
    const WithoutInterpreterLock released{WithoutInterpreterLock::InUse{}};
    std::unique_lock lock(obeying_threads->mutex);
    return obeying_threads->one_left.wait_for(lock, std::chrono::duration<double>(seconds),
                                              [&] { return obeying_threads->n <= mine; });
}

void forget_other_threads() {
    obeying_threads = new ObeyingThreads;
    obeying_threads->n = obeying_depth > 0;
}

}  // namespace

void bind_cancellation(nb::module_& m) {
    nb::class_<BoundCancellation>(m, "Cancellation", "A flag that compilations look at. Its methods may be called from any thread.")
        .def(
            "__init__",
            [](BoundCancellation* self, std::int64_t after_checks) {
                new (self) BoundCancellation{std::make_shared<Cancellation>(after_checks)};
            },
            "after_checks"_a = -1, "For tests: the flag is set when it has been looked at so often; -1: it is not.")
        .def("cancel", [](const BoundCancellation& c) { c.flag->cancel(); })
        .def_prop_ro("cancelled", [](const BoundCancellation& c) { return c.flag->cancelled(); });
    nb::class_<Obeying>(m, "Obeying",
                        "A block in which the calling thread obeys a flag; without one, that of the block around it. When the "
                        "program ends, what threads do in such blocks is called off.")
        .def(nb::init<std::optional<BoundCancellation>>(), "cancellation"_a.none())
        .def("__enter__", &Obeying::enter, "Raises CompilationCancelledError where the calling thread is to stop.")
        .def("__exit__", [](Obeying& self, nb::args) { self.leave(); }, nb::sig("def __exit__(self, *error: object) -> None"));
    m.def("obeys", [] { return Cancellation::obeyed() != nullptr; }, "Whether the calling thread is in such a block.");
    m.def("stop_if_cancelled", &stop_if_cancelled, "Raises CompilationCancelledError where the calling thread is to stop.");
    m.def("end_compilations", &end_compilations, "seconds"_a,
          "Calls off what other threads do in blocks of Obeying, now and later. Returns whether all have left within the time.");
    m.def("forget_other_threads", &forget_other_threads, "In the child of a fork: no other thread is in a block of Obeying.");
}

}  // namespace psc
