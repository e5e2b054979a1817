#include "schema/resources.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/elided.hpp"
#include "schema/keywords.hpp"

namespace psc {

namespace {

using JsonKind = JsonDocument::Kind;

struct Uri {
    std::string_view scheme, authority, path, query;
    bool has_authority = false, has_query = false;
};

// Without a fragment.
Uri parsed_uri(std::string_view text) {
    Uri uri;
    const std::size_t colon = text.find(':');
    if (colon != std::string_view::npos && text.find_first_of("/?") > colon) {
        uri.scheme = text.substr(0, colon);
        text.remove_prefix(colon + 1);
    }
    if (text.starts_with("//")) {
        uri.has_authority = true;
        text.remove_prefix(2);
        const std::size_t end = std::min(text.find_first_of("/?"), text.size());
        uri.authority = text.substr(0, end);
        text.remove_prefix(end);
    }
    const std::size_t question = text.find('?');
    uri.path = text.substr(0, question);
    if (question != std::string_view::npos) {
        uri.has_query = true;
        uri.query = text.substr(question + 1);
    }
    return uri;
}

std::string without_dots(std::string_view path) {
    std::vector<std::string_view> segments;
    const bool rooted = path.starts_with('/');
    bool open = false;  // ends in '/'
    std::size_t at = rooted ? 1 : 0;
    while (at <= path.size()) {
        const std::size_t end = std::min(path.find('/', at), path.size());
        const std::string_view segment = path.substr(at, end - at);
        open = segment == "." || segment == "..";
        if (segment == "..") {
            if (!segments.empty()) segments.pop_back();
        } else if (segment != ".") {
            segments.push_back(segment);
        }
        at = end + 1;
    }
    std::string out = rooted ? "/" : "";
    for (std::size_t i = 0; i < segments.size(); ++i) {
        if (i) out += '/';
        out += segments[i];
    }
    if (open && !segments.empty()) out += '/';
    return out;
}

std::string percent_decoded(std::string_view text) {
    const auto digit = [](char c) {
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    };
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0) {
            out.push_back(static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2])));
            i += 2;
        } else {
            out.push_back(text[i]);
        }
    }
    return out;
}

}  // namespace

std::optional<Draft> draft_of(std::string_view uri) {
    if (uri.ends_with('#')) uri.remove_suffix(1);
    constexpr std::string_view kHyper = "hyper-schema", kSchema = "schema";  // a draft with links, or the draft
    const std::string plain =
        uri.ends_with(kHyper) ? std::string(uri.substr(0, uri.size() - kHyper.size())).append(kSchema) : std::string(uri);
    if (plain.ends_with("json-schema.org/schema")) return Draft::draft2020;  // the latest
    constexpr std::array<std::pair<std::string_view, Draft>, 5> kDrafts{
        {{"json-schema.org/draft-04/schema", Draft::draft4},
         {"json-schema.org/draft-06/schema", Draft::draft6},
         {"json-schema.org/draft-07/schema", Draft::draft7},
         {"json-schema.org/draft/2019-09/schema", Draft::draft2019},
         {"json-schema.org/draft/2020-12/schema", Draft::draft2020}}};
    for (const auto& [name, draft] : kDrafts)
        if (plain.ends_with(name)) return draft;
    return std::nullopt;
}

LocatedLimit located(const LimitExceeded& limit, const std::string& pointer, const std::string& keyword) {
    if (const auto* has = dynamic_cast<const LocatedLimit*>(&limit)) return *has;
    const std::string whole = pointer.starts_with('#') ? pointer.substr(0, pointer.find(" & ")) : "";  // rules' names may have two
    return {whole, elided(pointer) + (keyword.empty() ? "" : ", " + keyword) + ": " + limit.what()};
}

std::string resolved_uri(std::string_view base, std::string_view reference) {
    const Uri b = parsed_uri(base), r = parsed_uri(reference);
    Uri out = r;
    std::string path;
    if (!r.scheme.empty() || r.has_authority) {
        if (r.scheme.empty()) out.scheme = b.scheme;
        path = without_dots(r.path);
    } else {
        out.scheme = b.scheme;
        out.authority = b.authority;
        out.has_authority = b.has_authority;
        if (r.path.empty()) {
            path = b.path;
            if (!r.has_query) {
                out.query = b.query;
                out.has_query = b.has_query;
            }
        } else if (r.path.starts_with('/')) {
            path = without_dots(r.path);
        } else {
            const std::size_t slash = b.path.rfind('/');
            const std::string_view folder =
                slash == std::string_view::npos ? std::string_view(b.has_authority ? "/" : "") : b.path.substr(0, slash + 1);
            path = without_dots(std::string(folder) + std::string(r.path));
        }
    }
    std::string text;
    if (!out.scheme.empty()) text.append(out.scheme).append(":");
    if (out.has_authority) text.append("//").append(out.authority);
    text += path;
    if (out.has_query) text.append("?").append(out.query);
    return text;
}

