// What the files that read schemas share.
#pragma once

#include "base/limits.hpp"
#include "schema/reader.hpp"

namespace psc {

// Counts above are as good as this: no text is as long.
inline constexpr Word kMaxSchemaCount = 1'000'000'000;

// What a schema looks at of a value of which a condition is true.
struct SchemaReader::Evaluated {
    Predicate condition;
    NameSet names;  // members of these names
    bool all_members = false, all_items = false;
    Word items = 0;                       // so many at the beginning
    std::vector<Predicate> contains;      // and those of which one of these is true
    JsonNode node = JsonDocument::kNone;  // which schema
    Word scope = 0;
    bool declares = false;       // has a list of members, which may be empty
    bool tested = false;         // by an `if`, which closes nothing
    bool lists_objects = false;  // in const or enum
};

// The names of either.
NameSet union_of(const NameSet& a, const NameSet& b);
// All others.
NameSet complement(NameSet names);

// The limit with the place where it was met, if it names none.
LimitExceeded located(const LimitExceeded& limit, const std::string& place);

std::u32string decoded(std::string_view utf8);

}  // namespace psc
