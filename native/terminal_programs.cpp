#include "terminal_programs.hpp"

#include <algorithm>
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
        case Kind::reference:
            break;  // there are none in a terminal
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
