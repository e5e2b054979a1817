// Which branches of a `oneOf` a value may satisfy together, as far as members tell them apart.
//
// A branch requires members, at the top or in other required members: paths. Two branches have no value together where one requires
// a path at which they list different values (`const`, `enum` of words, numbers and strings), or that the other one, being closed,
// does not list. So `oneOf` needs to exclude, beside each branch, only those that are left, and often none.
//
// Example: `required: [kind], properties: {kind: {const: "a"}}` with "a", "b", "a or c" leaves the first and the third.
//
// It reads `type`, `required`, `properties`, `additionalProperties: false`, `const`, `enum`, `allOf` and `$ref`; what else a branch
// says can only make it have fewer values.
//
// Cost: linear in the branches' keywords, and in the pairs that are found; no pair is compared that a path's values tell apart.
// Threads: one at a time.
#pragma once

#include <optional>
#include <vector>

#include "schema/resources.hpp"

namespace psc {

// For each of these schemas the others with which it may have a value together, ascending, symmetric; none where these are too
// many to be listed. `all_objects`: what else is said about the value says that it is an object.
std::optional<std::vector<std::vector<std::size_t>>> overlaps(const JsonDocument& document, SchemaResources& resources,
                                                              const std::vector<JsonNode>& schemas, bool all_objects);

}  // namespace psc
