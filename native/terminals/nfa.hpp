// All terminals of a grammar as one nondeterministic automaton over classes of characters.
//
// Positions from which nothing can match are told apart: what is made of the automaton leaves them out.
//
// Cost: linear in the positions.
#pragma once

#include <span>
#include <vector>

#include "terminals/positions.hpp"
#include "text/code_point_classes.hpp"

namespace psc {

class TerminalNfa {
public:
    // Programs as in terminals/positions.hpp, over sets as in text/code_point_classes.hpp; `max_positions` bounds what is written out.
    TerminalNfa(std::span<const Word> programs, std::span<const Word> offsets, std::span<const Word> ranges,
                std::span<const Word> range_offsets, std::size_t max_positions);

    // Has no classes where a program has failed to be read.
    const TerminalPositions& positions() const { return positions_; }
    const CodePointClasses& classes() const { return classes_; }
    // Whether something can match from here on, before anything is taken out of a language.
    bool is_live(Word position) const { return live_.empty() || live_[position]; }
    // Whether every terminal matches a text, and none the empty one. Not known, and false, where something is taken out of a language.
    bool is_sound() const { return sound_; }

    std::size_t bytes() const { return positions_.bytes() + classes_.bytes() + live_.capacity(); }

private:
    void find_live();
    bool find_sound() const;

    TerminalPositions positions_;
    CodePointClasses classes_;
    std::vector<char> live_;  // per position; empty where all are
    bool sound_ = false;
};

}  // namespace psc
