// JSON Schema to rule programs.
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>

#include "bindings.hpp"
#include "json_schema.hpp"
#include "lowering.hpp"

namespace psc {

void bind_json_schema(nb::module_& m) {
    nb::class_<SchemaGrammar>(m, "SchemaGrammar", "The rules of a JSON schema, in the words of `lower_rules`.")
        .def_prop_ro(
            "words", [](const SchemaGrammar& g) { return to_array(std::vector(g.rules.words)); }, nb::rv_policy::reference)
        .def_prop_ro(
            "offsets", [](const SchemaGrammar& g) { return to_array(std::vector(g.rules.offsets)); }, nb::rv_policy::reference)
        .def_prop_ro("names", [](const SchemaGrammar& g) { return g.rules.names.strings(); })
        .def_prop_ro(
            "root", [](const SchemaGrammar& g) { return g.rules.root.v; }, "The number of the rule of the whole value.")
        .def(
            "lower",
            [](const SchemaGrammar& g, std::int64_t size, std::int64_t named_size, std::int64_t around_free_text,
               std::int64_t literals,
               std::int64_t counted) { return lower(g.rules, {size, named_size, around_free_text, literals, counted}); },
            "size"_a, "named_size"_a, "around_free_text"_a, "literals"_a, "counted"_a, nb::call_guard<nb::gil_scoped_release>(),
            "The grammar of the rules, as `lower_rules` makes it of their words.")
        .def_ro("warnings", &SchemaGrammar::warnings, "What is not enforced, each with its place.");
    m.def(
        "canonical_json",
        [](const std::string& text) {
            TextTable texts;
            JsonDocument document(texts);
            const JsonNode root = document.read(text);
            return document.written(root);
        },
        "text"_a, nb::call_guard<nb::gil_scoped_release>(),
        "JSON text without white space, members in their order, numbers as they are spelled. Raises GrammarError.");
    m.def(
        "schema_grammar",
        [](std::string schema, bool strict, bool assert_format, bool lenient, bool any_order, bool any_whitespace,
           std::int64_t most_whitespace, Word indent, nb::str item_separator, nb::str key_separator,
           std::optional<std::function<std::optional<std::string>(std::string)>> resolver) {
            SchemaResources::Resolver ask;
            if (resolver)
                ask = [&](const std::string& uri) {
                    nb::gil_scoped_acquire acquire;
                    return (*resolver)(uri);
                };
            SchemaLayout layout{
                any_order, any_whitespace, most_whitespace, indent, to_code_points(item_separator), to_code_points(key_separator)};
            nb::gil_scoped_release release;
            return schema_grammar(schema, {strict, assert_format, lenient}, std::move(layout), std::move(ask));
        },
        "schema"_a, "strict"_a, "assert_format"_a, "lenient"_a, "any_order"_a, "any_whitespace"_a, "most_whitespace"_a, "indent"_a,
        "item_separator"_a, "key_separator"_a, "resolver"_a.none(),
        "The rules of a schema's text; see native/json_schema.hpp. -1 is no limit of white space, and no indentation.");
}

}  // namespace psc
