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
