// What of a value the schemas evaluate: unevaluatedProperties, unevaluatedItems, and closed objects.
//
// A schema that applies others to the same value evaluates what they evaluate, if they are true of it. So whether a member is
// evaluated depends on the value. For listed members the predicate says so name by name, unless exactly one of the conditions is
// true; else it is a choice over which of these are true, each with its own rest.
//
// Example: `anyOf: [{properties: {a}}, {properties: {b}}], unevaluatedProperties: false`: a member a is allowed only where the
// first branch is true, b only where the second one is, and no other member is allowed.
//
// Cost: linear in listed members; exponential in the conditions that evaluate patterns of names, or items, and differ in that; more
// than kMaxConditions are an error.
// Source: JSON Schema core 2020-12, section 11.
// Tried and dropped: a condition for each branch of a oneOf. Closed objects of more than ten branches were refused; now which
// branch is true is one choice.
#include <algorithm>
#include <utility>

#include "base/limits.hpp"
#include "base/sorted.hpp"
#include "schema/reader.hpp"

namespace psc {

namespace {

using JsonKind = JsonDocument::Kind;

constexpr std::size_t kMaxConditions = limit("schema_unevaluated_conditions"), kMaxDeepness = limit("schema_unevaluated_depth"),
                      kMaxSchemasAboutOneValue = limit("schema_unevaluated");
constexpr std::size_t kManySchemas = 100;  // about one value: from here on those that evaluate nothing are left out

bool adds(const NameSet& to, const NameSet& more) {
    const NameSet both = union_of(to, more);
    return both.names.size() > to.names.size() || both.languages.size() > to.languages.size();
}

}  // namespace

// What a schema evaluates of a value of which a condition is true.
struct SchemaReader::Evaluated {
    Predicate condition;
    NameSet names;  // members of these names
    bool all_members = false, all_items = false;
    Word items = 0;                       // the first n items
    std::vector<Predicate> contains;      // and those of which one of these is true
    JsonNode node = JsonDocument::kNone;  // which schema
    Word scope = 0;
    bool declares = false;       // has a list of members, which may be empty
    bool tested = false;         // by an `if`, which closes nothing
    bool lists_objects = false;  // in const or enum

