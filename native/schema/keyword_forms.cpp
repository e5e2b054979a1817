// What a keyword's value must be, and what looks like a mistake though a schema may say it. See schema/reader.hpp.
//
// JSON Schema ignores what it does not know, so a misspelt keyword, or a schema inside of a wrapper, allows any value. Both are a
// doubt: a warning that names the place. A value of another kind than a keyword takes is an error: to ignore it would be looser
// than what was meant.
//
// Example: `required: true` is an error at its schema; `{"propertis": {}}` is a doubt, "none of the keywords 'propertis' is known".
//
// Cost: linear in the keywords of a schema.
#include <algorithm>
#include <array>
#include <string>

#include "base/elided.hpp"
#include "schema/reader.hpp"

namespace psc {

namespace {

using JsonKind = JsonDocument::Kind;

constexpr std::size_t kMostNamed = 5, kMostDoubts = 20;  // in one message, of one schema

bool is_of(Draft draft, Keyword keyword) {
    switch (keyword) {
        case Keyword::unknown:
            return false;
        case Keyword::id_draft4:
            return draft == Draft::draft4;
        case Keyword::id:
        case Keyword::constant:
        case Keyword::contains:
        case Keyword::property_names:
            return draft >= Draft::draft6;
        case Keyword::else_:
        case Keyword::if_:
        case Keyword::then:
            return draft >= Draft::draft7;
        case Keyword::anchor:
        case Keyword::content_schema:
        case Keyword::defs:
        case Keyword::dependent_required:
        case Keyword::dependent_schemas:
        case Keyword::max_contains:
        case Keyword::min_contains:
        case Keyword::unevaluated_items:
        case Keyword::unevaluated_properties:
            return draft >= Draft::draft2019;
        case Keyword::recursive_anchor:
        case Keyword::recursive_ref:
            return draft == Draft::draft2019;
        case Keyword::dynamic_anchor:
        case Keyword::dynamic_ref:
        case Keyword::prefix_items:
            return draft >= Draft::draft2020;
        default:
            return true;
    }
}

bool is_annotation(std::string_view name) {
    static constexpr std::array kAnnotations{std::string_view{"title"},
                                             std::string_view{"description"},
                                             std::string_view{"$comment"},
                                             std::string_view{"default"},
                                             std::string_view{"deprecated"},
                                             std::string_view{"example"},
                                             std::string_view{"examples"},
                                             std::string_view{"externalDocs"},
                                             std::string_view{"nullable"},
                                             std::string_view{"readOnly"},
                                             std::string_view{"writeOnly"},
                                             std::string_view{"xml"},
                                             std::string_view{"$vocabulary"},
                                             std::string_view{"contentEncoding"},
                                             std::string_view{"contentMediaType"},
                                             std::string_view{"markdownDescription"},
                                             std::string_view{"enumNames"},
                                             std::string_view{"propertyOrder"}};
    return name.starts_with("x-") || name.starts_with("_") ||
           std::find(kAnnotations.begin(), kAnnotations.end(), name) != kAnnotations.end();
}

// Whether one becomes the other by at most `most` insertions, deletions and replacements, or exchanges of neighbours.
bool is_close(std::string_view a, std::string_view b, std::size_t most) {
    if (a.size() > b.size() + most || b.size() > a.size() + most) return false;
    std::vector<std::size_t> before, row(b.size() + 1), next(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        next[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) next[j] = std::min(next[j], before[j - 2] + 1);
        }
        before = std::exchange(row, next);
    }
    return row[b.size()] <= most;
}

// The keyword that a name may be a misspelling of, or nothing.
std::string_view meant(std::string_view name) {
    constexpr std::size_t kShortest = 5, kLongest = 30;
    if (name.size() + 1 < kShortest || name.size() > kLongest) return {};
    const auto lower = [](std::string_view text) {
        std::string out;
        for (char c : text)
            if (c != '_' && c != '-' && c != '$') out.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
        return out;
    };
    const std::string plain = lower(name);
    for (std::string_view keyword : kKeywordTexts)
        if (!keyword.starts_with('$') && lower(keyword) == plain) return keyword;
    for (std::string_view keyword : kKeywordTexts)
        if (keyword.size() >= kShortest && !keyword.starts_with('$') && is_close(name, keyword, keyword.size() >= 8 ? 2 : 1))
            return keyword;
    return {};
}

constexpr std::array kDrafts{std::pair(Draft::draft4, "draft 4"), std::pair(Draft::draft6, "draft 6"),
                             std::pair(Draft::draft7, "draft 7"), std::pair(Draft::draft2019, "2019-09"),
                             std::pair(Draft::draft2020, "2020-12")};

// Of a keyword that the draft of a schema does not have: which one does.
std::string of_other_draft(Keyword keyword, Draft draft) {
    std::string of, here;
    for (const auto& [other, name] : kDrafts) {
        if (other == draft) here = name;
        if (is_of(other, keyword) && (of.empty() || other < draft)) of = name;
    }
    return "'" + std::string(text_of(keyword)) + "' is a keyword of " + of + ", and this is read as " + here +
           "; $schema says the draft";
}

std::string suggestion(std::string_view keyword) { return "; did you mean '" + std::string(keyword) + "'?"; }

// As a message repeats it.
std::string in_quotes(std::string_view text) { return "'" + elided(text, 40) + "'"; }

}  // namespace

