// Terminals' expressions to their byte automaton.
#include <nanobind/stl/shared_ptr.h>

#include "bindings.hpp"
#include "terminal_automaton.hpp"
#include "terminal_nfa.hpp"

namespace psc {

namespace {

std::span<const Word> to_span(const Ints& a) { return {a.data(), a.size()}; }

}  // namespace

void bind_terminals(nb::module_& m) {
    using Limit = ByteAutomaton::Limit;
    nb::class_<ByteAutomaton>(m, "ByteAutomaton")
        .def_prop_ro(
            "next", [](const ByteAutomaton& a) { return to_array(a.next); }, nb::rv_policy::reference)
        .def_prop_ro(
            "match_offsets", [](const ByteAutomaton& a) { return to_array(a.match_offsets); }, nb::rv_policy::reference)
        .def_prop_ro(
            "matches", [](const ByteAutomaton& a) { return to_array(a.matches); }, nb::rv_policy::reference)
        .def_ro("empty", &ByteAutomaton::empty)
        .def_ro("unmatched", &ByteAutomaton::unmatched)
        .def_ro("involved", &ByteAutomaton::involved)
        .def_prop_ro("exceeded", [](const ByteAutomaton& a) -> std::string {
            switch (a.exceeded) {
                case Limit::states:
                    return "states";
                case Limit::positions:
                    return "positions";
                case Limit::steps:
                    return "steps";
                default:
                    return "";
            }
        });
    nb::class_<TerminalNfa>(m, "OpenTerminals", "Terminals whose byte automaton is made as a machine visits it.")
        .def_prop_ro("is_sound", &TerminalNfa::is_sound,
                     "Whether they can be used so: they are not too large, each matches a text and none the empty one.");
    m.def(
        "build_terminal_automaton",
        [](Ints programs, Ints offsets, Ints ranges, Ints range_offsets, std::size_t max_states, std::size_t max_positions,
           std::size_t max_steps) {
            nb::gil_scoped_release release;
            return build_terminal_automaton(to_span(programs), to_span(offsets), to_span(ranges), to_span(range_offsets),
                                            max_states, max_positions, max_steps);
        },
        "programs"_a, "offsets"_a, "ranges"_a, "range_offsets"_a, "max_states"_a, "max_positions"_a, "max_steps"_a);
}

}  // namespace psc