    void join(const Evaluated& other) {
        names = union_of(names, other.names);
        all_members |= other.all_members;
        all_items |= other.all_items;
        items = std::max(items, other.items);
        contains.insert(contains.end(), other.contains.begin(), other.contains.end());
    }
    // Whether it evaluates what the other one does not.
    bool adds_to(const Evaluated& other, bool members) const {
        return members ? !other.all_members && (all_members || adds(other.names, names))
                       : !other.all_items && (all_items || items > other.items || !contains.empty());
    }
};

// A schema that another one applies to the same value, if `when` is true of it.
struct SchemaReader::Applied {
    JsonNode node;
    Word scope;
    Predicate when;
    bool is_test;  // of an `if`
};

std::vector<SchemaReader::Applied> SchemaReader::applied(const Context& context) {
    std::vector<Applied> out;
    const auto apply = [&](JsonNode node, Word scope, Predicate when, bool is_test = false) {
        out.push_back({node, entered(scope, node), when, is_test});
    };
    const auto refer = [&](Keyword keyword) {
        const JsonNode reference = get(context, keyword);
        if (!document_.is(reference, JsonKind::string)) return false;
        const auto [target, scope] = target_of(context, keyword, reference);
        apply(target, scope, graph_.always());
        return true;
    };
    if (refer(Keyword::ref) && context.draft <= Draft::draft7) return out;  // its siblings say nothing
    if (context.draft >= Draft::draft2020) refer(Keyword::dynamic_ref);
    if (context.draft == Draft::draft2019) refer(Keyword::recursive_ref);
    for (Keyword keyword : {Keyword::all_of, Keyword::any_of, Keyword::one_of}) {
        const JsonNode value = get(context, keyword);
        if (!document_.is(value, JsonKind::array)) continue;
        const std::vector<JsonNode> all(document_.items(value).begin(), document_.items(value).end());
        for (JsonNode node : all)
            apply(node, context.scope, keyword == Keyword::all_of ? graph_.always() : in_place(context, node));
    }
    if (const JsonNode test = get(context, Keyword::if_); test != JsonDocument::kNone && context.draft >= Draft::draft7) {
        const Predicate holds = apart(context, test);
        apply(test, context.scope, holds, true);
        if (const JsonNode node = get(context, Keyword::then); node != JsonDocument::kNone) apply(node, context.scope, holds);
        if (const JsonNode node = get(context, Keyword::else_); node != JsonDocument::kNone)
            apply(node, context.scope, graph_.negation(holds));
    }
    if (const JsonNode value = get(context, Keyword::dependent_schemas); document_.is(value, JsonKind::object)) {
        const std::vector<JsonDocument::Member> all(document_.members(value).begin(), document_.members(value).end());
        for (const auto& [name, node] : all) apply(node, context.scope, graph_.some_member(one_name(name), graph_.always()));
    }
    return out;
}

// What the schema evaluates itself.
SchemaReader::Evaluated SchemaReader::own(const Context& context, bool is_root) {
    Evaluated own{graph_.always(), {}, false, false, 0, {}, context.node, context.scope};
    if (context.draft <= Draft::draft7 && document_.is(get(context, Keyword::ref), JsonKind::string)) return own;
    const auto names_in = [&](Keyword keyword) -> std::vector<JsonDocument::Member> {
        const JsonNode value = get(context, keyword);
        if (!document_.is(value, JsonKind::object)) return {};
        return {document_.members(value).begin(), document_.members(value).end()};
    };
    for (const auto& [name, value] : names_in(Keyword::properties)) own.names.names.push_back(name);
    for (const auto& [name, value] : names_in(Keyword::pattern_properties))
        own.names.languages.push_back(pattern(context, Keyword::pattern_properties, document_.texts()[name]));
    sort_unique(own.names.names);
    sort_unique(own.names.languages);
    own.declares = document_.is(get(context, Keyword::properties), JsonKind::object) ||
                   document_.is(get(context, Keyword::pattern_properties), JsonKind::object);
    own.all_members = get(context, Keyword::additional_properties) != JsonDocument::kNone ||
                      (!is_root && get(context, Keyword::unevaluated_properties) != JsonDocument::kNone);
    const JsonNode items = get(context, Keyword::items), first = get(context, Keyword::prefix_items);
    const bool tuple = document_.is(items, JsonKind::array);
    if (tuple || document_.is(first, JsonKind::array)) own.items = static_cast<Word>(document_.items(tuple ? items : first).size());
    own.all_items = (items != JsonDocument::kNone && !tuple) ||
                    (tuple && get(context, Keyword::additional_items) != JsonDocument::kNone) ||
                    (!is_root && get(context, Keyword::unevaluated_items) != JsonDocument::kNone);
    if (const JsonNode value = get(context, Keyword::contains); value != JsonDocument::kNone && context.draft >= Draft::draft2020)
        own.contains.push_back(apart(context, value));
    const auto is_object = [&](JsonNode value) { return document_.is(value, JsonKind::object); };
    const JsonNode listed = get(context, Keyword::enumeration);
    own.lists_objects = (context.draft >= Draft::draft6 && is_object(get(context, Keyword::constant))) ||
                        (document_.is(listed, JsonKind::array) && std::ranges::any_of(document_.items(listed), is_object));
    return own;
}

// Whether the schema, or one that it applies to the same value, evaluates anything.
bool SchemaReader::evaluates(JsonNode node, Word scope) {
    if (const auto cached = evaluates_.find({node, scope}); cached != evaluates_.end()) return cached->second;
    std::set<std::pair<JsonNode, Word>> seen;
    std::vector<std::pair<JsonNode, Word>> todo{{node, scope}};
    bool found = false;
    while (!todo.empty() && !found) {
        const auto at = todo.back();
        todo.pop_back();
        const auto cached = evaluates_.find(at);
        if (cached != evaluates_.end()) found = cached->second;
        if (cached != evaluates_.end() || !document_.is(at.first, JsonKind::object) || !seen.insert(at).second) continue;
        const Context context{at.first, at.second, Mode::open, resources_.draft(at.first), {}};
        const Evaluated own = this->own(context, false);
        found = own.declares || own.all_members || own.items > 0 || own.all_items || !own.contains.empty() || own.lists_objects;
        for (const Applied& a : applied(context)) todo.emplace_back(a.node, a.scope);
    }
    if (!found)
        for (const auto& at : seen) evaluates_[at] = false;
    return evaluates_[{node, scope}] = found;
}

// Adds what the schema evaluates where `condition` is true, and what the schemas that it applies evaluate.
void SchemaReader::evaluate(const Context& context, Predicate condition, std::vector<Evaluated>& out, std::size_t depth,
                            bool tested) {
    if (!document_.is(context.node, JsonKind::object)) return;
    if (depth > kMaxDeepness)
        exceed(context, Keyword::ref, "schemas about one value refer to each other more than " + readable(kMaxDeepness) + " deep");
    // A schema that several paths reach evaluates the same each time.
    const auto is_this = [&](const Evaluated& e) {
        return e.node == context.node && e.scope == context.scope && e.condition == condition && (tested || !e.tested);
    };
    if (depth > 0 && std::any_of(out.begin(), out.end(), is_this)) return;
    if (out.size() >= kMaxSchemasAboutOneValue)
        exceed(context, Keyword::unknown,
               "more than " + readable(kMaxSchemasAboutOneValue) + " schemas are about one value, the limit");
    Evaluated own = this->own(context, depth == 0);
    own.condition = condition;
    own.tested = tested;
    out.push_back(std::move(own));
    for (const Applied& a : applied(context)) {
        if (out.size() > kManySchemas && !evaluates(a.node, a.scope)) continue;
        const Context there{a.node, a.scope, context.mode, resources_.draft(a.node), {}};
        evaluate(there, graph_.both(condition, a.when), out, depth + 1, tested || a.is_test);
    }
}

// Members that nothing evaluates satisfy `rest`, name by name: the member of a name does, or a schema that names it is true. Names
// with the same schemas are one choice, whose options exclude each other. Linear in names.
Predicate SchemaReader::by_name(NameSet always, const std::vector<Evaluated>& conditional, Predicate rest) {
    const auto is_always = [&](Word name) {
        const auto has = [&](Language language) { return accepts(languages_[language], code_points(texts()[name])); };
        return std::binary_search(always.names.begin(), always.names.end(), name) ||
               std::any_of(always.languages.begin(), always.languages.end(), has);
    };
    std::map<Word, std::vector<Predicate>> evaluated;  // if one of these is true
    for (const Evaluated& e : conditional)
        for (Word name : e.names.names)
            if (!is_always(name)) evaluated[name].push_back(e.condition);
    std::map<std::vector<Predicate>, std::vector<Word>> together;
    for (const auto& [name, conditions] : evaluated) together[conditions].push_back(name);
    std::vector<Predicate> parts;
    for (const auto& [conditions, names] : together) {
        std::vector<Predicate> options = conditions, unnamed;
        for (Predicate condition : conditions) unnamed.push_back(graph_.negation(condition));
        for (Word name : names) unnamed.push_back(graph_.every_member(one_name(name), rest));
        options.push_back(graph_.if_of(json_types::object, graph_.both(unnamed)));
        parts.push_back(graph_.either(options));
        always = union_of(always, {false, names, {}});
    }
    parts.push_back(graph_.if_of(json_types::object, graph_.every_member(complement(always), rest)));
    return graph_.both(parts);
}

// What is evaluated always, and under which conditions what else is.
struct SchemaReader::Unevaluated {
    PredicateGraph& graph;
    const Predicate rest;  // what nothing evaluates satisfies it
    const bool members;    // of objects; else items of arrays
    Evaluated always{graph.always(), {}, false, false, 0, {}};
    std::vector<Evaluated> conditional{};  // each condition once
    std::vector<Evaluated> exclusive{};    // those of them that are branches of a oneOf, of which exactly one is true
    bool one_adds = false;                 // all branches are, so one of these is true

