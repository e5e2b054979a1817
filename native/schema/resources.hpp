// Where schemas are: drafts, identifiers, anchors, and what a reference refers to.
//
// A resource is a schema with an identifier of its own, or the root of a text; its `$schema` gives its draft. What is no schema (a
// value of `enum`, say) defines nothing.
//
// Example: in a text with `$id: "http://x/a"`, the reference "b#c" is the schema with the anchor c of the resource http://x/b.
//
// Cost: one pass over the schemas of a text, where it has identifiers at all. Threads: one at a time.
// Source: JSON Schema core 2020-12, sections 8 and 9; RFC 3986 and RFC 6901 for references and pointers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/elided.hpp"
#include "base/errors.hpp"
#include "json/document.hpp"

namespace psc {

// A schema that cannot be compiled: where, by which keyword, and why.
struct SchemaError : std::runtime_error {
    SchemaError(std::string pointer, std::string keyword, const std::string& why)
        : std::runtime_error(elided(pointer) + (keyword.empty() ? "" : ", " + keyword) + ": " + why),
          pointer(std::move(pointer)),
          keyword(std::move(keyword)) {}
    std::string pointer, keyword;
};

// A limit that a part of a schema exceeds.
struct LocatedLimit : LimitExceeded {
    LocatedLimit(std::string pointer, const std::string& message) : LimitExceeded(message), pointer(std::move(pointer)) {}
    std::string pointer;
};

// The limit, with the location of the schema that exceeds it unless it has one.
LocatedLimit located(const LimitExceeded& limit, const std::string& pointer, const std::string& keyword = "");

enum class Draft { draft4, draft6, draft7, draft2019, draft2020 };
// The draft that `$schema` names, if psc reads it.
std::optional<Draft> draft_of(std::string_view uri);

class SchemaResources {
public:
    // The text of a schema by its absolute URI; none for an unknown URI.
    using Resolver = std::function<std::optional<std::string>(const std::string& uri)>;

    SchemaResources(JsonDocument& document, Resolver resolver) : document_(document), resolver_(std::move(resolver)) {}

    // Reads a text as a resource of its own. Throws as JsonDocument::read.
    JsonNode add(std::string_view text, const std::string& uri, Draft draft);

    Draft draft(JsonNode schema) const { return resources_[resource_of(schema)].draft; }
    // The schema that a reference refers to. Throws SchemaError with `keyword`.
    JsonNode resolve(JsonNode schema, std::string_view reference, const std::string& keyword);
    // What an RFC 6901 pointer in `from` points to; the other arguments are for the error: whose reference it is.
    JsonNode by_pointer(JsonNode from, std::string_view pointer, const std::string& reference, JsonNode schema,
                        const std::string& keyword);
    // The schema with `$dynamicAnchor: name` in the resource of a schema, or kNone.
    JsonNode dynamic_anchor(JsonNode schema, std::string_view name) const;
    // Whether a reference to this schema was one to a dynamic anchor.
    bool has_dynamic_anchors() const { return !dynamic_anchors_.empty(); }
    std::size_t resource_of(JsonNode schema) const;
    // The names of all dynamic anchors of a resource.
    std::vector<std::pair<std::string, JsonNode>> dynamic_anchors(std::size_t resource) const;
    // Its location as an RFC 6901 pointer in a fragment, `#/properties/a`, with the URI before it where it is not in the first
    // text.
    std::string pointer(JsonNode schema) const;

private:
    struct Resource {
        std::string uri;
        JsonNode root;
        Draft draft;
    };
    struct Parent {
        JsonNode node = JsonDocument::kNone;
        Word name = -1, index = -1;
    };

    void find_identifiers(JsonNode schema, std::size_t resource);
    std::optional<std::size_t> find_resource(const std::string& uri);

    JsonDocument& document_;
    Resolver resolver_;
    std::vector<Resource> resources_;
    std::vector<std::pair<JsonNode, std::size_t>> texts_;  // the first node after each text, and its resource
    std::unordered_map<std::string, std::size_t> by_uri_;
    std::unordered_map<JsonNode, std::size_t> resource_of_;  // of schemas that are not in their text's resource
    std::unordered_map<std::string, JsonNode> anchors_;      // "resource#name"
    std::unordered_map<std::string, JsonNode> dynamic_anchors_;
    mutable std::vector<Parent> parents_;
};

// A reference relative to a base, both as RFC 3986 has them.
std::string resolved_uri(std::string_view base, std::string_view reference);

}  // namespace psc