JsonNode SchemaResources::add(std::string_view text, const std::string& uri, Draft draft) {
    const JsonNode root = document_.read(text);
    const std::size_t resource = resources_.size();
    resources_.push_back({uri, root, draft});
    texts_.emplace_back(document_.size(), resource);
    by_uri_.emplace(uri, resource);
    find_identifiers(root, resource);
    return root;
}

std::size_t SchemaResources::resource_of(JsonNode schema) const {
    if (const auto own = resource_of_.find(schema); own != resource_of_.end()) return own->second;
    return std::upper_bound(texts_.begin(), texts_.end(), schema, [](JsonNode n, const auto& t) { return n < t.first; })->second;
}

void SchemaResources::find_identifiers(JsonNode root, std::size_t of_text) {
    std::vector<std::pair<JsonNode, std::size_t>> todo{{root, of_text}};
    while (!todo.empty()) {
        auto [node, resource] = todo.back();
        todo.pop_back();
        if (!document_.is(node, JsonKind::object)) continue;
        const auto string = [&](Keyword keyword) -> std::optional<std::string_view> {
            const JsonNode value = document_.member(node, number_of(keyword));
            return document_.is(value, JsonKind::string) ? std::optional(document_.text(value)) : std::nullopt;
        };
        Draft draft = resources_[resource].draft;
        const bool is_root = node == root;
        if (is_root || string(Keyword::id) || string(Keyword::id_draft4))
            if (const auto schema = string(Keyword::draft))
                if (const auto named = draft_of(*schema)) draft = *named;
        if (is_root) resources_[resource].draft = draft;
        const bool only_reference = draft <= Draft::draft7 && string(Keyword::ref);
        if (!only_reference) {
            if (const auto id = string(draft == Draft::draft4 ? Keyword::id_draft4 : Keyword::id)) {
                const std::size_t hash = id->find('#');
                const std::string uri = resolved_uri(resources_[resource].uri, id->substr(0, hash));
                if (hash != 0) {
                    if (is_root) {
                        resources_[resource].uri = uri;
                        by_uri_.emplace(uri, resource);
                    } else {
                        resources_.push_back({uri, node, draft});
                        resource = resources_.size() - 1;
                        by_uri_.emplace(uri, resource);
                    }
                }
                if (hash != std::string_view::npos && hash + 1 < id->size() && draft <= Draft::draft7)
                    anchors_.emplace(std::to_string(resource) + std::string(id->substr(hash)), node);
            }
            if (draft >= Draft::draft2019)
                if (const auto anchor = string(Keyword::anchor))
                    anchors_.emplace(std::to_string(resource) + "#" + std::string(*anchor), node);
            if (draft >= Draft::draft2020)
                if (const auto anchor = string(Keyword::dynamic_anchor)) {
                    anchors_.emplace(std::to_string(resource) + "#" + std::string(*anchor), node);
                    dynamic_anchors_.emplace(std::to_string(resource) + "#" + std::string(*anchor), node);
                }
            if (draft == Draft::draft2019 && node == resources_[resource].root) {
                const JsonNode recursive = document_.member(node, number_of(Keyword::recursive_anchor));
                if (document_.is(recursive, JsonKind::boolean) && document_.truth(recursive))
                    dynamic_anchors_.emplace(std::to_string(resource) + "#", node);
            }
        }
        if (resource != of_text) resource_of_.emplace(node, resource);
        for (const auto& [name, value] : document_.members(node)) {
            if (only_reference && keyword_of(name) != Keyword::definitions) continue;
            using enum KeywordForm;
            const KeywordForm form = form_of(keyword_of(name));
            if (form == one_schema || (form == schema_or_schemas && document_.is(value, JsonKind::object)))
                todo.emplace_back(value, resource);
            if ((form == schemas || form == schema_or_schemas) && document_.is(value, JsonKind::array))
                for (JsonNode item : document_.items(value)) todo.emplace_back(item, resource);
            if ((form == schemas_by_name || form == definitions || form == dependencies) && document_.is(value, JsonKind::object))
                for (const auto& member : document_.members(value)) todo.emplace_back(member.value, resource);
        }
    }
}

std::optional<std::size_t> SchemaResources::find_resource(const std::string& uri) {
    if (const auto cached = by_uri_.find(uri); cached != by_uri_.end()) return cached->second;
    if (!resolver_) return std::nullopt;
    const auto text = resolver_(uri);
    if (!text) return std::nullopt;
    const std::size_t resource = resources_.size();
    const Draft draft = resources_.front().draft;
    add(*text, uri, draft);
    by_uri_.emplace(uri, resource);
    return resource;
}

