// A JSON schema to the rules of a grammar: the whole front end in one call.
//
//   json/document.hpp       JSON text
//   schema/resources.hpp    drafts, identifiers, what references refer to
//   schema/reader.hpp       keywords to predicates on values
//   schema/predicates.hpp   the algebra of these
//   schema/values.hpp       what values a predicate is true of: languages of scalars, cases of objects and arrays
//   schema/rules.hpp        rules for the spellings of these values
//   text/automaton.hpp      languages of strings and numbers
//
// Cost: linear in the schema, for one of a page some hundreds of microseconds.
#pragma once

#include "schema/reader.hpp"
#include "schema/rules.hpp"

namespace psc {

struct SchemaGrammar {
    RulePrograms rules;
    std::vector<std::string> warnings;
};

// Throws JsonError, SchemaError, LimitExceeded. The resolver is called by this thread, and may be destroyed by another.
SchemaGrammar schema_grammar(std::string_view schema, SchemaOptions options, SchemaLayout layout,
                             SchemaResources::Resolver resolver);

}  // namespace psc
