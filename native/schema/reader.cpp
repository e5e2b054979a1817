#include "schema/reader.hpp"

#include <algorithm>
#include <utility>

#include "base/cancellation.hpp"
#include "base/elided.hpp"
#include "base/limits.hpp"
#include "base/sorted.hpp"
#include "patterns/ecma_pattern.hpp"
#include "schema/overlaps.hpp"

namespace psc {

namespace {

using JsonKind = JsonDocument::Kind;

constexpr std::size_t kMaxListed = limit("schema_rules");  // each array and object needs a rule
constexpr std::size_t kMaxTextArcs = limit("automaton_arcs");
constexpr std::size_t kMaxLiteralDepth = limit("schema_literal_depth");
constexpr std::size_t kManyBranches = 400;  // of a oneOf

// What a name that is no type's may stand for.
std::string meant_type(std::string_view name) {
    static constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
        {"int", "integer"},   {"bool", "boolean"},  {"str", "string"},      {"text", "string"},    {"float", "number"},
        {"double", "number"}, {"list", "array"},    {"tuple", "array"},     {"dict", "object"},    {"map", "object"},
        {"none", "null"},     {"nil", "null"},      {"array", "array"},     {"null", "null"},      {"number", "number"},
        {"object", "object"}, {"string", "string"}, {"integer", "integer"}, {"boolean", "boolean"}};
    if (name == "structural_tag") return "; a structural tag is compiled by compile_structural_tag, and no schema";
    std::string small;
    for (char c : name) small.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
    for (const auto& [other, type] : kOthers)
        if (small == other || (other == type && small == std::string(type) + "s"))
            return "; did you mean '" + std::string(type) + "'?";
    return "";
}

}  // namespace

SchemaReader::SchemaReader(JsonDocument& document, SchemaResources& resources, LanguageTable& languages, PredicateGraph& graph,
                           SchemaOptions options, std::function<Strings(Predicate)> names_of)
    : document_(document),
      resources_(resources),
      languages_(languages),
      graph_(graph),
      options_(options),
      names_of_(std::move(names_of)) {}

Predicate SchemaReader::root(JsonNode schema) { return this->schema(schema, 0, options_.strict ? Mode::value : Mode::open); }

Predicate SchemaReader::schema(JsonNode node, Word scope, Mode mode) {
    if (document_.is(node, JsonKind::boolean)) return document_.truth(node) ? graph_.always() : graph_.never();
    if (document_.is(node, JsonKind::object) && document_.members(node).empty()) return graph_.always();
    scope = entered(scope, node);
    const auto [entry, fresh] = numbers_.try_emplace({node, scope, mode}, static_cast<Word>(schemas_.size()));
    if (fresh) schemas_.push_back({node, scope, mode});
    return graph_.schema(entry->second, true);
}

Predicate SchemaReader::meaning(Word number) {
    const Schema schema = schemas_[static_cast<std::size_t>(number)];
    if (schema.meaning.v >= 0) return schema.meaning;
    stop_if_cancelled();
    const Predicate meaning = [&] {
        try {
            return read(schema);
        } catch (const LimitExceeded& e) {
            throw located(e, resources_.pointer(schema.node), keyword_for(e, graph_.schema(number, true)));
        }
    }();
    return schemas_[static_cast<std::size_t>(number)].meaning = meaning;
}

// Of several the one with the most parts.
std::string SchemaReader::keyword_for(const LimitExceeded& limit, Predicate schemas) const {
    static constexpr Keyword kChoices[] = {Keyword::one_of, Keyword::any_of, Keyword::enumeration,
                                           Keyword::all_of, Keyword::not_,   Keyword::if_},
                             kTexts[] = {Keyword::pattern, Keyword::enumeration, Keyword::constant, Keyword::format};
    const bool of_choices = dynamic_cast<const TooManyChoices*>(&limit), of_texts = dynamic_cast<const TooLargeTerminal*>(&limit);
    const auto keywords = of_choices ? std::span<const Keyword>(kChoices) : of_texts ? kTexts : std::span<const Keyword>();
    Keyword most = Keyword::unknown;
    std::size_t n_parts = 0;
    const std::vector<Predicate> one{schemas};
    for (Predicate p : graph_.kind(schemas) == PredicateGraph::Kind::both ? graph_.parts(schemas) : std::span(one)) {
        if (graph_.kind(p) != PredicateGraph::Kind::schema) continue;
        for (Keyword keyword : keywords) {
            const JsonNode value = document_.member(node_of(graph_.schema_of(p)), number_of(keyword));
            if (value == JsonDocument::kNone) continue;
            const std::size_t n = document_.is(value, JsonKind::array) ? document_.items(value).size() : 1;
            if (n > n_parts) most = keyword;
            n_parts = std::max(n_parts, n);
        }
    }
    return most == Keyword::unknown ? "" : std::string(text_of(most));
}

