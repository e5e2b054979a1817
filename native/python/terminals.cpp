// Terminals' expressions to their byte automaton.
#include <nanobind/stl/shared_ptr.h>

#include "lr/boundary_bytes.hpp"
#include "lr/lalr.hpp"
#include "python/bindings.hpp"
#include "python/interpreter_lock.hpp"
#include "terminals/automaton.hpp"
#include "terminals/nfa.hpp"
#include "terminals/spelled.hpp"

namespace psc {

namespace {

std::span<const Word> to_span(const Ints& a) { return {a.data(), a.size()}; }

}  // namespace

void bind_terminals(nb::module_& m) {
    using Limit = ByteAutomaton::Limit;
    nb::class_<ByteAutomaton>(m, "ByteAutomaton", "An automaton over bytes, with the terminals that match in each state.")
        .def(
            "__init__",
            [](ByteAutomaton* self, Ints next, Ints match_offsets, Ints matches) {
                if (match_offsets.size() == 0 || next.size() != (match_offsets.size() - 1) * 256)
                    throw std::invalid_argument("each state has 256 targets");
                new (self) ByteAutomaton();
                const ByteClasses bytes;
                self->classes = bytes.merged(to_span(next));
                self->next = bytes.narrowed(to_span(next), self->classes);
                self->match_offsets = to_vector(match_offsets);
                self->matches = to_vector(matches);
            },
            "next"_a, "match_offsets"_a, "matches"_a)
        .def_prop_ro(
            "next", [](const ByteAutomaton& a) { return to_array(a.classes.widened(a.next)); }, nb::rv_policy::reference,
            "Per state 256 targets, or -1.")
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
                     "Whether they can be used so: they are not too large, each matches a text and none the empty one.")
        .def(
            "symbols", [](const TerminalNfa& t, Word n_tokens) { return to_array(t.classes().symbols(n_tokens)); }, "n_tokens"_a,
            nb::rv_policy::reference,
            "Per token the number of its symbol in these terminals, or -1; empty where they speak of no token.")
        .def(
            "has_symbols", [](const TerminalNfa& t, Word n_tokens) { return t.classes().has_symbols(n_tokens); }, "n_tokens"_a,
            "Whether they speak of one of the tokens.")
        .def(
            "are_spelled",
            [](const TerminalNfa& t, nb::bytes given) {
                if (!t.is_sound()) return false;
                ByteSet bytes;
                for (const char* b = given.c_str(); b != given.c_str() + given.size(); ++b)
                    bytes.set(static_cast<std::uint8_t>(*b));
                return are_spelled(t, bytes);
            },
            "bytes"_a, "Whether it is seen at once that each of them matches a text of these bytes. False says nothing.")
        .def(
            "bytes_before",
            [](const TerminalNfa& t, const LalrTables& lr, Word first, Word count) {
                if (first < 0 || count < 0 || count > kSymbols || first > kSymbols - count)
                    throw std::invalid_argument("the number of a symbol is out of range");
                const ByteSet found = bytes_before(lr.tables, t, first, count);
                std::vector<std::uint8_t> bytes;
                for (std::size_t b = 0; b < found.size(); ++b)
                    if (found.test(b)) bytes.push_back(static_cast<std::uint8_t>(b));
                return nb::bytes(bytes.data(), bytes.size());
            },
            "lr"_a, "first"_a, "count"_a,
            "The bytes that can stand before one of these symbols, by number, in the texts of a grammar, or more than these; "
            "ascending.");
    m.def(
        "token_symbols",
        [](Ints ranges, Ints range_offsets, Word n_tokens) {
            return to_array(CodePointClasses(to_span(ranges), to_span(range_offsets)).symbols(n_tokens));
        },
        "ranges"_a, "range_offsets"_a, "n_tokens"_a, nb::rv_policy::reference,
        "The same as OpenTerminals.symbols, of the sets of characters that terminals have.");
    m.def(
        "build_terminal_automaton",
        [](Ints programs, Ints offsets, Ints ranges, Ints range_offsets, std::size_t max_states, std::size_t max_positions,
           std::size_t max_steps) {
            const WithoutInterpreterLock release;
            return build_terminal_automaton(to_span(programs), to_span(offsets), to_span(ranges), to_span(range_offsets),
                                            max_states, max_positions, max_steps);
        },
        "programs"_a, "offsets"_a, "ranges"_a, "range_offsets"_a, "max_states"_a, "max_positions"_a, "max_steps"_a);
}

}  // namespace psc
