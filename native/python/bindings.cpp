// The private module psc._core: plain arrays in, plain arrays out.
#include "python/bindings.hpp"

#include "base/long_work.hpp"
#include "python/interpreter_lock.hpp"

NB_MODULE(_core, m) {
#ifndef __SANITIZE_ADDRESS__
    // What a daemon thread still holds when the interpreter ends is never given back: CPython leaves such a thread's frames as they
    // are. A server that ends by an exception while a worker has a matcher would print all of nanobind's functions as leaked. The
    // sanitizer build keeps the report, for references that psc itself would forget.
    psc::nb::set_leak_warnings(false);
#endif
    psc::before_long_work = psc::let_go_of_interpreter_lock;
    psc::keep_ended_threads();
    const auto os = psc::nb::module_::import_("os");
    if (psc::nb::hasattr(os, "register_at_fork"))
        os.attr("register_at_fork")(psc::nb::arg("before") = psc::nb::cpp_function(&psc::begin_fork),
                                    psc::nb::arg("after_in_parent") = psc::nb::cpp_function(&psc::end_fork_in_parent),
                                    psc::nb::arg("after_in_child") = psc::nb::cpp_function(&psc::end_fork_in_child));
    psc::bind_cancellation(m);
    psc::bind_limits(m);
    psc::bind_lr_tables(m);
    psc::bind_terminals(m);
    psc::bind_lowering(m);
    psc::bind_compilation(m);
    psc::bind_linked_parts(m);
    psc::bind_errors();
    psc::bind_vocabulary(m);
    psc::bind_machine(m);
    psc::bind_bitmask(m);
    psc::bind_matcher(m);
    psc::bind_batch(m);
    psc::bind_slots(m);
    psc::bind_mask_buffer(m);
    psc::bind_inspection(m);
    psc::bind_warm_rows(m);
    psc::bind_text_automata(m);
    psc::bind_json_schema(m);
}
