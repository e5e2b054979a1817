#include "rules/terminal_programs.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "terminals/positions.hpp"

namespace psc {

void TerminalPrograms::write(const ExpressionGraph& graph, Expression node) {
    using Kind = ExpressionGraph::Kind;
    using Code = TerminalPositions::Code;
    const auto parts = graph.parts(node);
    switch (graph.kind(node)) {
        case Kind::text:
            words_.insert(words_.end(), {Code::characters, static_cast<Word>(graph.characters(node).size())});
            for (Word c : graph.characters(node)) {
                const Word range[] = {c, c};
                write_set(range);
            }
            break;
        case Kind::chars:
            words_.insert(words_.end(), {Code::characters, 1});
            write_set(graph.ranges(node));
            break;
        case Kind::sequence:
            for (Expression p : parts) write(graph, p);
            break;
        case Kind::choice:
            words_.insert(words_.end(), {Code::choice, static_cast<Word>(parts.size())});
            for (std::size_t i = 0; i < parts.size(); ++i) {
                if (i > 0) words_.push_back(Code::next);
                write(graph, parts[i]);
            }
            if (!parts.empty()) words_.push_back(Code::end);
            break;
        case Kind::repeat: {
            constexpr std::int64_t kMaxWord = std::numeric_limits<Word>::max();
            const Bounds b = graph.bounds(node);
            words_.insert(words_.end(), {Code::repeat, static_cast<Word>(std::min(b.least, kMaxWord)),
                                         b.open() ? -1 : static_cast<Word>(std::min(b.most, kMaxWord))});
            write(graph, parts[0]);
            words_.push_back(Code::end);
            break;
        }
        case Kind::automaton:
            write_automaton(graph.accepts(node), graph.arcs(node));
            break;
        case Kind::counted: {
            const Bounds b = graph.bounds_of_length(node);
            words_.insert(words_.end(), {Code::counted, static_cast<Word>(b.least), static_cast<Word>(b.most)});
            write_automaton(graph.accepts(node), graph.arcs(node));
            break;
        }
        case Kind::reference:
            break;  // there are none in a terminal
    }
}

void TerminalPrograms::add_labelled(const LabelledAutomaton& automaton, const std::unordered_map<Word, Terminal>& of_label) {
    words_.insert(words_.end(), {TerminalPositions::Code::labelled, static_cast<Word>(automaton.matches.size()), 0});
    const std::size_t count = words_.size() - 1;
    for (const auto& rules : automaton.matches) {
        const std::size_t count_at = words_.size();
        words_.push_back(0);
        for (Rule rule : rules)
            if (const auto terminal = of_label.find(rule.v); terminal != of_label.end()) words_.push_back(terminal->second.v);
        words_[count_at] = static_cast<Word>(words_.size() - count_at - 1);
        std::sort(words_.begin() + static_cast<std::ptrdiff_t>(count_at) + 1, words_.end());
    }
    std::vector<std::array<Word, 4>> arcs;
    for (const auto& arc : automaton.arcs) arcs.push_back({arc.from, arc.to, arc.first, arc.last});
    write_arcs(std::move(arcs), count);
    offsets_.push_back(static_cast<Word>(words_.size()));
}

void TerminalPrograms::add_elsewhere() {
    words_.push_back(TerminalPositions::Code::elsewhere);
    offsets_.push_back(static_cast<Word>(words_.size()));
}

void TerminalPrograms::write_automaton(std::span<const Word> accepts, std::span<const Word> arcs) {
    std::vector<std::array<Word, 4>> all;
    for (std::size_t i = 0; i < arcs.size(); i += 4) all.push_back({arcs[i], arcs[i + 3], arcs[i + 1], arcs[i + 2]});
    words_.insert(words_.end(), {TerminalPositions::Code::automaton, static_cast<Word>(accepts.size()), 0});
    const std::size_t count = words_.size() - 1;
    words_.insert(words_.end(), accepts.begin(), accepts.end());
    write_arcs(std::move(all), count);
}

// Arcs (from, to, first, last); those between the same two states become one arc, over the set of their ranges. `count`: the word
// that counts them.
void TerminalPrograms::write_arcs(std::vector<std::array<Word, 4>> arcs, std::size_t count) {
    std::sort(arcs.begin(), arcs.end());
    std::vector<Word> ranges;
    for (std::size_t i = 0; i < arcs.size();) {
        const auto [from, to, first, last] = arcs[i];
        ranges.clear();
        for (; i < arcs.size() && arcs[i][0] == from && arcs[i][1] == to; ++i)
            ranges.insert(ranges.end(), {arcs[i][2], arcs[i][3]});
        words_.push_back(from);
        write_set(ranges);
        words_.push_back(to);
        ++words_[count];
    }
}

void TerminalPrograms::write_set(std::span<const Word> ranges) {
    const auto [number, fresh] = sets_.intern(ranges);
    if (fresh) {
        ranges_.insert(ranges_.end(), ranges.begin(), ranges.end());
        range_offsets_.push_back(static_cast<Word>(ranges_.size()));
    }
    words_.push_back(number);
}

}  // namespace psc
