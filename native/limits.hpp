// What a grammar may cost. Exceeding a limit is an error that names it, never a mask that is wrong.
#pragma once

#include <stdexcept>
#include <string>

namespace psc {

class LimitExceeded : public std::runtime_error {
public:
    explicit LimitExceeded(const std::string& message) : std::runtime_error(message) {}
    LimitExceeded(const std::string& what, std::size_t limit) : std::runtime_error(what + ": more than " + std::to_string(limit)) {}
};

}  // namespace psc
