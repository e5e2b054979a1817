// Schemas to predicates: what each keyword of each draft says.
//
// A schema is a node of a document with a dynamic scope. Its meaning is one predicate, read when it is first needed. In-place
// applicators (allOf, $ref and such) are predicates by name, too, so recursion needs no end here.
//
// Closing (the option `strict`) means that an object schema that lists members, or has an empty list of them, has no others. What
// counts is all that is said about one value, through allOf and $ref, as for `unevaluatedProperties: false`; nothing is closed
// inside not, if and contains.
//
// Example: `{"type": "string", "maxLength": 3}` is both(types(string), if_of(string, texts(any, 0, 3))).
//
// Cost: linear in the keywords of the schemas that are read, and in their automata. Threads: one at a time.
// Source: JSON Schema core and validation, drafts 4 to 2020-12.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "json/numbers.hpp"
#include "schema/keywords.hpp"
#include "schema/predicates.hpp"
#include "schema/resources.hpp"

namespace psc {

struct SchemaOptions {
    bool strict = true;
    bool assert_format = true;
    bool lenient = false;        // leave out what cannot be enforced, with a warning, rather than an error
    bool marks_matched = false;  // tell strings of a pattern or a format from others
    bool unique_items = false;   // say that items differ, where rules cannot
};

class SchemaReader {
public:
    // Larger counts are equivalent to this one: no text is as long.
    static constexpr Word kMaxCount = 1'000'000'000;
    struct Strings {
        Language language;
        bool matched;  // by a pattern or a format, all of them
    };
    // `names_of`: the strings of which a predicate is true.
    SchemaReader(JsonDocument& document, SchemaResources& resources, LanguageTable& languages, PredicateGraph& graph,
                 SchemaOptions options, std::function<Strings(Predicate)> names_of);

    // The meaning of the whole document.
    Predicate root(JsonNode schema);
    // The meaning of a schema, by its number in Kind::schema. Throws SchemaError, LimitExceeded.
    Predicate meaning(Word schema);
    JsonNode node_of(Word schema) const { return schemas_[static_cast<std::size_t>(schema)].node; }
    std::string pointer_of(Word schema) const { return resources_.pointer(node_of(schema)); }

    // The keyword that a limit is about, of a schema or of several that all hold, or nothing.
    std::string keyword_for(const LimitExceeded& limit, Predicate schemas) const;

    // Whether a language of names is a pattern's or a format's.
    bool is_matched(Language names) const { return matched_names_.contains(names); }

    // That what a predicate unique_items says cannot be enforced: throws SchemaError, or warns.
    void leave_unique(Word place, const std::string& why);

    // What is not enforced.
    const std::vector<std::string>& warnings() const { return warnings_; }
    // Whether a format was read that is enforced.
    bool asserts_format() const { return asserts_format_; }
    // What is probably not what the schema's author meant.
    const std::vector<std::string>& doubts() const { return doubts_; }
    // Adds a doubt for each schema with OpenAPI's `nullable: true` of which null is not a value.
    void doubt_nullable(const std::function<bool(Predicate)>& takes_null);
    TextTable& texts() const { return document_.texts(); }

private:
    // Nothing is closed; closed with what it is a part of; closed by itself; of a member's name, which is a string and not closed.
    enum class Mode : Word { open, inside, value, name };
    struct Schema {
        JsonNode node;
        Word scope;
        Mode mode;
        Predicate meaning{-1};
    };
    struct Evaluated;  // what of an object or array a schema has looked at
    struct Context {   // a schema while it is read
        JsonNode node;
        Word scope;
        Mode mode;
        Draft draft;
        std::vector<Predicate> parts;  // all of them are said
    };

    Predicate schema(JsonNode node, Word scope, Mode mode);
    Predicate child(const Context& context, JsonNode node) {
        return schema(node, context.scope, context.mode == Mode::open ? Mode::open : Mode::value);
    }
    Predicate in_place(const Context& context, JsonNode node) { return schema(node, context.scope, in_place(context.mode)); }
    static Mode in_place(Mode mode) { return mode == Mode::value ? Mode::inside : mode; }
    Predicate apart(const Context& context, JsonNode node) {
        return schema(node, context.scope, context.mode == Mode::name ? Mode::name : Mode::open);
    }
    Word entered(Word scope, JsonNode node);

