// Exceptions for wrong calls, damaged tables and limits. The bindings turn each into an exception of psc.errors.
#pragma once

#include <new>
#include <stdexcept>
#include <string>

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

// One of the limits of base/limits.hpp was exceeded; the message names it.
class LimitExceeded : public std::runtime_error {
public:
    explicit LimitExceeded(const std::string& message) : std::runtime_error(message) {}
    LimitExceeded(const std::string& what, std::size_t limit) : std::runtime_error(what + ": more than " + std::to_string(limit)) {}
};

// Memory ran out while something was built that stays: it may be half there, so nothing more is built on it.
class RanOutOfMemory : public std::bad_alloc {
public:
    const char* what() const noexcept override {
        return "memory: this process had no more of it while the grammar was being built; compile the grammar again";
    }
};

}  // namespace psc
