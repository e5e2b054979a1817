// A matcher as Python holds it.
#pragma once

#include "bind_machine.hpp"
#include "matcher.hpp"

namespace psc {

// psc.GrammarMatcher. The compiled grammar is kept: it owns the machine.
struct PyMatcher {
    PyMatcher(nb::object compiled_grammar, PyMachine* m) : compiled(std::move(compiled_grammar)), machine(m), matcher(m->machine) {}
    PyMatcher(const PyMatcher& other)
        : compiled(other.compiled), machine(other.machine), temperature(other.temperature), matcher(other.matcher) {}

    nb::object compiled;
    PyMachine* machine;  // of `compiled`
    nb::object temperature = nb::none();
    Matcher matcher;
};

// Copies the current mask; false: every token is allowed.
bool fill_mask(Matcher& matcher, std::uint32_t* out);

}  // namespace psc
