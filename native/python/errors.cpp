// The core's exceptions as Python's, of psc.errors.
#include "base/cancellation.hpp"
#include "base/errors.hpp"
#include "base/limits.hpp"
#include "python/bindings.hpp"
#include "schema/resources.hpp"

namespace psc {

void bind_errors() {
    const nb::object errors = nb::module_::import_("psc.errors");
    const auto as = [](auto example, nb::object type) {
        using Error = decltype(example);
        nb::register_exception_translator(
            [](const std::exception_ptr& p, void* payload) {
                try {
                    std::rethrow_exception(p);
                } catch (const Error& e) {
                    PyErr_SetString(static_cast<PyObject*>(payload), e.what());
                }
            },
            type.release().ptr());  // lives as long as the module
    };
    as(LimitExceeded("", 0), errors.attr("ResourceLimitError"));
    as(Cancelled(), errors.attr("CompilationCancelledError"));
    as(MatcherError(""), errors.attr("MatcherError"));
    as(ArtifactError(""), errors.attr("ArtifactError"));
    as(BitmaskError(""), errors.attr("BitmaskError"));
    as(JsonError(1, 1, ""), errors.attr("GrammarError"));
    as(SchemaError("", "", ""), errors.attr("GrammarError"));
    nb::register_exception_translator(
        [](const std::exception_ptr& p, void* payload) {
            try {
                std::rethrow_exception(p);
            } catch (const RanOutOfMemory& e) {
                PyErr_SetString(static_cast<PyObject*>(payload), e.what());
            } catch (const std::bad_alloc&) {
                PyErr_SetString(static_cast<PyObject*>(payload), "memory: more than this process can get");
            }
        },
        nb::object(errors.attr("ResourceLimitError")).release().ptr());
}

}  // namespace psc
