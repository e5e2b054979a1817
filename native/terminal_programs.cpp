#include "terminal_programs.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "terminal_positions.hpp"

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
            constexpr std::int64_t kMost = std::numeric_limits<Word>::max();
            const Bounds b = graph.bounds(node);
            words_.insert(words_.end(), {Code::repeat, static_cast<Word>(std::min(b.least, kMost)),
                                         b.open() ? -1 : static_cast<Word>(std::min(b.most, kMost))});
            write(graph, parts[0]);
            words_.push_back(Code::end);
            break;
        }
        case Kind::automaton:
            write_automaton(graph.accepts(node), graph.arcs(node));
            break;
        case Kind::reference:
            break;  // there are none in a terminal
    }
}

// Arcs of one state to one state are one arc, over the set of their ranges.
void TerminalPrograms::write_automaton(std::span<const Word> accepts, std::span<const Word> arcs) {
    std::vector<std::array<Word, 4>> sorted;  // from, to, first, last
    for (std::size_t i = 0; i < arcs.size(); i += 4) sorted.push_back({arcs[i], arcs[i + 3], arcs[i + 1], arcs[i + 2]});
    std::sort(sorted.begin(), sorted.end());
    words_.insert(words_.end(), {TerminalPositions::Code::automaton, static_cast<Word>(accepts.size()), 0});
    const std::size_t count = words_.size() - 1;
    words_.insert(words_.end(), accepts.begin(), accepts.end());
    std::vector<Word> ranges;
    for (std::size_t i = 0; i < sorted.size();) {
        const auto [from, to, first, last] = sorted[i];
        ranges.clear();
        for (; i < sorted.size() && sorted[i][0] == from && sorted[i][1] == to; ++i)
            ranges.insert(ranges.end(), {sorted[i][2], sorted[i][3]});
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