    void sort_out(const std::vector<Evaluated>& all) {
        for (const Evaluated& e : all)
            if (e.condition == graph.always()) always.join(e);
        for (const Evaluated& e : all) {
            if (e.condition == graph.always() || !e.adds_to(always, members)) continue;
            const auto same = std::find_if(conditional.begin(), conditional.end(),
                                           [&](const Evaluated& other) { return other.condition == e.condition; });
            if (same == conditional.end())
                conditional.push_back(e);
            else
                same->join(e);
        }
    }

    // Which branch is true is one choice, not a condition for each.
    void take_branches(const std::vector<Predicate>& branches) {
        const auto first = first_branch(branches);
        exclusive.assign(first, conditional.end());
        conditional.erase(first, conditional.end());
        one_adds = !exclusive.empty() && exclusive.size() == branches.size();
    }
    std::vector<Evaluated>::iterator first_branch(const std::vector<Predicate>& branches) {
        const auto is_branch = [&](const Evaluated& e) { return std::count(branches.begin(), branches.end(), e.condition) == 1; };
        return std::stable_partition(conditional.begin(), conditional.end(), [&](const Evaluated& e) { return !is_branch(e); });
    }

    // Schemas that list their values are one condition: which of them is true makes no difference.
    void join_lists() {
        const auto lists =
            std::stable_partition(conditional.begin(), conditional.end(), [](const Evaluated& e) { return !e.lists_objects; });
        if (conditional.end() - lists < 2) return;
        std::vector<Predicate> any;
        for (auto e = lists; e != conditional.end(); ++e) any.push_back(e->condition);
        lists->condition = graph.either(any);
        conditional.erase(lists + 1, conditional.end());
    }

