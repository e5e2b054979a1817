// C++ exceptions for wrong calls and damaged tables; each becomes the one of its name in psc.errors. Resource limits: base/limits.hpp.
#pragma once

#include <stdexcept>

namespace psc {

struct MatcherError : std::runtime_error {
    using runtime_error::runtime_error;
};

// An artifact that says one thing in one table and another in the next: no check of a single table finds that.
struct ArtifactError : std::runtime_error {
    using runtime_error::runtime_error;
};

struct BitmaskError : std::runtime_error {
    using runtime_error::runtime_error;
};

}  // namespace psc
