// The smallest part of a schema that no value can have, for the error about a schema without values.
//
// A part is a schema on the way from the root that every value needs: a required member, an item, a branch of allOf, what `$ref`
// refers to. The search replaces parts by `true` and leaves keywords out, as long as no value is valid, and what is left is the
// cause. So it knows no keyword by its meaning, and cannot disagree with what is compiled.
//
// Example: `{"type": "object", "required": ["a"], "properties": {"a": {"type": "null", "enum": []}, "b": {}}}` has no value at
// `#/properties/a`, by `enum`.
//
// Cost: a compilation for each change, at most kMaxTries, kMaxWork and kMaxSeconds of this thread; beyond that it is the last part that was found. Only a schema
// that is refused pays it. Threads: a pure function, but for the resolver.
// Source: Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input, 2002.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/reader.hpp"
#include "schema/resources.hpp"

namespace psc {

struct NoValue {
    std::string pointer;
    std::vector<std::string> keywords;  // which together leave nothing; none for the schema `false`
    std::vector<std::string> parts;     // pointers of the schemas in these keywords that have a share in it, if there are several
    std::string name;                   // of the one required member that has a share in it, or empty
    bool endless = false;               // each value needs another one inside
};

// None where a value is valid, or none can be found to be invalid. Throws Cancelled, JsonError.
std::optional<NoValue> part_without_value(std::string_view schema, SchemaOptions options, bool only_objects,
                                          const SchemaResources::Resolver& resolver);

}  // namespace psc
