// Unicode's general categories, for \p{...}.
//
// The code points are a list of runs of one category each, as text: a category's letter and the run's length in base 32, 6 KiB in
// all. The list is that of Unicode 14.0, as Python 3.11 has it; tests compare the two where Python's is of that version.
//
// Cost: a pass over the 4,000 runs for each set, some 10 us. Threads: a pure function.
#pragma once

#include <optional>
#include <string_view>

#include "text/code_point_sets.hpp"

namespace psc {

// By short or long name, also as General_Category=... or gc=...; Any, ASCII and Assigned. Nothing for other names. Surrogates are
// in Cs, C and Any, as in Unicode.
std::optional<CodePointSet> general_category(std::string_view name);

}  // namespace psc