// The scope inside another resource: its dynamic anchors are added, and outer ones of the same name win.
Word SchemaReader::entered(Word scope, JsonNode node) {
    if (!resources_.has_dynamic_anchors()) return scope;
    auto bound = scopes_[static_cast<std::size_t>(scope)];
    for (const auto& [name, target] : resources_.dynamic_anchors(resources_.resource_of(node))) bound.emplace(name, target);
    const auto [entry, fresh] = scope_numbers_.try_emplace(bound, static_cast<Word>(scopes_.size()));
    if (fresh) scopes_.push_back(std::move(bound));
    return entry->second;
}

Predicate SchemaReader::read(const Schema& schema) {
    Context context{schema.node, schema.scope, schema.mode, resources_.draft(schema.node), {}};
    if (!document_.is(schema.node, JsonKind::object)) fail(context, Keyword::unknown, "a schema must be an object or a boolean");
    const JsonNode reference = get(context, Keyword::ref);
    if (context.draft <= Draft::draft7 && document_.is(reference, JsonKind::string)) {
        context.parts.push_back(referred(context, Keyword::ref, reference));  // its siblings say nothing
    } else {
        const std::vector<JsonDocument::Member> members(document_.members(schema.node).begin(),
                                                        document_.members(schema.node).end());
        check_keywords(context);
        for (const auto& [name, value] : members)
            if (const Keyword keyword = keyword_of(name); keyword != Keyword::unknown) read_keyword(context, keyword, value);
        if (context.mode != Mode::name) {
            read_numbers(context);
            read_members(context);
            read_items(context);
        }
        read_condition(context);
    }
    if (context.mode == Mode::value) context.parts.push_back(unevaluated(context, graph_.never(), true, Keyword::unknown));
    return graph_.both(context.parts);
}

void SchemaReader::read_keyword(Context& context, Keyword keyword, JsonNode value) {
    const auto say = [&](Predicate p) { context.parts.push_back(p); };
    const auto all_of = [&](auto each) {
        std::vector<Predicate> parts;
        for (JsonNode node : schemas_in(context, keyword, value)) parts.push_back(each(node));
        return parts;
    };
    switch (keyword) {
        case Keyword::type:
            return say(types(context, value));
        case Keyword::enumeration: {
            if (!document_.is(value, JsonKind::array)) fail(context, keyword, "must be an array");
            return say(enumeration(document_.items(value)));
        }
        case Keyword::constant:
            return context.draft >= Draft::draft6 ? say(literal(value)) : void();
        case Keyword::ref:
        case Keyword::dynamic_ref:
        case Keyword::recursive_ref:
            if ((keyword == Keyword::dynamic_ref && context.draft < Draft::draft2020) ||
                (keyword == Keyword::recursive_ref && context.draft != Draft::draft2019))
                return;
            return say(referred(context, keyword, value));
        case Keyword::all_of:
            return say(graph_.both(all_of([&](JsonNode node) { return in_place(context, node); })));
        case Keyword::any_of:
            return say(graph_.either(all_of([&](JsonNode node) { return in_place(context, node); })));
        case Keyword::one_of: {
            const auto branches = all_of([&](JsonNode node) { return in_place(context, node); });
            if (branches.size() <= kManyBranches) return say(exactly_one(branches));
            const JsonNode type = get(context, Keyword::type);
            const bool objects = document_.is(type, JsonKind::string) && document_.text(type) == "object";
            const auto together = overlaps(document_, resources_, schemas_in(context, keyword, value), objects);
            return say(together ? one_but_none_of(branches, *together) : exactly_one(branches));
        }
        case Keyword::not_:
            return say(graph_.negation(apart(context, value)));
        case Keyword::min_length:
        case Keyword::max_length:
        case Keyword::pattern:
        case Keyword::format:
            return read_texts(context, keyword, value);
        case Keyword::unique_items:
            if (document_.truth(value) && context.mode != Mode::name) read_unique(context);
            return;
        case Keyword::dependencies:
        case Keyword::dependent_required:
        case Keyword::dependent_schemas:
            if (context.mode != Mode::name && (keyword == Keyword::dependencies || context.draft >= Draft::draft2019))
                read_dependencies(context, keyword, value);
            return;
        default:
            return;
    }
}

