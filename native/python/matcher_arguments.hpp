// What Python's callers pass to matchers, made into what the core takes: masks, indices, tokens, text, numbers.
//
// Integers may be of any size and any type with __index__; one that does not fit 64 bits is out of every range. Errors are psc's own
// for values, TypeError for types.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "python/bindings.hpp"

namespace psc {

using Bitmask = nb::ndarray<>;
using Indices = std::vector<std::int64_t>;

std::string name_of_type(nb::handle h);

// An array that can be written to, of whatever shape and type.
Bitmask bitmask_from(nb::handle h);

// Links and tokens of a draft tree: a copy, because once checked they must not change.
Indices indices_from(nb::handle h, const char* name);

// The rows of an int32 array of shape (batch, words) or (words,).
struct Rows {
    Word* data;
    std::size_t count;
    std::int64_t stride;

    Rows(const Bitmask& bitmask, std::size_t words);
    std::uint32_t* row(std::int64_t index) const;
};

// UTF-8 of a str, or the bytes of a bytes, as long as the object lives; or a copy of a bytearray's, which another thread may change.
struct Text {
    explicit Text(nb::handle text);
    Text(Text&&) = default;

    std::vector<std::uint8_t> copy;
    std::span<const std::uint8_t> bytes;
};
// How many bytes the whole characters take that the text begins with.
std::size_t whole_characters(const std::string& text);

std::int64_t any_integer(nb::handle h, const char* what);
inline std::int64_t integer(nb::handle h, const char* what) {
    std::int64_t small = 0;
    return PyLong_CheckExact(h.ptr()) && nb::try_cast(h, small) ? small : any_integer(h, what);
}
std::vector<std::int64_t> integers(nb::handle list, const char* what);
// A token that no vocabulary has, where the number is out of range.
TokenId token_of(std::int64_t token);
std::size_t steps_of(std::int64_t n);
// An id or several.
std::vector<TokenId> stop_tokens_from(nb::handle given, Word vocab_size);

// How many threads: "auto" is one a processor.
int threads_from(nb::handle given);

// A temperature, or none. Throws MatcherError for what is negative or no finite number.
std::optional<double> checked_temperature(nb::handle given);

// A float32 array of one dimension on the CPU, to write temperatures into. Throws MatcherError for anything else.
class Temperatures {
public:
    explicit Temperatures(nb::handle given);
    std::size_t size() const { return array_.shape(0); }
    // Throws MatcherError where there is no such entry.
    float& operator[](std::int64_t i) const;

private:
    nb::ndarray<> array_;
};

// Throws MatcherError when there are not as many of one as of the other.
void same_length(std::size_t matchers, std::size_t others, const char* what);

}  // namespace psc