JsonNode SchemaResources::resolve(JsonNode schema, std::string_view reference, const std::string& keyword) {
    const std::size_t hash = reference.find('#');
    const std::string fragment = hash == std::string_view::npos ? "" : percent_decoded(reference.substr(hash + 1));
    const std::string written(reference);
    const std::string uri = resolved_uri(resources_[resource_of(schema)].uri, reference.substr(0, hash));
    std::size_t resource = resource_of(schema);
    if (uri != resources_[resource].uri) {
        const auto found = find_resource(uri);
        if (!found)
            throw SchemaError(
                pointer(schema), keyword,
                "there is no schema " + elided(uri) + " in this text" +
                    (resolver_ ? ", and the resolver does not know it" : "; give a resolver that knows it, psc fetches nothing"));
        resource = *found;
    }
    const JsonNode root = resources_[resource].root;
    if (fragment.empty()) return root;
    if (fragment[0] == '/') return by_pointer(root, fragment, written, schema, keyword);
    const auto anchor = anchors_.find(std::to_string(resource) + "#" + fragment);
    if (anchor == anchors_.end())
        throw SchemaError(pointer(schema), keyword, "there is no schema with the anchor '" + elided(fragment) + "'");
    return anchor->second;
}

JsonNode SchemaResources::by_pointer(JsonNode from, std::string_view pointer, const std::string& reference, JsonNode schema,
                                     const std::string& keyword) {
    JsonNode node = from;
    while (!pointer.empty()) {
        pointer.remove_prefix(1);
        const std::size_t end = std::min(pointer.find('/'), pointer.size());
        std::string step;
        for (std::size_t i = 0; i < end; ++i) {
            if (pointer[i] == '~' && i + 1 < end && (pointer[i + 1] == '0' || pointer[i + 1] == '1'))
                step.push_back(pointer[++i] == '0' ? '~' : '/');
            else
                step.push_back(pointer[i]);
        }
        pointer.remove_prefix(end);
        JsonNode next = JsonDocument::kNone;
        if (document_.is(node, JsonKind::object)) {
            next = document_.member(node, step);
        } else if (document_.is(node, JsonKind::array)) {
            const bool is_index = !step.empty() && step.size() < 10 && step.find_first_not_of("0123456789") == std::string::npos;
            const auto items = document_.items(node);
            if (is_index && std::stoul(step) < items.size()) next = items[std::stoul(step)];
        }
        if (next == JsonDocument::kNone)
            throw SchemaError(this->pointer(schema), keyword,
                              "'" + elided(reference, 120) + "' refers to nothing: there is no '" + elided(step, 60) + "'");
        if (resource_of(next) != resource_of(node) && !resource_of_.contains(next)) resource_of_.emplace(next, resource_of(node));
        node = next;
    }
    return node;
}

JsonNode SchemaResources::dynamic_anchor(JsonNode schema, std::string_view name) const {
    const auto found = dynamic_anchors_.find(std::to_string(resource_of(schema)) + "#" + std::string(name));
    return found == dynamic_anchors_.end() ? JsonDocument::kNone : found->second;
}

std::vector<std::pair<std::string, JsonNode>> SchemaResources::dynamic_anchors(std::size_t resource) const {
    std::vector<std::pair<std::string, JsonNode>> out;
    const std::string prefix = std::to_string(resource) + "#";
    for (const auto& [name, node] : dynamic_anchors_)
        if (name.starts_with(prefix)) out.emplace_back(name.substr(prefix.size()), node);
    std::sort(out.begin(), out.end());
    return out;
}

std::string SchemaResources::pointer(JsonNode schema) const {
    if (parents_.size() < static_cast<std::size_t>(document_.size())) {
        parents_.assign(static_cast<std::size_t>(document_.size()), {});
        for (JsonNode node = 0; node < document_.size(); ++node) {
            if (document_.is(node, JsonKind::object)) {
                for (const auto& [name, value] : document_.members(node))
                    parents_[static_cast<std::size_t>(value)] = {node, name, -1};
            } else if (document_.is(node, JsonKind::array)) {
                const auto items = document_.items(node);
                for (std::size_t i = 0; i < items.size(); ++i)
                    parents_[static_cast<std::size_t>(items[i])] = {node, -1, static_cast<Word>(i)};
            }
        }
    }
    std::vector<std::string> steps;
    JsonNode node = schema;
    for (; parents_[static_cast<std::size_t>(node)].node != JsonDocument::kNone;
         node = parents_[static_cast<std::size_t>(node)].node) {
        const Parent& parent = parents_[static_cast<std::size_t>(node)];
        if (parent.index >= 0) {
            steps.push_back("/" + std::to_string(parent.index));
            continue;
        }
        steps.push_back(pointer_step(document_.texts()[parent.name]));
    }
    std::string out = node == resources_.front().root ? "#" : resources_[resource_of(node)].uri + "#";
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) out += *step;
    return out;
}

}  // namespace psc
