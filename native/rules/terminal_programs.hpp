// Expressions as the programs that terminals/positions.hpp reads: flat words, characters as numbers of shared sets.
//
// Sets are numbered by their contents, over all programs, so the letters of Unicode are split into classes once, however many
// terminals use them.
//
// Cost: linear in the expressions. Threads: one at a time.
#pragma once

#include <array>
#include <unordered_map>
#include <vector>

#include "rules/expression_graph.hpp"
#include "rules/rule_programs.hpp"

namespace psc {

class TerminalPrograms {
public:
    // Adds the program of an expression without references. Recursive: for nodes of bounded depth.
    void add(const ExpressionGraph& graph, Expression expression) {
        write(graph, expression);
        offsets_.push_back(static_cast<Word>(words_.size()));
    }

    // Adds the automaton as the program of one of its terminals; `of_label`: the terminal of each rule that it names.
    void add_labelled(const LabelledAutomaton& automaton, const std::unordered_map<Word, Terminal>& of_label);
    // Adds the program of another of its terminals.
    void add_elsewhere();

    std::span<const Word> words() const { return words_; }
    std::span<const Word> offsets() const { return offsets_; }              // of the programs
    std::span<const Word> ranges() const { return ranges_; }                // first, last, first, last, ...
    std::span<const Word> range_offsets() const { return range_offsets_; }  // of the sets

private:
    void write(const ExpressionGraph& graph, Expression node);
    void write_automaton(std::span<const Word> accepts, std::span<const Word> arcs);
    void write_arcs(std::vector<std::array<Word, 4>> arcs, std::size_t count);
    void write_set(std::span<const Word> ranges);

    std::vector<Word> words_, offsets_{0}, ranges_, range_offsets_{0};
    SequenceInterner sets_;
};

}  // namespace psc
