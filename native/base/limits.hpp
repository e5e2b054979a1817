// What a grammar may cost. Exceeding a limit is an error that names it, never a mask that is wrong.
#pragma once

#include <new>
#include <stdexcept>
#include <string>

namespace psc {

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
