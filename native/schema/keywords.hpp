// The keywords of JSON Schema, all drafts. A table of texts begins with them, so a text's number identifies the keyword.
//
// Example: number_of(Keyword::all_of) is 2, and so is the number of the text "allOf".
//
// Cost: constant.
#pragma once

#include <array>
#include <string_view>

#include "json/document.hpp"

namespace psc {

enum class Keyword : Word {
    additional_items,
    additional_properties,
    all_of,
    anchor,
    any_of,
    constant,
    contains,
    definitions,
    defs,
    dependencies,
    dependent_required,
    dependent_schemas,
    draft,
    dynamic_anchor,
    dynamic_ref,
    else_,
    enumeration,
    exclusive_maximum,
    exclusive_minimum,
    format,
    id,
    id_draft4,
    if_,
    items,
    max_contains,
    max_items,
    max_length,
    max_properties,
    maximum,
    min_contains,
    min_items,
    min_length,
    min_properties,
    minimum,
    multiple_of,
    not_,
    one_of,
    pattern,
    pattern_properties,
    prefix_items,
    properties,
    property_names,
    recursive_anchor,
    recursive_ref,
    ref,
    required,
    then,
    type,
    unevaluated_items,
    unevaluated_properties,
    unique_items,
    content_schema,
    unknown
};

inline constexpr std::array<std::string_view, static_cast<std::size_t>(Keyword::unknown)> kKeywordTexts{"additionalItems",
                                                                                                        "additionalProperties",
                                                                                                        "allOf",
                                                                                                        "$anchor",
                                                                                                        "anyOf",
                                                                                                        "const",
                                                                                                        "contains",
                                                                                                        "definitions",
                                                                                                        "$defs",
                                                                                                        "dependencies",
                                                                                                        "dependentRequired",
                                                                                                        "dependentSchemas",
                                                                                                        "$schema",
                                                                                                        "$dynamicAnchor",
                                                                                                        "$dynamicRef",
                                                                                                        "else",
                                                                                                        "enum",
                                                                                                        "exclusiveMaximum",
                                                                                                        "exclusiveMinimum",
                                                                                                        "format",
                                                                                                        "$id",
                                                                                                        "id",
                                                                                                        "if",
                                                                                                        "items",
                                                                                                        "maxContains",
                                                                                                        "maxItems",
                                                                                                        "maxLength",
                                                                                                        "maxProperties",
                                                                                                        "maximum",
                                                                                                        "minContains",
                                                                                                        "minItems",
                                                                                                        "minLength",
                                                                                                        "minProperties",
                                                                                                        "minimum",
                                                                                                        "multipleOf",
                                                                                                        "not",
                                                                                                        "oneOf",
                                                                                                        "pattern",
                                                                                                        "patternProperties",
                                                                                                        "prefixItems",
                                                                                                        "properties",
                                                                                                        "propertyNames",
                                                                                                        "$recursiveAnchor",
                                                                                                        "$recursiveRef",
                                                                                                        "$ref",
                                                                                                        "required",
                                                                                                        "then",
                                                                                                        "type",
                                                                                                        "unevaluatedItems",
                                                                                                        "unevaluatedProperties",
                                                                                                        "uniqueItems",
                                                                                                        "contentSchema"};

// Makes the keywords the first texts of an empty table.
inline void number_keywords(TextTable& texts) {
    for (std::string_view text : kKeywordTexts) texts.number(text);
}
constexpr Word number_of(Keyword keyword) { return static_cast<Word>(keyword); }
constexpr Keyword keyword_of(Word text) {
    return text < static_cast<Word>(Keyword::unknown) ? static_cast<Keyword>(text) : Keyword::unknown;
}
constexpr std::string_view text_of(Keyword keyword) { return kKeywordTexts[static_cast<std::size_t>(keyword)]; }

// What a keyword's value is. `schemas` and `dependencies`, whose values are objects of names or schemas, are checked where they are
// read, and so is what is free.
enum class KeywordForm {
    free,
    boolean,
    text,
    count,
    one_schema,
    schema_or_schemas,
    schemas,
    schemas_by_name,
    definitions,
    dependencies,
    names,
    names_by_name,
    bound
};

// Of the drafts that have the keyword.
constexpr KeywordForm form_of(Keyword keyword) {
    switch (keyword) {
        case Keyword::unique_items:
        case Keyword::recursive_anchor:
            return KeywordForm::boolean;
        case Keyword::anchor:
        case Keyword::draft:
        case Keyword::dynamic_anchor:
        case Keyword::id:
            return KeywordForm::text;
        case Keyword::max_contains:
        case Keyword::min_contains:
            return KeywordForm::count;
        case Keyword::additional_items:
        case Keyword::additional_properties:
        case Keyword::contains:
        case Keyword::content_schema:
        case Keyword::else_:
        case Keyword::if_:
        case Keyword::not_:
        case Keyword::property_names:
        case Keyword::then:
        case Keyword::unevaluated_items:
        case Keyword::unevaluated_properties:
            return KeywordForm::one_schema;
        case Keyword::items:
            return KeywordForm::schema_or_schemas;
        case Keyword::all_of:
        case Keyword::any_of:
        case Keyword::one_of:
        case Keyword::prefix_items:
            return KeywordForm::schemas;
        case Keyword::dependent_schemas:
        case Keyword::pattern_properties:
        case Keyword::properties:
            return KeywordForm::schemas_by_name;
        case Keyword::definitions:
        case Keyword::defs:
            return KeywordForm::definitions;
        case Keyword::dependencies:
            return KeywordForm::dependencies;
        case Keyword::required:
            return KeywordForm::names;
        case Keyword::dependent_required:
            return KeywordForm::names_by_name;
        case Keyword::exclusive_maximum:
        case Keyword::exclusive_minimum:
            return KeywordForm::bound;
        default:
            return KeywordForm::free;
    }
}

// Whether it says where a schema is, and nothing of what is valid.
constexpr bool says_where(Keyword keyword) {
    switch (keyword) {
        case Keyword::anchor:
        case Keyword::definitions:
        case Keyword::defs:
        case Keyword::draft:
        case Keyword::dynamic_anchor:
        case Keyword::id:
        case Keyword::id_draft4:
        case Keyword::recursive_anchor:
            return true;
        default:
            return false;
    }
}

}  // namespace psc
