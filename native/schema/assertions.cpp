// Keywords that restrict values of one type: numbers, strings, members, items. See schema/reader.hpp.
//
// Cost: linear in the keywords; a number's or pattern's automaton is that of json/numbers.hpp or patterns/ecma_pattern.hpp.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>

#include "base/limits.hpp"
#include "base/sorted.hpp"
#include "json/string_formats.hpp"
#include "patterns/ecma_pattern.hpp"
#include "schema/reader.hpp"

namespace psc {

namespace {

using JsonKind = JsonDocument::Kind;

constexpr std::int64_t kMaxUnique = limit("schema_unique_values");  // values of which each may come once

constexpr const char* kItemsUntold =
    "psc can tell which items came already only where they are strings, numbers, booleans and null, or of an `enum` or constants, "
    "in "
    "JSON from which no text is excluded";

constexpr Word kManyCopies = 500;  // of a class that a pattern counts: they are a length beside `^.*$`

// A pattern `^.{m,n}$` of one class.
struct CountedClass {
    std::string of;
    Word least, most;
};

// The bytes of a class, or of an escape for one, that a pattern begins with; 0: there is none.
std::size_t length_of_class(std::string_view pattern) {
    if (pattern.starts_with('.')) return 1;
    if (pattern.size() > 1 && pattern[0] == '\\' && std::string_view("dDwWsS").find(pattern[1]) != std::string_view::npos) return 2;
    if (!pattern.starts_with('[')) return 0;
    for (std::size_t i = 1; i < pattern.size(); ++i) {
        if (pattern[i] == ']') return i + 1;
        if (pattern[i] == '\\') ++i;
    }
    return 0;
}

std::optional<CountedClass> counted_class(std::string_view pattern) {
    if (!pattern.starts_with('^')) return std::nullopt;
    pattern.remove_prefix(1);
    const std::size_t n = length_of_class(pattern);
    CountedClass out{std::string(pattern.substr(0, n)), 0, PredicateGraph::kOpen};
    pattern.remove_prefix(n);
    if (n == 0 || !pattern.starts_with('{') || !pattern.ends_with("}$")) return std::nullopt;
    pattern = pattern.substr(1, pattern.size() - 3);
    const auto number = [&](Word& to) {
        const auto [end, error] = std::from_chars(pattern.data(), pattern.data() + pattern.size(), to);
        if (error != std::errc() || pattern[0] == '-' || to >= 1'000'000'000) return false;
        pattern.remove_prefix(static_cast<std::size_t>(end - pattern.data()));
        return true;
    };
    if (!number(out.least)) return std::nullopt;
    if (pattern.empty()) {
        out.most = out.least;
    } else if (pattern != ",") {
        if (pattern[0] != ',') return std::nullopt;
        pattern.remove_prefix(1);
        if (!number(out.most) || !pattern.empty() || out.most < out.least) return std::nullopt;
    }
    return std::max(out.least, out.most) > kManyCopies ? std::optional(out) : std::nullopt;
}

}  // namespace

Decimal SchemaReader::decimal(const Context& context, Keyword keyword, JsonNode value) const {
    if (!document_.is(value, JsonKind::number)) fail(context, keyword, "must be a number");
    return parse_decimal(document_.number(value));
}

void SchemaReader::read_numbers(Context& context) {
    std::optional<Language> language;
    const auto within = [&](TextAutomaton automaton) {
        const Language number = languages_.number(std::move(automaton));
        language = language ? languages_.both(*language, number) : number;
    };
    const auto bound = [&](Keyword keyword, Keyword exclusive, auto make) {
        const JsonNode value = get(context, keyword), other = get(context, exclusive);
        const bool flag = document_.is(other, JsonKind::boolean) && document_.truth(other);  // draft 4
        if (value != JsonDocument::kNone) within(make(decimal(context, keyword, value), flag));
        if (other != JsonDocument::kNone && !document_.is(other, JsonKind::boolean))
            within(make(decimal(context, exclusive, other), true));
    };
    bound(Keyword::minimum, Keyword::exclusive_minimum, [](const Decimal& d, bool exclusive) { return at_least(d, exclusive); });
    bound(Keyword::maximum, Keyword::exclusive_maximum, [](const Decimal& d, bool exclusive) { return at_most(d, exclusive); });
    if (const JsonNode value = get(context, Keyword::multiple_of); value != JsonDocument::kNone) {
        const Decimal step = decimal(context, Keyword::multiple_of, value);
        if (step.is_zero() || step.negative) fail(context, Keyword::multiple_of, "must be greater than 0");
        try {
            within(multiples_of(step));
        } catch (const LimitExceeded& e) {
            context.parts.push_back(unenforced(context, Keyword::multiple_of, e.what()));
        }
    }
    if (language) context.parts.push_back(graph_.if_of(json_types::number, graph_.numbers(*language)));
}

void SchemaReader::read_texts(Context& context, Keyword keyword, JsonNode value) {
    const auto say = [&](Predicate p) { context.parts.push_back(graph_.if_of(json_types::string, p)); };
    if (keyword == Keyword::min_length) {
        const Word least = count(context, keyword, value);
        if (least == kMaxCount) fail(context, keyword, "no string is that long");
        return say(graph_.texts(LanguageTable::kAny, least));
    }
    if (keyword == Keyword::max_length) {
        const Word most = count(context, keyword, value);
        return say(graph_.texts(LanguageTable::kAny, 0, most == kMaxCount ? PredicateGraph::kOpen : most));
    }
    if (!document_.is(value, JsonKind::string)) fail(context, keyword, "must be a string");
    const auto matched = [&](Language language) {
        return graph_.texts(language, 0, PredicateGraph::kOpen, options_.marks_matched);
    };
    if (keyword == Keyword::pattern) {
        const std::string_view text = document_.text(value);
        const auto counted = counted_class(text);
        if (!counted) return say(matched(pattern(context, keyword, text)));
        return say(graph_.both(matched(pattern(context, keyword, "^" + counted->of + "*$")),
                               graph_.texts(LanguageTable::kAny, counted->least, counted->most)));
    }
    if (!options_.assert_format) return;
    const StringFormat* format = string_format(document_.text(value));
    if (!format) return;
    asserts_format_ = true;
    const Predicate texts = matched(languages_.number_of_constant(format->texts, format->spelled));
    if (format->exact && format->max_characters < 0) return say(texts);  // a length of 253 is some 16,000 states: not enforced
    warn(context, keyword, "not all that the format '" + std::string(document_.text(value)) + "' asks is enforced");
    say(graph_.both(texts, graph_.unknown()));
}

void SchemaReader::read_members(Context& context) {
    const auto say = [&](Predicate p) { context.parts.push_back(graph_.if_of(json_types::object, p)); };
    NameSet listed;
    const auto map = [&](Keyword keyword) -> std::vector<JsonDocument::Member> {
        const JsonNode value = get(context, keyword);
        if (value == JsonDocument::kNone) return {};
        return {document_.members(value).begin(), document_.members(value).end()};
    };
    for (const auto& [name, value] : map(Keyword::properties)) {
        listed.names.push_back(name);
        say(graph_.every_member(one_name(name), child(context, value)));
    }
    if (!listed.names.empty()) context.parts.push_back(graph_.order(listed.names));
    sort_unique(listed.names);
    for (const auto& [name, value] : map(Keyword::pattern_properties)) {
        const Language language = pattern(context, Keyword::pattern_properties, document_.texts()[name]);
        listed.languages.push_back(language);
        matched_names_.insert(language);
        say(graph_.every_member({false, {}, {language}}, child(context, value)));
    }
    sort_unique(listed.languages);
    if (const JsonNode value = get(context, Keyword::additional_properties); value != JsonDocument::kNone)
        say(graph_.every_member(complement(listed), child(context, value)));
    if (const JsonNode value = get(context, Keyword::property_names);
        value != JsonDocument::kNone && context.draft >= Draft::draft6) {
        const auto [language, is_matched] = [&] {
            try {
                return names_of_(schema(value, context.scope, Mode::name));
            } catch (const LimitExceeded& e) {
                throw located(e, resources_.pointer(value));
            }
        }();
        if (is_matched) matched_names_.insert(language);
        if (language != LanguageTable::kAny) say(graph_.every_member({true, {}, {language}}, graph_.never()));
    }
    if (const JsonNode value = get(context, Keyword::required); value != JsonDocument::kNone)
        for (JsonNode name : document_.items(value))
            say(graph_.some_member(one_name(document_.text_number(name)), graph_.always()));
    const JsonNode fewest = get(context, Keyword::min_properties), most = get(context, Keyword::max_properties);
    if (fewest != JsonDocument::kNone)
        say(graph_.member_count(count(context, Keyword::min_properties, fewest), PredicateGraph::kOpen));
    if (most != JsonDocument::kNone) say(graph_.member_count(0, count(context, Keyword::max_properties, most)));
    if (const JsonNode value = get(context, Keyword::unevaluated_properties);
        value != JsonDocument::kNone && context.draft >= Draft::draft2019)
        context.parts.push_back(unevaluated(context, child(context, value), true, Keyword::unevaluated_properties));
}

void SchemaReader::read_items(Context& context) {
    constexpr Word kOpen = PredicateGraph::kOpen;
    const auto say = [&](Predicate p) { context.parts.push_back(graph_.if_of(json_types::array, p)); };
    const JsonNode items = get(context, Keyword::items);
    const bool tuple = document_.is(items, JsonKind::array);
    const JsonNode first = tuple                               ? items
                           : context.draft >= Draft::draft2020 ? get(context, Keyword::prefix_items)
                                                               : JsonDocument::kNone;
    const JsonNode rest = tuple ? get(context, Keyword::additional_items) : items;
    Word n = 0;
    if (first != JsonDocument::kNone) {
        if (!document_.is(first, JsonKind::array)) fail(context, Keyword::prefix_items, "must be an array of schemas");
        const std::vector<JsonNode> all(document_.items(first).begin(), document_.items(first).end());
        for (JsonNode item : all) {
            say(graph_.every_item(n, n + 1, child(context, item)));
            ++n;
        }
    }
    if (rest != JsonDocument::kNone) say(graph_.every_item(n, kOpen, child(context, rest)));
    if (const JsonNode value = get(context, Keyword::contains); value != JsonDocument::kNone && context.draft >= Draft::draft6) {
        Word least = 1, most = kOpen;
        if (context.draft >= Draft::draft2019) {
            if (const JsonNode v = get(context, Keyword::min_contains); v != JsonDocument::kNone)
                least = count(context, Keyword::min_contains, v);
            if (const JsonNode v = get(context, Keyword::max_contains); v != JsonDocument::kNone)
                most = count(context, Keyword::max_contains, v);
        }
        say(graph_.item_count(0, kOpen, apart(context, value), least, most));
    }
    const JsonNode fewest = get(context, Keyword::min_items), most = get(context, Keyword::max_items);
    if (fewest != JsonDocument::kNone) say(graph_.array_length(count(context, Keyword::min_items, fewest), kOpen));
    if (most != JsonDocument::kNone) say(graph_.array_length(0, count(context, Keyword::max_items, most)));
    if (const JsonNode value = get(context, Keyword::unevaluated_items);
        value != JsonDocument::kNone && context.draft >= Draft::draft2019)
        context.parts.push_back(unevaluated(context, child(context, value), false, Keyword::unevaluated_items));
}

// Each value once, where the values that items may have are listed or few.
void SchemaReader::read_unique(Context& context) {
    const JsonNode most = get(context, Keyword::max_items);
    if (most != JsonDocument::kNone && count(context, Keyword::max_items, most) <= 1) return;
    const auto said = [&](Predicate p) { context.parts.push_back(graph_.if_of(json_types::array, p)); };
    const JsonNode items = get(context, Keyword::items);
    const bool tuple = document_.is(items, JsonKind::array);
    const JsonNode first = tuple                               ? items
                           : context.draft >= Draft::draft2020 ? get(context, Keyword::prefix_items)
                                                               : JsonDocument::kNone;
    std::vector<JsonNode> schemas{tuple ? get(context, Keyword::additional_items) : items};
    if (document_.is(first, JsonKind::array))
        schemas.insert(schemas.end(), document_.items(first).begin(), document_.items(first).end());
    std::vector<Predicate> values;
    for (JsonNode schema : schemas) {
        const auto some = few_values(context, schema, 0);
        if (!some) return said(unique(context, kItemsUntold));
        values.insert(values.end(), some->begin(), some->end());
    }
    sort_unique(values);
    if (values.size() > static_cast<std::size_t>(kMaxUnique))
        return said(unique(context, "of more than " + readable(kMaxUnique) + " values psc cannot tell which came already"));
    for (Predicate value : values) said(graph_.item_count(0, PredicateGraph::kOpen, value, 0, 1));
}

// What no list of values says: see SchemaRules::Items.
Predicate SchemaReader::unique(const Context& context, const std::string& why) {
    if (!options_.unique_items) return unenforced(context, Keyword::unique_items, why);
    unique_.push_back(context.node);
    return graph_.unique_items(static_cast<Word>(unique_.size()) - 1, true);
}

void SchemaReader::leave_unique(Word place, const std::string& why) {
    if (!left_unique_.insert(place).second) return;
    const Context context{unique_[static_cast<std::size_t>(place)], 0, Mode::open, Draft::draft2020, {}};
    unenforced(context, Keyword::unique_items, why.empty() ? kItemsUntold : why);
}

// Integers between bounds of few digits, whether they are valid or not.
std::optional<std::vector<Predicate>> SchemaReader::few_integers(JsonNode schema) {
    const auto bound = [&](Keyword inclusive, Keyword exclusive) -> std::optional<std::int64_t> {
        for (Keyword keyword : {inclusive, exclusive}) {
            const JsonNode value = document_.member(schema, number_of(keyword));
            if (!document_.is(value, JsonKind::number)) continue;
            const std::string_view digits = document_.number(value);
            std::int64_t n = 0;
            const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
            if (error == std::errc() && end == digits.data() + digits.size() && std::abs(n) <= kMaxUnique * kMaxUnique) return n;
        }
        return std::nullopt;
    };
    const auto least = bound(Keyword::minimum, Keyword::exclusive_minimum),
               most = bound(Keyword::maximum, Keyword::exclusive_maximum);
    if (!least || !most || *most - *least >= kMaxUnique) return std::nullopt;
    std::vector<Predicate> out;
    for (std::int64_t n = *least; n <= *most; ++n)
        out.push_back(graph_.numbers(languages_.number(equal_to(parse_decimal(std::to_string(n))))));
    sort_unique(out);
    return out;
}

// The values of which a schema can be true, where it lists them.
std::optional<std::vector<Predicate>> SchemaReader::few_values(const Context& context, JsonNode schema, std::size_t depth) {
    if (depth > 100) return std::nullopt;
    if (document_.is(schema, JsonKind::boolean) && !document_.truth(schema)) return std::vector<Predicate>{};
    if (!document_.is(schema, JsonKind::object)) return std::nullopt;
    std::vector<Predicate> out;
    if (const JsonNode value = document_.member(schema, number_of(Keyword::constant)); value != JsonDocument::kNone) {
        out.push_back(literal(value));
        return out;
    }
    if (const JsonNode values = document_.member(schema, number_of(Keyword::enumeration)); document_.is(values, JsonKind::array)) {
        const std::vector<JsonNode> all(document_.items(values).begin(), document_.items(values).end());
        for (JsonNode value : all) out.push_back(literal(value));
        sort_unique(out);
        return out;
    }
    if (const JsonNode type = document_.member(schema, number_of(Keyword::type)); document_.is(type, JsonKind::string)) {
        if (document_.text(type) == "boolean")
            return std::vector{graph_.types(json_types::falsehood), graph_.types(json_types::truth)};
        if (document_.text(type) == "null") return std::vector{graph_.types(json_types::null)};
        if (document_.text(type) == "integer") return few_integers(schema);
    }
    if (const JsonNode reference = document_.member(schema, number_of(Keyword::ref)); document_.is(reference, JsonKind::string)) {
        const Context there{schema, context.scope, context.mode, context.draft, {}};
        return few_values(there, target_of(there, Keyword::ref, reference).first, depth + 1);
    }
    return std::nullopt;
}

}  // namespace psc