    Predicate read(const Schema& schema);
    // Keywords whose values are of a wrong kind, see schema/keyword_forms.cpp.
    void check_keywords(const Context& context);
    void check_form(const Context& context, Keyword keyword, JsonNode value);
    void check_bound(const Context& context, Keyword keyword, JsonNode value);
    void check_draft(const Context& context, std::string_view uri);
    void doubt_unknown(const Context& context);
    void doubt(JsonNode node, Keyword keyword, const std::string& what);
    void read_keyword(Context& context, Keyword keyword, JsonNode value);
    void read_numbers(Context& context);
    void read_texts(Context& context, Keyword keyword, JsonNode value);
    void read_members(Context& context);
    void read_items(Context& context);
    void read_unique(Context& context);
    Predicate unique(const Context& context, const std::string& why);
    void read_dependencies(Context& context, Keyword keyword, JsonNode value);
    Predicate types(const Context& context, JsonNode value);
    void read_condition(Context& context);
    Predicate referred(const Context& context, Keyword keyword, JsonNode value);
    std::pair<JsonNode, Word> target_of(const Context& context, Keyword keyword, JsonNode value);
    Predicate exactly_one(std::span<const Predicate> schemas);
    Predicate one_but_none_of(std::span<const Predicate> schemas, const std::vector<std::vector<std::size_t>>& others);
    Predicate literal(JsonNode value, std::size_t depth = 0);
    void check_size(JsonNode text) const;
    Predicate enumeration(std::span<const JsonNode> values);
    std::optional<std::vector<Predicate>> few_values(const Context& context, JsonNode schema, std::size_t depth);
    std::optional<std::vector<Predicate>> few_integers(JsonNode schema);
    Predicate unenforced(const Context& context, Keyword keyword, const std::string& why);

    struct Applied;  // a schema that another one applies to the same value
    std::vector<Applied> applied(const Context& context);
    Evaluated own(const Context& context, bool is_root);
    bool evaluates(JsonNode node, Word scope);
    void evaluate(const Context& context, Predicate condition, std::vector<Evaluated>& out, std::size_t depth, bool tested = false);
    Predicate by_name(NameSet always, const std::vector<Evaluated>& conditional, Predicate rest);
    struct Unevaluated;
    Predicate unevaluated(const Context& context, Predicate rest, bool members, Keyword keyword);

    void warn(const Context& context, Keyword keyword, const std::string& what);
    [[noreturn]] void fail(const Context& context, Keyword keyword, const std::string& why) const;
    [[noreturn]] void exceed(const Context& context, Keyword keyword, const std::string& limit) const;
    Word count(const Context& context, Keyword keyword, JsonNode value) const;
    Decimal decimal(const Context& context, Keyword keyword, JsonNode value) const;
    JsonNode get(const Context& context, Keyword keyword) const;
    std::vector<JsonNode> schemas_in(const Context& context, Keyword keyword, JsonNode value) const;
    NameSet one_name(Word name) const { return {false, {name}, {}}; }
    Language pattern(const Context& context, Keyword keyword, std::string_view pattern);

    JsonDocument& document_;
    SchemaResources& resources_;
    LanguageTable& languages_;
    PredicateGraph& graph_;
    SchemaOptions options_;
    std::function<Strings(Predicate)> names_of_;
    std::set<Language> matched_names_;
    std::map<std::pair<JsonNode, Word>, bool> evaluates_;  // by schema and scope
    std::vector<Schema> schemas_;
    std::map<std::tuple<JsonNode, Word, Mode>, Word> numbers_;
    std::vector<std::map<std::string, JsonNode>> scopes_{{}};
    std::map<std::map<std::string, JsonNode>, Word> scope_numbers_;
    std::unordered_map<std::string, Language> patterns_;
    std::vector<std::string> warnings_, doubts_;
    std::vector<JsonNode> nullable_;  // schemas that say so
    std::vector<JsonNode> unique_;    // likewise, by their places in predicates
    std::set<Word> left_unique_;      // of these, those that are not enforced
    bool asserts_format_ = false;
};

}  // namespace psc
