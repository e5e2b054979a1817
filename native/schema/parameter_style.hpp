// How a model writes the members of an object that is no JSON: as a list of parameters, each between markers.
//
//   parameter:  before_key KEY after_key [white space, if space_after_key] head VALUE end
//   item:       before_item head VALUE end_of_item
//
// Example, with before_key "<parameter=", after_key ">" and end "</parameter>": <parameter=city>Paris</parameter>
//
// The head states the type of the value, where the model writes it. A string is raw text, without quotes and escapes, up to the
// first end marker, which it therefore cannot contain. A value of another type is JSON; where the style is recursive, an object is
// again a list of parameters and an array a list of items. White space may stand before each parameter and item, and at the end of
// a list. In some styles models write a line break before a string and one behind it, which parsers take off: they are layout, and
// what the schema says holds of the text between them.
#pragma once

#include <string>
#include <vector>

#include "schema/predicates.hpp"

namespace psc {

struct ParameterStyle {
    struct Head {
        TypeSet types;
        std::u32string text;
        bool in_unions;  // written only for values that may be of several types
    };
    std::u32string before_key, after_key;
    bool space_after_key = false;
    std::vector<Head> heads;
    std::u32string end;
    bool end_names_key = false;  // the end is `end`, the key, `after_key`
    std::u32string raw_stop;     // what raw text cannot contain
    bool padded = false;         // white space may stand around JSON
    bool line_breaks = false;    // one line break may stand on each side of raw text, and is no part of it
    bool recursive = false;
    std::u32string before_item, end_of_item;
    enum class OtherKeys { identifiers, any, none } other_keys = OtherKeys::identifiers;  // of members that are not declared
    std::vector<std::pair<Word, std::u32string>> escapes;                                 // of characters in keys
    std::vector<std::pair<std::u32string, Word>> tokens;  // special tokens that spell a part of a marker: names and symbols
};

}  // namespace psc