Predicate SchemaReader::types(const Context& context, JsonNode value) {
    const auto one = [&](JsonNode name) {
        if (!document_.is(name, JsonKind::string)) fail(context, Keyword::type, "must be the name of a type, or an array of them");
        const std::string_view text = document_.text(name);
        if (text == "null") return graph_.types(json_types::null);
        if (text == "boolean") return graph_.types(json_types::boolean);
        if (text == "number") return graph_.types(json_types::number);
        if (text == "string") return graph_.types(json_types::string);
        if (text == "array") return graph_.types(json_types::array);
        if (text == "object") return graph_.types(json_types::object);
        static const auto &whole = *new TextAutomaton(integers()), &digits = *new TextAutomaton(integers_without_fraction());
        if (text == "integer") return graph_.numbers(languages_.number(context.draft == Draft::draft4 ? digits : whole));
        fail(context, Keyword::type, "there is no type '" + elided(text, 60) + "'" + meant_type(text));
    };
    if (!document_.is(value, JsonKind::array)) return one(value);
    std::vector<Predicate> options;
    for (JsonNode name : document_.items(value)) options.push_back(one(name));
    return graph_.either(options);
}

// Very many are halved: one of the first half and none of the second, or none and one; so not every pair is written out. Of fewer,
// each is a case that decides the others at once.
Predicate SchemaReader::exactly_one(std::span<const Predicate> schemas) {
    if (schemas.size() > kManyBranches) {
        const auto first = schemas.first(schemas.size() / 2), second = schemas.subspan(schemas.size() / 2);
        const auto none_of = [&](std::span<const Predicate> some) {
            std::vector<Predicate> parts(some.begin(), some.end());
            for (Predicate& p : parts) p = graph_.negation(p);
            return graph_.both(parts);
        };
        return graph_.either(graph_.both(exactly_one(first), none_of(second)), graph_.both(none_of(first), exactly_one(second)));
    }
    std::vector<std::vector<std::size_t>> all(schemas.size());
    for (std::size_t i = 0; i < schemas.size(); ++i)
        for (std::size_t j = 0; j < schemas.size(); ++j)
            if (j != i) all[i].push_back(j);
    return one_but_none_of(schemas, all);
}

// One of these schemas, and none of those that are listed for it.
Predicate SchemaReader::one_but_none_of(std::span<const Predicate> schemas, const std::vector<std::vector<std::size_t>>& others) {
    std::vector<Predicate> options;
    for (std::size_t i = 0; i < schemas.size(); ++i) {
        stop_if_cancelled();
        std::vector<Predicate> parts{schemas[i]};
        for (std::size_t j : others[i]) parts.push_back(graph_.negation(schemas[j]));
        options.push_back(graph_.both(parts));
    }
    return graph_.either(options);
}

void SchemaReader::read_condition(Context& context) {
    const JsonNode condition = get(context, Keyword::if_);
    if (condition == JsonDocument::kNone || context.draft < Draft::draft7) return;
    const JsonNode then = get(context, Keyword::then), otherwise = get(context, Keyword::else_);
    const Predicate holds = apart(context, condition);
    if (then != JsonDocument::kNone) context.parts.push_back(graph_.either(graph_.negation(holds), in_place(context, then)));
    if (otherwise != JsonDocument::kNone) context.parts.push_back(graph_.either(holds, in_place(context, otherwise)));
}

Predicate SchemaReader::referred(const Context& context, Keyword keyword, JsonNode value) {
    if (!document_.is(value, JsonKind::string)) fail(context, keyword, "must be a string");
    const auto [target, scope] = target_of(context, keyword, value);
    return schema(target, scope, in_place(context.mode));
}

