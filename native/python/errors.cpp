// The core's exceptions as Python's, of psc.errors.
#include <utility>

#include "base/cancellation.hpp"
#include "base/errors.hpp"
#include "base/limits.hpp"
#include "python/bindings.hpp"
#include "schema/resources.hpp"

namespace psc {

namespace {

// Raises an exception of a type with attributes, see psc.errors.GrammarError. Making it runs Python, which may raise as well: Ctrl-C is
// handled there.
template <typename... Value>
void raise_with(PyObject* type, const char* what, std::pair<const char*, Value>... attributes) {
    try {
        nb::object error = nb::borrow(type)(what);
        (nb::setattr(error, attributes.first, nb::cast(attributes.second)), ...);
        PyErr_SetObject(type, error.ptr());
    } catch (nb::python_error& e) {
        e.restore();
    }
}

}  // namespace

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
    as(Cancelled(), errors.attr("CompilationCancelledError"));
    as(MatcherError(""), errors.attr("MatcherError"));
    as(ArtifactError(""), errors.attr("ArtifactError"));
    as(BitmaskError(""), errors.attr("BitmaskError"));
    nb::register_exception_translator(
        [](const std::exception_ptr& p, void* payload) {
            const auto type = static_cast<PyObject*>(payload);
            try {
                std::rethrow_exception(p);
            } catch (const JsonError& e) {
                raise_with(type, e.what(), std::pair{"line", e.line}, std::pair{"column", e.column},
                           std::pair{"pointer", e.pointer});
            } catch (const SchemaError& e) {
                raise_with(type, e.what(), std::pair{"pointer", e.pointer});
            }
        },
        nb::object(errors.attr("GrammarError")).release().ptr());
    nb::register_exception_translator(
        [](const std::exception_ptr& p, void* payload) {
            try {
                std::rethrow_exception(p);
            } catch (const RanOutOfMemory& e) {
                PyErr_SetString(static_cast<PyObject*>(payload), e.what());
            } catch (const LocatedLimit& e) {
                raise_with(static_cast<PyObject*>(payload), e.what(), std::pair{"pointer", e.pointer});
            } catch (const LimitExceeded& e) {
                PyErr_SetString(static_cast<PyObject*>(payload), e.what());
            } catch (const std::bad_alloc&) {
                PyErr_SetString(static_cast<PyObject*>(payload), "memory: more than this process can get");
            }
        },
        nb::object(errors.attr("ResourceLimitError")).release().ptr());
}

}  // namespace psc
