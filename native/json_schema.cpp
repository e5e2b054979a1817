#include "json_schema.hpp"

namespace psc {

SchemaGrammar schema_grammar(std::string_view schema, SchemaOptions options, SchemaLayout layout,
                             SchemaResources::Resolver resolver) {
    TextTable texts;
    number_keywords(texts);
    JsonDocument document(texts);
    SchemaResources resources(document, std::move(resolver));
    LanguageTable languages;
    static const TextAutomaton plain = plain_numbers();
    PredicateGraph graph(languages, languages.number(plain));
    SchemaValues* names_of = nullptr;
    SchemaReader reader(document, resources, languages, graph, options,
                        [&](Predicate p) { return names_of->language_of(names_of->strings(p)); });
    SchemaValues values(reader, graph, languages);
    names_of = &values;
    const JsonNode root = resources.add(schema, "", Draft::draft2020);
    SchemaRules rules(reader, values, graph, languages, std::move(layout));
    SchemaGrammar out{rules.write(reader.root(root)), {}};
    out.warnings = reader.warnings();
    return out;
}

}  // namespace psc