void SchemaReader::check_keywords(const Context& context) {
    for (const auto& [name, value] : document_.members(context.node))
        if (const Keyword keyword = keyword_of(name); is_of(context.draft, keyword)) check_form(context, keyword, value);
    doubt_unknown(context);
}

void SchemaReader::check_form(const Context& context, Keyword keyword, JsonNode value) {
    const auto require_schema = [&](JsonNode node) {
        if (!document_.is(node, JsonKind::object) && !document_.is(node, JsonKind::boolean))
            throw SchemaError(resources_.pointer(node), "", "a schema must be an object or a boolean");
    };
    const auto require_kind = [&](JsonKind kind, const char* what) {
        if (!document_.is(value, kind)) fail(context, keyword, what);
    };
    const auto require_names = [&](JsonNode node, const char* what) {
        if (!document_.is(node, JsonKind::array)) fail(context, keyword, what);
        for (JsonNode name : document_.items(node))
            if (!document_.is(name, JsonKind::string)) fail(context, keyword, "names must be strings");
    };
    switch (form_of(keyword)) {
        case KeywordForm::free:
        case KeywordForm::schemas:
        case KeywordForm::dependencies:
            return;
        case KeywordForm::boolean:
            return require_kind(JsonKind::boolean, "must be true or false");
        case KeywordForm::text:
            require_kind(JsonKind::string, "must be a string");
            if (keyword == Keyword::draft) check_draft(context, document_.text(value));
            return;
        case KeywordForm::count:
            count(context, keyword, value);
            return;
        case KeywordForm::one_schema:
            return require_schema(value);
        case KeywordForm::schema_or_schemas:
            if (!document_.is(value, JsonKind::array)) return require_schema(value);
            for (JsonNode item : document_.items(value)) require_schema(item);
            return;
        case KeywordForm::schemas_by_name:
            require_kind(JsonKind::object, "must be an object of schemas");
            for (const auto& member : document_.members(value)) require_schema(member.value);
            return;
        case KeywordForm::definitions:
            return require_kind(JsonKind::object, "must be an object of schemas");
        case KeywordForm::names:
            return require_names(value, document_.is(value, JsonKind::boolean)
                                            ? "must be an array of names, in the schema of the object (a boolean is of draft 3)"
                                            : "must be an array of names");
        case KeywordForm::names_by_name:
            require_kind(JsonKind::object, "must be an object of arrays of names");
            for (const auto& member : document_.members(value)) require_names(member.value, "must be an object of arrays of names");
            return;
        case KeywordForm::bound:
            return check_bound(context, keyword, value);
    }
}

// A boolean is draft 4's; later drafts have a number, and are read as draft 4 where it is clear what a boolean means.
void SchemaReader::check_bound(const Context& context, Keyword keyword, JsonNode value) {
    if (!document_.is(value, JsonKind::boolean)) return;
    const Keyword bound = keyword == Keyword::exclusive_maximum ? Keyword::maximum : Keyword::minimum;
    if (get(context, bound) != JsonDocument::kNone) return;
    if (context.draft == Draft::draft4 && !document_.truth(value)) return;
    const std::string beside = "without `" + std::string(text_of(bound)) + "` beside it";
    fail(context, keyword,
         context.draft == Draft::draft4 ? "it says nothing " + beside
                                        : "must be a number, or a boolean with `" + std::string(text_of(bound)) + "` beside it");
}