std::pair<JsonNode, Word> SchemaReader::target_of(const Context& context, Keyword keyword, JsonNode value) {
    const std::string_view reference = document_.text(value);
    const std::string text(text_of(keyword));
    JsonNode target = resources_.resolve(context.node, reference, text);
    const auto& bound = scopes_[static_cast<std::size_t>(context.scope)];
    if (keyword == Keyword::dynamic_ref) {
        const std::size_t hash = reference.find('#');
        const std::string name(hash == std::string_view::npos ? "" : reference.substr(hash + 1));
        if (!name.empty() && name[0] != '/' && resources_.dynamic_anchor(target, name) == target)
            if (const auto outermost = bound.find(name); outermost != bound.end()) target = outermost->second;
    } else if (keyword == Keyword::recursive_ref) {
        if (resources_.dynamic_anchor(target, "") == target)
            if (const auto outermost = bound.find(""); outermost != bound.end()) target = outermost->second;
    }
    return {target, context.scope};
}

void SchemaReader::read_dependencies(Context& context, Keyword keyword, JsonNode value) {
    if (!document_.is(value, JsonKind::object)) fail(context, keyword, "must be an object");
    const std::vector<JsonDocument::Member> members(document_.members(value).begin(), document_.members(value).end());
    for (const auto& [name, needed] : members) {
        const Predicate absent = graph_.negation(graph_.some_member(one_name(name), graph_.always()));
        std::vector<Predicate> parts;
        if (document_.is(needed, JsonKind::array) && keyword != Keyword::dependent_schemas) {
            for (JsonNode other : document_.items(needed)) {
                if (!document_.is(other, JsonKind::string)) fail(context, keyword, "names must be strings");
                parts.push_back(graph_.some_member(one_name(document_.text_number(other)), graph_.always()));
            }
        } else {
            parts.push_back(in_place(context, needed));
        }
        context.parts.push_back(graph_.either(absent, graph_.both(parts)));
    }
}

// Equality with a value, whatever its spelling.
Predicate SchemaReader::literal(JsonNode value, std::size_t depth) {
    if (depth > kMaxLiteralDepth)
        throw LimitExceeded("a value of enum or const is nested deeper than " + readable(kMaxLiteralDepth) + ", the limit");
    switch (document_.kind(value)) {
        case JsonKind::null:
            return graph_.types(json_types::null);
        case JsonKind::boolean:
            return graph_.types(document_.truth(value) ? json_types::truth : json_types::falsehood);
        case JsonKind::number:
            return graph_.numbers(languages_.number(equal_to(parse_decimal(document_.number(value)))));
        case JsonKind::string:
            check_size(value);
            return graph_.texts(languages_.number(of_texts({code_points(document_.text(value))})));
        case JsonKind::array: {
            std::vector<Predicate> parts;
            const std::vector<JsonNode> items(document_.items(value).begin(), document_.items(value).end());
            const auto n = static_cast<Word>(items.size());
            parts.push_back(graph_.array_length(n, n));
            for (Word i = 0; i < n; ++i)
                parts.push_back(graph_.every_item(i, i + 1, literal(items[static_cast<std::size_t>(i)], depth + 1)));
            return graph_.both(parts);
        }
        case JsonKind::object:
            break;
    }
    std::vector<Predicate> parts;
    NameSet others{true, {}, {}};
    const std::vector<JsonDocument::Member> members(document_.members(value).begin(), document_.members(value).end());
    for (const auto& [name, inner] : members) {
        parts.push_back(graph_.some_member(one_name(name), literal(inner, depth + 1)));
        others.names.push_back(name);
    }
    parts.push_back(graph_.order(others.names));
    std::sort(others.names.begin(), others.names.end());
    parts.push_back(graph_.every_member(others, graph_.never()));
    return graph_.both(parts);
}

