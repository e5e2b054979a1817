// Sets of texts, for tests and for what reads schemas.
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include "json/numbers.hpp"
#include "json/string_formats.hpp"
#include "json/strings.hpp"
#include "patterns/ecma_pattern.hpp"
#include "python/bindings.hpp"
#include "python/interpreter_lock.hpp"
#include "text/automaton.hpp"

namespace psc {

namespace {

nb::object to_str(const std::u32string& text) {
    return nb::steal(PyUnicode_FromKindAndData(PyUnicode_4BYTE_KIND, text.data(), static_cast<Py_ssize_t>(text.size())));
}

void bind_number_automata(nb::class_<TextAutomaton>& c) {
    c.def_static("numbers", &plain_numbers, "Numbers in plain decimal spelling, as all that follow.")
        .def_static("integers", [] { return integers(); })
        .def_static("integers_without_fraction", &integers_without_fraction)
        .def_static(
            "at_least",
            [](const std::string& bound, bool exclusive) {
                return without_lock([&] { return at_least(parse_decimal(bound), exclusive); });
            },
            "bound"_a, "exclusive"_a = false)
        .def_static(
            "at_most",
            [](const std::string& bound, bool exclusive) {
                return without_lock([&] { return at_most(parse_decimal(bound), exclusive); });
            },
            "bound"_a, "exclusive"_a = false)
        .def_static(
            "equal_to", [](const std::string& value) { return without_lock([&] { return equal_to(parse_decimal(value)); }); },
            "value"_a)
        .def_static(
            "multiples_of",
            [](const std::string& divisor) { return without_lock([&] { return multiples_of(parse_decimal(divisor)); }); },
            "divisor"_a);
}

void bind_automaton_operations(nb::class_<TextAutomaton>& c) {
    c.def("spelled_as_json", [](const TextAutomaton& a) { return without_lock([&] { return spelled_as_json(a); }); })
        .def("spelled_with_all_escapes",
             [](const TextAutomaton& a) { return without_lock([&] { return spelled_with_all_escapes(a); }); })
        .def(
            "matches", [](const TextAutomaton& a, nb::str text) { return accepts(a, to_code_points(text)); }, "text"_a)
        .def(
            "intersection",
            [](const TextAutomaton& a, const TextAutomaton& b) { return without_lock([&] { return intersection(a, b); }); },
            "other"_a)
        .def(
            "union", [](const TextAutomaton& a, const TextAutomaton& b) { return without_lock([&] { return union_of(a, b); }); },
            "other"_a)
        .def(
            "difference",
            [](const TextAutomaton& a, const TextAutomaton& b) { return without_lock([&] { return difference(a, b); }); },
            "other"_a)
        .def(
            "concatenation",
            [](const TextAutomaton& a, const TextAutomaton& b) { return without_lock([&] { return concatenation(a, b); }); },
            "other"_a)
        .def("complement", [](const TextAutomaton& a) { return without_lock([&] { return complement(a); }); })
        .def(
            "with_length",
            [](const TextAutomaton& a, std::int64_t least, std::int64_t most) {
                return without_lock([&] { return with_length(a, least, most); });
            },
            "least"_a, "most"_a, "The texts of so many code points; most = -1: without limit.")
        .def(
            "repeated",
            [](const TextAutomaton& a, std::int64_t least, std::int64_t most) {
                return without_lock([&] { return repeated(a, least, most); });
            },
            "least"_a, "most"_a, "So many texts, one after the other; most = -1: without limit.")
        .def(
            "shortest_matches", [](const TextAutomaton& a) { return without_lock([&] { return shortest_matches(a); }); },
            "The texts of which no shorter beginning is one.");
}

void bind_automaton_facts(nb::class_<TextAutomaton>& c) {
    c.def("is_empty", &is_empty)
        .def(
            "shortest",
            [](const TextAutomaton& a) -> nb::object {
                const auto text = shortest(a);
                return text ? to_str(*text) : nb::none();
            },
            nb::sig("def shortest(self) -> str | None"))
        .def(
            "__eq__", [](const TextAutomaton& a, const TextAutomaton& b) { return a == b; }, nb::is_operator(),
            nb::sig("def __eq__(self, other: object, /) -> bool"))
        .def_prop_ro("n_states", &TextAutomaton::size)
        .def_prop_ro(
            "accepts", [](const TextAutomaton& a) { return std::vector<bool>(a.accepts.begin(), a.accepts.end()); },
            "Per state; state 0 is the start.")
        .def_prop_ro(
            "arcs",
            [](const TextAutomaton& a) {
                std::vector<std::tuple<Word, Word, Word, Word>> arcs;
                for (Word s = 0; s < a.size(); ++s)
                    for (Word k = a.offsets[s]; k < a.offsets[s + 1]; ++k)
                        arcs.emplace_back(s, a.arcs[k].first, a.arcs[k].last, a.arcs[k].to);
                return arcs;
            },
            "(from, first, last, to), ascending; the range is inclusive.")
        .def_prop_ro("n_arcs", [](const TextAutomaton& a) { return a.arcs.size(); });
}

}  // namespace

void bind_text_automata(nb::module_& m) {
    nb::class_<TextAutomaton> c(m, "TextAutomaton", "A set of texts as its minimal deterministic automaton over code points.");
    c.def_static("empty", &no_text)
        .def_static("everything", &any_text)
        .def_static(
            "texts",
            [](nb::typed<nb::sequence, nb::str> texts) {
                std::vector<std::u32string> list;
                for (nb::handle text : texts) list.push_back(to_code_points(text));
                return without_lock([&] { return of_texts(std::move(list)); });
            },
            "texts"_a)
        .def_static("of", &of_arcs, "accepts"_a, "arcs"_a,
                    "The set of an automaton, given as `accepts` and `arcs` are. Raises ValueError where it is none.")
        .def_static("characters", &of_characters, "ranges"_a,
                    "The texts of one code point out of these inclusive ranges; those of surrogates are left out.")
        .def_static(
            "pattern",
            [](nb::str pattern, std::size_t max_states) {
                const std::u32string text = to_code_points(pattern);
                return without_lock([&] { return pattern_automaton(text, max_states); });
            },
            "pattern"_a, "max_states"_a = kMaxTextStates, "The texts in which a regular expression of ECMA-262 is found.")
        .def_static(
            "format",
            [](const std::string& name) -> nb::object {
                const TextAutomaton* texts = without_lock([&] { return format_automaton(name); });
                return texts ? nb::cast(*texts) : nb::none();
            },
            "name"_a, nb::sig("def format(name: str) -> TextAutomaton | None"),
            "The texts of a format of JSON Schema, of any length.");
    bind_number_automata(c);
    bind_automaton_operations(c);
    bind_automaton_facts(c);
}

}  // namespace psc