void SchemaReader::check_draft(const Context& context, std::string_view uri) {
    for (std::string_view old : {"draft-00", "draft-01", "draft-02", "draft-03"})
        if (uri.find(std::string("json-schema.org/").append(old).append("/")) != std::string_view::npos)
            fail(context, Keyword::draft,
                 "draft " + std::string(old.substr(7)) +
                     " is not supported, only 4, 6, 7, 2019-09 and 2020-12; name one of them, and write `required` as an array of "
                     "names "
                     "beside `properties`, `multipleOf` for `divisibleBy`, `not` for `disallow`, `allOf` for `extends`");
    if (!draft_of(uri))
        doubt(context.node, Keyword::draft, in_quotes(uri) + " is no draft of JSON Schema, so this is read as 2020-12");
}

void SchemaReader::doubt_unknown(const Context& context) {
    std::vector<std::string_view> unknown;
    std::vector<std::string> others;
    bool says_something = false;
    for (const auto& [name, value] : document_.members(context.node)) {
        const Keyword keyword = keyword_of(name);
        if (is_of(context.draft, keyword)) {
            says_something |= !says_where(keyword);
            if (keyword == Keyword::id_draft4 && !document_.is(value, JsonKind::string)) unknown.push_back(text_of(keyword));
            continue;
        }
        const std::string_view text = document_.texts()[name];
        const bool is_of_other = keyword != Keyword::unknown && !says_where(keyword) && !is_annotation(text);
        if (is_of_other) others.push_back(of_other_draft(keyword, context.draft));
        if (text == "nullable" && document_.is(value, JsonKind::boolean) && document_.truth(value))
            nullable_.push_back(context.node);
        const bool must_be_text = text == "title" || text == "description" || text == "$comment";
        if (!is_annotation(text) || (must_be_text && document_.is(value, JsonKind::object))) unknown.push_back(text);
    }
    if (says_something) {
        for (const std::string& other : others) doubt(context.node, Keyword::unknown, other);
        for (std::string_view name : unknown)
            if (const std::string_view close = meant(name); !close.empty() && close != name)
                doubt(context.node, Keyword::unknown, in_quotes(name) + " is no keyword" + suggestion(close));
        return;
    }
    if (unknown.empty()) return;
    std::string names, hint;
    for (std::size_t i = 0; i < std::min(unknown.size(), kMostNamed); ++i) {
        names += (i ? ", " : "") + in_quotes(unknown[i]);
        if (const std::string_view close = meant(unknown[i]); !close.empty() && close != unknown[i] && hint.empty())
            hint = suggestion(close);
    }
    if (unknown.size() > kMostNamed) names += " and " + std::to_string(unknown.size() - kMostNamed) + " more";
    if (!others.empty()) hint = "; " + others.front();
    if (document_.is(document_.member(context.node, "schema"), JsonKind::object)) hint = "; give the value of 'schema' alone";
    doubt(context.node, Keyword::unknown, "none of the keywords " + names + " is known; any value passes" + hint);
}

void SchemaReader::doubt(JsonNode node, Keyword keyword, const std::string& what) {
    const std::string name = keyword == Keyword::unknown ? "" : ", " + std::string(text_of(keyword));
    std::string text = elided(resources_.pointer(node)) + name + ": " + what;
    if (std::find(doubts_.begin(), doubts_.end(), text) != doubts_.end()) return;
    if (doubts_.size() < kMostDoubts) doubts_.push_back(std::move(text));
}

void SchemaReader::doubt_nullable(const std::function<bool(Predicate)>& takes_null) {
    for (std::size_t i = 0; i < schemas_.size() && !nullable_.empty(); ++i) {
        const JsonNode node = schemas_[i].node;
        if (std::find(nullable_.begin(), nullable_.end(), node) == nullable_.end()) continue;
        std::erase(nullable_, node);
        if (takes_null(graph_.schema(static_cast<Word>(i), true))) continue;
        doubt(node, Keyword::unknown,
              "nullable is a keyword of OpenAPI 3.0, not of JSON Schema, so null is not allowed here; write \"type\": [..., "
              "\"null\"], "
              "or anyOf with {\"type\": \"null\"}");
    }
}

}  // namespace psc
