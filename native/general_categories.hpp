// Unicode's general categories, for \p{...}.
//
// The code points are a list of runs of one category each, 3 to 4 bytes a run as text: a category's letter and the run's length in
// base 32. The list is that of Python 3.11 (Unicode 14.0), and tests compare it with the Python that runs them as far as that knows the same version.
// Cost: 0.1 ms for the first use of a process, then a pass over the 3,300 runs for each set.
#pragma once

#include <optional>
#include <string_view>

#include "code_point_sets.hpp"

namespace psc {

// By short or long name, also as General_Category=... or gc=...; Any, ASCII and Assigned. Nothing for other names. Surrogates (Cs) are
// in no set but Any and Other.
std::optional<CodePointSet> general_category(std::string_view name);

}  // namespace psc
