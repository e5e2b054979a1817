// Exceptions for wrong calls and damaged tables. Each becomes the exception of its name in psc.errors. Limits: base/limits.hpp.
#pragma once

#include <stdexcept>

namespace psc {

struct MatcherError : std::runtime_error {
    using runtime_error::runtime_error;
};

// An artifact whose tables contradict each other, which no check of a single table finds.
struct ArtifactError : std::runtime_error {
    using runtime_error::runtime_error;
};

struct BitmaskError : std::runtime_error {
    using runtime_error::runtime_error;
};

}  // namespace psc
