// JSON Schema to rule programs.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <array>

#include "python/bindings.hpp"
#include "python/interpreter_lock.hpp"
#include "rules/lowering.hpp"
#include "schema/json_schema.hpp"
#include "schema/no_value.hpp"
#include "schema/order_of_tags.hpp"

namespace psc {

namespace {

std::vector<std::u32string> code_points_of(const std::vector<nb::str>& texts) {
    std::vector<std::u32string> out;
    for (const nb::str& text : texts) out.push_back(to_code_points(text));
    return out;
}

TypeSet type_named(const std::string& name) {
    static constexpr std::array<std::pair<std::string_view, TypeSet>, 6> kTypes{{{"null", json_types::null},
                                                                                 {"boolean", json_types::boolean},
                                                                                 {"number", json_types::number},
                                                                                 {"string", json_types::string},
                                                                                 {"array", json_types::array},
                                                                                 {"object", json_types::object}}};
    for (const auto& [known, type] : kTypes)
        if (known == name) return type;
    throw nb::value_error("no such type of values");
}

ParameterStyle::OtherKeys other_keys_named(const std::string& name) {
    if (name == "identifiers") return ParameterStyle::OtherKeys::identifiers;
    if (name == "any") return ParameterStyle::OtherKeys::any;
    if (name == "none") return ParameterStyle::OtherKeys::none;
    throw nb::value_error("other_keys is 'identifiers', 'any' or 'none'");
}

using PythonResolver = nb::typed<nb::callable, std::optional<std::string>(nb::str)>;

// As the reader calls it, without the interpreter's lock. The argument outlives it.
SchemaResources::Resolver asking(const std::optional<PythonResolver>& resolver) {
    if (!resolver) return {};
    return [&resolver](const std::string& uri) {
        const WithInterpreterLock acquire;
        const nb::str name(uri.data(), uri.size());
        return nb::cast<std::optional<std::string>>(call_python(*resolver, name));
    };
}

// A number without a fraction is an integer, however it is spelled.
nb::object number_value(std::string_view spelled) {
    const nb::str text(spelled.data(), spelled.size());
    if (spelled.find_first_of(".eE") == spelled.npos) {
        if (PyObject* integer = PyNumber_Long(text.ptr())) return nb::steal(integer);
        PyErr_Clear();  // it has more digits than Python reads
    }
    nb::object read = nb::steal(PyFloat_FromString(text.ptr()));
    return nb::cast<bool>(read.attr("is_integer")()) ? nb::object(nb::int_(read)) : read;
}

// The values of a document as Python has them.
class PythonValues {
public:
    PythonValues(const JsonDocument& document, const std::vector<std::string>& kept_as_text, const nb::callable& of_text)
        : document_(document), of_text_(of_text) {
        for (const std::string& name : kept_as_text) kept_.push_back(document.texts().number(name));
        names_.resize(static_cast<std::size_t>(document.texts().size()));
    }

    // Without recursion: a container is put where it belongs, and filled after that.
    nb::object value(JsonNode root) {
        nb::object result = begun(root);
        while (!open_.empty()) {
            const auto [node, container] = open_.back();
            open_.pop_back();
            if (document_.kind(node) == JsonDocument::Kind::array) {
                nb::list list = nb::borrow<nb::list>(container);
                for (const JsonNode item : document_.items(node)) list.append(begun(item));
                continue;
            }
            nb::dict dict = nb::borrow<nb::dict>(container);
            for (const JsonDocument::Member& member : document_.members(node)) {
                const bool kept = std::find(kept_.begin(), kept_.end(), member.name) != kept_.end();
                dict[text(member.name)] = kept ? as_text(member.value) : begun(member.value);
            }
        }
        return result;
    }

private:
    nb::object begun(JsonNode node) {
        switch (document_.kind(node)) {
            case JsonDocument::Kind::null:
                return nb::none();
            case JsonDocument::Kind::boolean:
                return nb::bool_(document_.truth(node));
            case JsonDocument::Kind::number:
                return number_value(document_.number(node));
            case JsonDocument::Kind::string:
                return text(document_.text_number(node));
            case JsonDocument::Kind::array:
                return open_.emplace_back(node, nb::list()).second;
            case JsonDocument::Kind::object:
                return open_.emplace_back(node, nb::dict()).second;
        }
        throw std::logic_error("there is no such kind of values");
    }

