// Escapes and classes of ECMA-262's regular expressions to sets of code points.
//
// Cost: linear in the text, and the size of the sets. Threads: one at a time.
#pragma once

#include <optional>
#include <string_view>

#include "patterns/ecma_reader.hpp"

namespace psc {

// Reads at `at`, and advances `at` past what it read. Throws PatternError.
class EcmaEscapes {
public:
    EcmaEscapes(std::u32string_view text, std::size_t& at) : text_(text), at_(at) {}

    // A backslash and what belongs to it; the caller handles \b and \B.
    CodePointSet outside_class();
    // From its bracket to the closing one.
    CodePointSet character_class();

private:
    // A class's member: one code point, or a set such as \w.
    struct Member {
        CodePointSet set;
        bool single;
    };

    Member escape(bool in_class);
    Member class_member(std::size_t opened);
    CodePointSet property(bool negative);
    Word unicode_escape();
    std::optional<Word> hexadecimal(std::size_t digits);
    [[noreturn]] void unknown(char32_t c, std::size_t position) const;

    std::u32string_view text_;
    std::size_t& at_;
};

}  // namespace psc
