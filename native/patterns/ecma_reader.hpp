// A regular expression of ECMA-262, as `pattern` of JSON Schema means it, to programs of a nondeterministic automaton.
//
// The syntax is that of ECMA-262 with the flag u, and what schemas rely on besides (its annex B): a backslash before any character
// but letters and digits is that character; `]`, `}` and a `{` that begins no quantifier are themselves; `-` beside a class such as
// \w is itself; a lookahead may be repeated. A backslash before a letter or digit that means nothing in ECMA-262 (\Z, \A, \a, \h,
// ...) is an error, since other dialects give it a meaning. Backreferences, lookbehind and modifiers are errors. A lone surrogate
// matches nothing, since no text has one.
//
// The automaton is Thompson's: pieces fall through to what comes after them, counted repetitions are copies, and a lookahead is a
// program of its own.
//
// Cost: linear in the pattern with its repetitions written out; nesting costs no C stack. Threads: a pure function.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "text/code_point_sets.hpp"

namespace psc {

// A pattern that is malformed or not supported. `position`: in code points.
class PatternError : public std::invalid_argument {
public:
    PatternError(const std::string& message, std::size_t position)
        : std::invalid_argument("at character " + std::to_string(position) + ": " + message), position(position) {}
    std::size_t position;
};

struct EcmaNode {
    enum class Kind : std::uint8_t {
        character,    // reads one of set a, then continues at b
        split,        // continues at a and at b, where they are not -1
        start,        // continues at b, if nothing precedes
        end,          // continues at b, if nothing follows
        word_border,  // continues at b, if exactly one neighbour is a word character
        no_word_border,
        look,  // continues at b, if lookahead a allows the rest
        match,
    };
    Kind kind;
    Word a, b;
};

struct EcmaProgram {
    std::vector<EcmaNode> nodes;  // from node 0
    bool reads_before = false;    // whether it depends on the character before its start
};

struct EcmaLook {
    EcmaProgram body;
    bool negative;
};

struct EcmaPattern {
    EcmaProgram main;
    std::vector<EcmaLook> looks;  // inner ones before outer ones
    std::vector<CodePointSet> sets;
    bool reads_words = false;  // whether \b or \B occurs
};

// [0-9A-Za-z_]
CodePointSet ecma_word_characters();

// Throws PatternError; LimitExceeded for more than max_nodes nodes.
EcmaPattern read_ecma_pattern(std::u32string_view pattern, std::size_t max_nodes);

}  // namespace psc
