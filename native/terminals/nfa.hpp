// All terminals of a grammar as one nondeterministic automaton over classes of characters.
//
// It marks the positions from which something can match (live); users leave out the others.
//
// Cost: linear in the positions. Threads: immutable once made.
#pragma once

#include <span>
#include <vector>

#include "terminals/positions.hpp"
#include "text/code_point_classes.hpp"

namespace psc {

class TerminalNfa {
public:
    // Programs as in terminals/positions.hpp, over sets as in text/code_point_classes.hpp; `max_positions` bounds the repetitions
    // written out.
    TerminalNfa(std::span<const Word> programs, std::span<const Word> offsets, std::span<const Word> ranges,
                std::span<const Word> range_offsets, std::size_t max_positions);

    // Without classes where reading a program has failed.
    const TerminalPositions& positions() const { return positions_; }
    const CodePointClasses& classes() const { return classes_; }
    // Whether something can match from here on, exceptions aside.
    bool is_live(Word position) const { return live_.empty() || live_[position]; }
    // Whether every terminal matches a text, and none the empty one. With exceptions it is not computed, and false.
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
