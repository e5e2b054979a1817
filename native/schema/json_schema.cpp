#include "schema/json_schema.hpp"

namespace psc {

namespace {

const TextAutomaton& all_numbers() {
    static const auto& plain = *new TextAutomaton(plain_numbers());
    return plain;
}

// All that a schema is read with.
struct FrontEndParts {
    FrontEndParts(SchemaOptions options, SchemaLayout layout, SchemaResources::Resolver resolver)
        : document(texts),
          resources(document, std::move(resolver)),
          graph(languages, languages.number(all_numbers())),
          reader(document, resources, languages, graph, options,
                 [this, options](Predicate p) {
                     const Language language = values.language_of(values.strings(p));
                     return SchemaReader::Strings{language,
                                                  options.marks_matched && values.by_origin(p).free == LanguageTable::kNone};
                 }),
          values(reader, graph, languages),
          rules(reader, values, graph, languages, std::move(layout)) {
        number_keywords(texts);
    }

    SchemaGrammar grammar_of(std::string_view schema) {
        const JsonNode root = resources.add(schema, "", Draft::draft2020);
        SchemaGrammar out{written(root), {}, {}};
        try {
            reader.doubt_nullable([&](Predicate p) { return values.restricted(p, json_types::null) != graph.never(); });
        } catch (const SchemaError&) {
            // Rules did not need to know whether null is one of its values, and it refers to itself.
        } catch (const LimitExceeded&) {
        }
        out.warnings = reader.warnings();
        out.doubts = reader.doubts();
        return out;
    }

    // A limit of automata may be a format's, which can be left out.
    RulePrograms written(JsonNode root) {
        try {
            return rules.write(reader.root(root));
        } catch (const LocatedLimit& e) {
            const std::string what = e.what();
            if (!reader.asserts_format() || (what.find("automaton") == what.npos && what.find("spellings") == what.npos)) throw;
            throw LocatedLimit(e.pointer, what + "; assert_format=False leaves formats out");
        }
    }

    RulePrograms of_part(std::string_view schema, std::string_view pointer, bool only_objects) {
        const JsonNode root = resources.add(schema, "", Draft::draft2020);
        pointer.remove_prefix(1);
        const Predicate part = reader.root(resources.by_pointer(root, pointer, std::string(pointer), root, ""));
        return rules.write(only_objects ? graph.both(part, graph.types(json_types::object)) : part);
    }

    TextTable texts;
    JsonDocument document;
    SchemaResources resources;
    LanguageTable languages;
    PredicateGraph graph;
    SchemaReader reader;
    SchemaValues values;
    SchemaRules rules;
};

}  // namespace

SchemaGrammar schema_grammar(std::string_view schema, SchemaOptions options, SchemaLayout layout,
                             SchemaResources::Resolver resolver) {
    options.marks_matched = !layout.excludes.empty();
    return FrontEndParts(options, std::move(layout), std::move(resolver)).grammar_of(schema);
}

RulePrograms rules_of_part(std::string_view schema, std::string_view pointer, SchemaOptions options, bool only_objects,
                           SchemaResources::Resolver resolver) {
    SchemaLayout layout;
    layout.any_whitespace = false;
    return FrontEndParts(options, std::move(layout), std::move(resolver)).of_part(schema, pointer, only_objects);
}

}  // namespace psc
