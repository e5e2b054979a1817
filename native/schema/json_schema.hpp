// A JSON schema to the rules of a grammar: the whole front end in one call.
//
// The stages, in order:
//   json/document.hpp       JSON text
//   schema/resources.hpp    drafts, identifiers, what references refer to
//   schema/reader.hpp       keywords to predicates on values
//   schema/predicates.hpp   the algebra of these
//   schema/values.hpp       the values that satisfy a predicate: languages of scalars, cases of objects and arrays
//   schema/no_value.hpp     where a schema without values has none
//   schema/rules.hpp        rules for the spellings of these values
//   text/automaton.hpp      languages of strings and numbers
//
// Cost: linear in the schema; for one of a page some hundreds of microseconds. Threads: a pure function, but for the resolver.
#pragma once

#include "schema/reader.hpp"
#include "schema/rules.hpp"

namespace psc {

struct SchemaGrammar {
    RulePrograms rules;
    std::vector<std::string> warnings, doubts;  // see SchemaReader
};

// Throws JsonError, SchemaError, LimitExceeded, and Cancelled. A reader that is cancelled frees what it holds first: up to 0.1 s
// where a schema has 100,000 numbers with bounds of their own, and less than 20 ms for other 5 MB. (Dropped: a detached thread that
// freed it, which nothing joined before the process ended.)
SchemaGrammar schema_grammar(std::string_view schema, SchemaOptions options, SchemaLayout layout,
                             SchemaResources::Resolver resolver);

// The rules of a part of a schema, by its pointer, as JSON in one line; of objects only, if that is said. Throws the same.
RulePrograms rules_of_part(std::string_view schema, std::string_view pointer, SchemaOptions options, bool only_objects,
                           SchemaResources::Resolver resolver);

}  // namespace psc
