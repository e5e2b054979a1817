// Calling off compilations.
#include "base/cancellation.hpp"
#include "python/bindings.hpp"

namespace psc {

void bind_cancellation(nb::module_& m) {
    nb::class_<Cancellation>(m, "Cancellation", "A flag that compilations look at. Its methods may be called from any thread.")
        .def(nb::init<std::int64_t>(), "after_checks"_a = -1,
             "For tests: the flag is set when it has been looked at so often; -1: it is not.")
        .def("cancel", &Cancellation::cancel)
        .def_prop_ro("cancelled", &Cancellation::cancelled);
    m.def("obey", &Cancellation::obey, "cancellation"_a.none(), nb::rv_policy::reference,
          nb::sig("def obey(cancellation: Cancellation | None) -> Cancellation | None"),
          "Which one the calling thread obeys from now on; gives the one before. The caller keeps it alive until it sets that "
          "again.");
    m.def("stop_if_cancelled", &stop_if_cancelled, "Raises CompilationCancelledError where the calling thread is to stop.");
}

}  // namespace psc