    // A choice over which of the conditions are true.
    Predicate by_choice() const {
        std::vector<Predicate> options;
        const auto choices = std::size_t{1} << conditional.size();
        for (std::size_t choice = 0; choice < choices * (exclusive.size() + 1); ++choice) {
            const std::size_t branch = choice / choices;
            if (branch == exclusive.size() && one_adds) break;
            options.push_back(option(branch, choice));
        }
        return graph.either(options);
    }
    // `branch` is true, or none where that is their number; `holds` has a bit for each of the other conditions.
    Predicate option(std::size_t branch, std::size_t holds) const {
        Evaluated evaluated = always;
        std::vector<Predicate> parts;
        if (branch < exclusive.size()) {
            parts.push_back(exclusive[branch].condition);
            evaluated.join(exclusive[branch]);
        } else {
            for (const Evaluated& e : exclusive) parts.push_back(graph.negation(e.condition));
        }
        for (std::size_t i = 0; i < conditional.size(); ++i) {
            parts.push_back(holds >> i & 1 ? conditional[i].condition : graph.negation(conditional[i].condition));
            if (holds >> i & 1) evaluated.join(conditional[i]);
        }
        if (members && !evaluated.all_members)
            parts.push_back(graph.if_of(json_types::object, graph.every_member(complement(evaluated.names), rest)));
        if (!members && !evaluated.all_items) {
            evaluated.contains.push_back(rest);
            parts.push_back(graph.if_of(
                json_types::array, graph.every_item(evaluated.items, PredicateGraph::kOpen, graph.either(evaluated.contains))));
        }
        return graph.both(parts);
    }
};

// What nothing evaluates satisfies `rest`. A closed schema that declares no members says nothing.
Predicate SchemaReader::unevaluated(const Context& context, Predicate rest, bool members, Keyword keyword) {
    std::vector<Evaluated> all;
    evaluate(context, graph_.always(), all, 0);
    const bool closing = keyword == Keyword::unknown;
    if (closing) {
        const auto declares = [](const Evaluated& e) { return !e.tested && e.declares; };
        if (std::none_of(all.begin(), all.end(), declares)) return graph_.always();
        NameSet required;  // names that are only required count as declared
        if (const JsonNode value = get(context, Keyword::required); document_.is(value, JsonKind::array))
            for (JsonNode name : document_.items(value))
                if (document_.is(name, JsonKind::string)) required.names.push_back(document_.text_number(name));
        sort_unique(required.names);
        all.push_back({graph_.always(), std::move(required), false, false, 0, {}});
        if (document_.member(context.node, number_of(Keyword::unevaluated_properties)) != JsonDocument::kNone)
            return graph_.always();
        for (Evaluated& e : all) e.all_members |= e.lists_objects;  // an object in const or enum has exactly its members
    }
    Unevaluated found{graph_, rest, members};
    found.sort_out(all);
    std::vector<Predicate> branches;
    if (const JsonNode value = get(context, Keyword::one_of); document_.is(value, JsonKind::array)) {
        const std::vector<JsonNode> nodes(document_.items(value).begin(), document_.items(value).end());
        for (JsonNode node : nodes) branches.push_back(in_place(context, node));
    }
    const bool by_names = members && std::none_of(found.conditional.begin(), found.conditional.end(),
                                                  [](const Evaluated& e) { return !e.names.languages.empty(); });
    if (by_names && found.first_branch(branches) != found.conditional.begin()) {
        std::vector<Predicate> options, others;
        for (const Evaluated& e : found.conditional) {
            if (!e.all_members) continue;
            options.push_back(e.condition);
            others.push_back(graph_.negation(e.condition));
        }
        others.push_back(by_name(found.always.names, found.conditional, rest));
        options.push_back(graph_.both(others));
        return graph_.either(options);
    }
    found.take_branches(branches);
    if (closing) found.join_lists();
    if (found.conditional.size() > kMaxConditions)
        exceed(context, keyword,
               "what is looked at depends on more than " + std::to_string(kMaxConditions) + " conditions, the limit");
    return found.by_choice();
}

}  // namespace psc