// Of one terminal, as a string of enum or const is.
void SchemaReader::check_size(JsonNode text) const {
    const std::string_view utf8 = document_.text(text);
    if (utf8.size() <= kMaxTextArcs) return;
    const auto n = std::ranges::count_if(utf8, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
    if (n > static_cast<std::ptrdiff_t>(kMaxTextArcs))
        throw LimitExceeded("a string of enum or const has more than " + readable(kMaxTextArcs) + " characters, the limit");
}

// Strings, and numbers, which are often many, as one language each.
Predicate SchemaReader::enumeration(std::span<const JsonNode> values) {
    std::vector<Predicate> options;
    std::vector<std::u32string> texts;
    std::vector<Decimal> numbers;
    const std::vector<JsonNode> all(values.begin(), values.end());
    for (JsonNode value : all) {
        stop_if_cancelled();
        if (document_.is(value, JsonKind::string)) {
            check_size(value);
            texts.push_back(code_points(document_.text(value)));
        } else if (document_.is(value, JsonKind::number)) {
            numbers.push_back(parse_decimal(document_.number(value)));
        } else {
            options.push_back(literal(value));
            if (options.size() > kMaxListed)
                throw LimitExceeded("enum lists more than " + readable(kMaxListed) + " arrays, objects and words, the limit");
        }
    }
    // The last text's states are not shared yet, which are as many as the arcs at most.
    constexpr std::size_t kMaxStates = 2 * kMaxTextArcs;
    try {
        if (!numbers.empty()) options.push_back(graph_.numbers(languages_.number(equal_to_any(numbers, kMaxStates))));
        if (!texts.empty()) options.push_back(graph_.texts(languages_.number(of_texts(std::move(texts), kMaxStates))));
    } catch (const LimitExceeded&) {
        throw LimitExceeded("enum lists texts or numbers that need more than " + readable(kMaxTextArcs) +
                            " arcs, the limit of one terminal; list fewer or shorter ones, or write a pattern");
    }
    return graph_.either(options);
}

Predicate SchemaReader::unenforced(const Context& context, Keyword keyword, const std::string& why) {
    if (!options_.lenient) fail(context, keyword, why + "; lenient=True leaves it out");
    warn(context, keyword, "left out: " + why);
    return graph_.unknown();
}

void SchemaReader::warn(const Context& context, Keyword keyword, const std::string& what) {
    std::string text = elided(resources_.pointer(context.node)) + ", " + std::string(text_of(keyword)) + ": " + what;
    if (std::find(warnings_.begin(), warnings_.end(), text) == warnings_.end()) warnings_.push_back(std::move(text));
}

void SchemaReader::fail(const Context& context, Keyword keyword, const std::string& why) const {
    const std::string name = keyword == Keyword::unknown ? "" : std::string(text_of(keyword));
    throw SchemaError(resources_.pointer(context.node), name, why.starts_with("must be ") ? name + " " + why : why);
}

void SchemaReader::exceed(const Context& context, Keyword keyword, const std::string& limit) const {
    throw located(LimitExceeded(limit), resources_.pointer(context.node),
                  std::string(keyword == Keyword::unknown ? "" : text_of(keyword)));
}

JsonNode SchemaReader::get(const Context& context, Keyword keyword) const {
    return document_.member(context.node, number_of(keyword));
}

std::vector<JsonNode> SchemaReader::schemas_in(const Context& context, Keyword keyword, JsonNode value) const {
    if (!document_.is(value, JsonKind::array) || document_.items(value).empty())
        fail(context, keyword, "must be an array of schemas, not an empty one");
    return {document_.items(value).begin(), document_.items(value).end()};
}

// A number of characters, items or members.
Word SchemaReader::count(const Context& context, Keyword keyword, JsonNode value) const {
    if (!document_.is(value, JsonKind::number)) fail(context, keyword, "must be an integer");
    std::string_view text = document_.number(value);
    if (const std::size_t point = text.find('.');
        point != std::string_view::npos && text.find_first_not_of('0', point + 1) == std::string_view::npos)
        text = text.substr(0, point);
    if (text.find_first_not_of("0123456789") != std::string_view::npos) fail(context, keyword, "must be a non-negative integer");
    if (text.size() > 9) return kMaxCount;
    return static_cast<Word>(std::stol(std::string(text)));
}

Language SchemaReader::pattern(const Context& context, Keyword keyword, std::string_view pattern) {
    const auto [entry, fresh] = patterns_.try_emplace(std::string(pattern));
    if (!fresh) return entry->second;
    try {
        return entry->second = languages_.number(pattern_automaton(code_points(pattern)));
    } catch (const LimitExceeded& e) {
        patterns_.erase(entry);
        throw located(e, resources_.pointer(context.node), std::string(text_of(keyword)));
    } catch (const PatternError& e) {
        patterns_.erase(entry);
        fail(context, keyword, std::string(e.what()));
    }
}

}  // namespace psc