    nb::object as_text(JsonNode node) {
        const bool is_plain = document_.is(node, JsonDocument::Kind::null) || document_.is(node, JsonDocument::Kind::string);
        if (is_plain) return begun(node);
        const std::string written = document_.written(node);
        return call_python(of_text_, nb::str(written.data(), written.size()));
    }

    nb::object text(Word number) {
        nb::object& made = names_[static_cast<std::size_t>(number)];
        if (!made.is_valid()) {
            const std::string_view text = document_.texts()[number];
            made = nb::str(text.data(), text.size());
        }
        return made;
    }

    const JsonDocument& document_;
    const nb::callable& of_text_;
    std::vector<nb::object> names_;  // by their numbers, once they were needed
    std::vector<Word> kept_;
    std::vector<std::pair<JsonNode, nb::object>> open_;
};

}  // namespace

void bind_json_schema(nb::module_& m) {
    nb::class_<SchemaGrammar>(m, "SchemaGrammar", "The rules of a JSON schema.")
        .def_ro("rules", &SchemaGrammar::rules, "Their root is the rule of the whole value.")
        .def_ro("warnings", &SchemaGrammar::warnings, "What is not enforced, each with its place.")
        .def_ro("doubts", &SchemaGrammar::doubts, "What is probably not what was meant, each with its place.");
    nb::class_<NoValue>(m, "NoValue", "A part of a JSON schema that no value can have.")
        .def_ro("pointer", &NoValue::pointer, "Where it is.")
        .def_ro("keywords", &NoValue::keywords, "Its keywords that leave nothing together; none for the schema false.")
        .def_ro("parts", &NoValue::parts, "Pointers of schemas in these keywords that have a share in it, if there are several.")
        .def_ro("name", &NoValue::name, "The required member that has a share in it, or empty.")
        .def_ro("endless", &NoValue::endless, "Whether each value needs another one inside.");
    nb::class_<ParameterStyle>(m, "ParameterStyle", "How a model writes the members of an object that is no JSON.")
        .def(
            "__init__",
            [](ParameterStyle* made, nb::str before_key, nb::str after_key, bool space_after_key,
               std::vector<std::tuple<std::vector<std::string>, nb::str, bool>> heads, nb::str end, bool end_names_key,
               nb::str raw_stop, bool padded, bool line_breaks, bool recursive, nb::str before_item, nb::str end_of_item,
               const std::string& other_keys, std::vector<std::pair<nb::str, nb::str>> escapes,
               std::vector<std::pair<nb::str, Word>> tokens) {
                new (made) ParameterStyle{};
                made->before_key = to_code_points(before_key);
                made->after_key = to_code_points(after_key);
                made->space_after_key = space_after_key;
                for (const auto& [types, text, in_unions] : heads) {
                    TypeSet set = 0;
                    for (const std::string& type : types) set |= type_named(type);
                    made->heads.push_back({set, to_code_points(text), in_unions});
                }
                made->end = to_code_points(end);
                made->end_names_key = end_names_key;
                made->raw_stop = to_code_points(raw_stop);
                made->padded = padded;
                made->line_breaks = line_breaks;
                made->recursive = recursive;
                made->before_item = to_code_points(before_item);
                made->end_of_item = to_code_points(end_of_item);
                made->other_keys = other_keys_named(other_keys);
                for (const auto& [name, symbol] : tokens) made->tokens.emplace_back(to_code_points(name), symbol);
                for (const auto& [character, written] : escapes) {
                    const std::u32string one = to_code_points(character), text = to_code_points(written);
                    if (one.size() != 1 || text.size() < 2 || text[0] != U'&')
                        throw nb::value_error("an escape is of one character, and begins with &");
                    made->escapes.emplace_back(static_cast<Word>(one[0]), text);
                }
                std::sort(made->escapes.begin(), made->escapes.end());
            },
            nb::kw_only(), "before_key"_a, "after_key"_a, "space_after_key"_a, "heads"_a, "end"_a, "end_names_key"_a, "raw_stop"_a,
            "padded"_a, "line_breaks"_a, "recursive"_a, "before_item"_a, "end_of_item"_a, "other_keys"_a, "escapes"_a, "tokens"_a,
            "See native/schema/parameter_style.hpp. Heads are (types, text, only where a value may be of several types).");
    m.def(
        "canonical_json",
        [](const std::string& text) {
            TextTable texts;
            JsonDocument document(texts);
            const JsonNode root = document.read(text);
            return document.written(root);
        },
        "text"_a, nb::call_guard<WithoutInterpreterLock>(),
        "JSON text without white space, members in their order, numbers as they are spelled. Raises GrammarError.");
    m.def(
        "json_value",
        [](const std::string& text, const std::vector<std::string>& kept_as_text,
           const nb::typed<nb::callable, nb::object(nb::str)>& of_text) {
            TextTable texts;
            JsonDocument document(texts);
            JsonNode root;
            std::string canonical;
            {
                const WithoutInterpreterLock release;
                root = document.read(text);
                canonical = document.written(root);
            }
            return std::pair(PythonValues(document, kept_as_text, of_text).value(root), canonical);
        },
        "text"_a, "kept_as_text"_a, "of_text"_a,
        "What JSON text stands for, and the text as canonical_json gives it, read once. Numbers without a fraction are integers. "
        "The values of the names kept_as_text are canonical text again, wrapped by of_text, but for null and strings. "
        "Raises GrammarError.");
    m.def(
        "in_order_of_tags", [](const std::string& text) { return in_order_of_tags(text); }, "text"_a,
        nb::call_guard<WithoutInterpreterLock>(),
        "The text of a structural tag with its tags in one order, see native/schema/order_of_tags.hpp; None where that cannot be "
        "told.");
    m.def(
        "schema_grammar",
        [](std::string schema, bool strict, bool assert_format, bool lenient, bool any_order, bool any_whitespace,
           std::optional<std::int64_t> max_whitespace, std::optional<Word> max_digits, bool plain_integers,
           std::optional<Word> indent, nb::str item_separator, nb::str key_separator, std::optional<PythonResolver> resolver,
           std::vector<nb::str> excludes, std::optional<ParameterStyle> parameters, bool unique_items, bool few_sets) {
            SchemaResources::Resolver ask = asking(resolver);
            SchemaLayout layout{any_order,
                                any_whitespace,
                                max_whitespace.value_or(-1),
                                max_digits.value_or(-1),
                                plain_integers,
                                indent.value_or(-1),
                                to_code_points(item_separator),
                                to_code_points(key_separator),
                                code_points_of(excludes),
                                std::move(parameters),
                                few_sets};
            const WithoutInterpreterLock release;
            return schema_grammar(schema, {strict, assert_format, lenient, false, unique_items}, std::move(layout), std::move(ask));
        },
        "schema"_a, "strict"_a, "assert_format"_a, "lenient"_a, "any_order"_a, "any_whitespace"_a, "max_whitespace"_a.none(),
        "max_digits"_a.none(), "plain_integers"_a, "indent"_a.none(), "item_separator"_a, "key_separator"_a, "resolver"_a.none(),
        "excludes"_a = nb::list(), "parameters"_a.none() = nb::none(), "unique_items"_a = false, "few_sets"_a = false,
        "The rules of a schema's text; see native/schema/json_schema.hpp. None is no limit of white space or digits, and no "
        "indentation. unique_items: say which items must differ where rules cannot (RulePrograms.has_unique). few_sets: leave "
        "members in any order to the machine, where they are more than a few.");
    m.def(
        "part_without_value",
        [](std::string schema, bool strict, bool assert_format, bool only_objects, bool unique_items,
           std::optional<PythonResolver> resolver) {
            const SchemaResources::Resolver ask = asking(resolver);
            const WithoutInterpreterLock release;
            return part_without_value(schema, {strict, assert_format, true, false, unique_items}, only_objects, ask);
        },
        "schema"_a, "strict"_a, "assert_format"_a, "only_objects"_a, "unique_items"_a, "resolver"_a.none(),
        "The smallest part of a schema that no value can have, see native/schema/no_value.hpp; None where there is none.");
}

}  // namespace psc
