#include "terminals/spelled.hpp"

#include <algorithm>
#include <vector>

namespace psc {

namespace {

// Per class, whether these bytes write one of its characters.
std::vector<char> spelled_classes(const CodePointClasses& classes, const ByteSet& bytes) {
    std::vector<char> spelled(classes.size(), 0), reached(classes.node_count(), 0);
    for (int b = 0; b < 128; ++b)
        if (bytes.test(b) && classes.of_ascii(b) >= 0) spelled[classes.of_ascii(b)] = 1;
    const auto follow = [&](std::span<const Word> runs) {
        for (std::size_t i = 0; i < runs.size(); i += 3) {
            const Word last = std::min<Word>(runs[i + 1], kFirstSymbolByte - 1), to = runs[i + 2];
            Word byte = runs[i];
            while (byte <= last && !bytes.test(byte)) ++byte;
            if (byte > last) continue;
            if (to < 0)
                spelled[-1 - to] = 1;
            else
                reached[to] = 1;
        }
    };
    follow(classes.root());
    for (Word n = classes.node_count(); n-- > 0;)  // a node leads to smaller numbers
        if (reached[n]) follow(classes.node(n));
    return spelled;
}

}  // namespace

bool are_spelled(const TerminalNfa& terminals, const ByteSet& bytes) {
    const CodePointClasses& classes = terminals.classes();
    const std::vector<char> spelled = spelled_classes(classes, bytes);
    std::vector<char> seen;  // per set, whether it has such a character
    const auto& nodes = terminals.positions().nodes();
    for (std::size_t n = 0; n < nodes.size(); ++n) {
        if (nodes[n].kind != TerminalPositions::Kind::character || !terminals.is_live(static_cast<Word>(n))) continue;
        const auto set = static_cast<std::size_t>(nodes[n].a);
        if (set >= seen.size()) seen.resize(set + 1, 0);
        if (seen[set]) continue;
        const auto members = classes.members(nodes[n].a);
        if (std::ranges::none_of(members, [&](Word c) { return spelled[c] != 0; })) return false;
        seen[set] = 1;
    }
    return true;
}

}  // namespace psc
