#include "terminals/automaton.hpp"

#include <algorithm>
#include <utility>

#include "base/cancellation.hpp"
#include "base/partition.hpp"
#include "base/reaching.hpp"
#include "base/sorted.hpp"
#include "terminals/subsets.hpp"
#include "terminals/wide_spelling.hpp"

namespace psc {

namespace {

using Arc = LabelledGraph::Arc;

// All states of the automaton over classes of characters, dead ones among them. False when a limit is exceeded, which `out` then
// names.
bool close(Subsets& subsets, const TerminalPositions& positions, std::size_t max_states, std::size_t max_steps,
           LabelledGraph& graph, ByteAutomaton& out) {
    std::vector<Subsets::Arc> arcs;
    for (Word s = 0; s < subsets.size(); ++s) {
        stop_if_cancelled();
        if (!subsets.expand(s, max_steps, arcs)) out.exceeded = ByteAutomaton::Limit::steps;
        if (static_cast<std::size_t>(subsets.size()) > max_states) out.exceeded = ByteAutomaton::Limit::states;
        if (out.exceeded != ByteAutomaton::Limit::none) {
            for (Word node : subsets.positions_of(s)) out.involved.push_back(positions.terminal_of(node));
            sort_unique(out.involved);
            return false;
        }
        graph.state_output.push_back(subsets.output(s));
        for (const auto& arc : arcs) graph.arcs.push_back({arc.character_class, 0, arc.target});
        graph.offsets.push_back(graph.arcs.size());
    }
    return true;
}

// Without the dead states, which exceptions and empty sets leave behind. State 0 stays.
LabelledGraph trimmed(LabelledGraph g, const SequenceInterner& outputs) {
    const std::size_t n = g.state_output.size();
    std::vector<char> live(n);
    for (std::size_t s = 0; s < n; ++s) live[s] = !outputs[g.state_output[s]].empty();
    const auto each_target = [&](std::size_t s, const auto& f) {
        for (std::size_t i = g.offsets[s]; i < g.offsets[s + 1]; ++i) f(g.arcs[i].target);
    };
    if (mark_reaching(live, each_target)) return g;
    std::vector<Word> number(n, -1);
    Word kept = 0;
    for (std::size_t s = 0; s < n; ++s)
        if (s == 0 || live[s]) number[s] = kept++;
    LabelledGraph out;
    for (std::size_t s = 0; s < n; ++s) {
        if (number[s] < 0) continue;
        out.state_output.push_back(g.state_output[s]);
        for (std::size_t i = g.offsets[s]; i < g.offsets[s + 1]; ++i)
            if (live[g.arcs[i].target]) out.arcs.push_back({g.arcs[i].label, 0, number[g.arcs[i].target]});
        out.offsets.push_back(out.arcs.size());
    }
    return out;
}

// One state for each class of states that no text tells apart; state 0 is the one of the start.
LabelledGraph minimized(const LabelledGraph& g) {
    const std::vector<Word> block = coarsest_partition(g);
    LabelledGraph out;
    for (std::size_t s = 0; s < block.size(); ++s) {
        if (block[s] != static_cast<Word>(out.state_output.size())) continue;
        out.state_output.push_back(g.state_output[s]);
        for (std::size_t i = g.offsets[s]; i < g.offsets[s + 1]; ++i)
            out.arcs.push_back({g.arcs[i].label, 0, block[g.arcs[i].target]});
        out.offsets.push_back(out.arcs.size());
    }
    return out;
}

// The rows of targets of a graph's states, then those of the states inside a character; by classes of bytes.
class Spelling {
public:
    Spelling(const LabelledGraph& g, const CodePointClasses& classes)
        : wide_(classes), bytes_(byte_classes(classes)), first_inner_(g.state_output.size()) {
        std::vector<Word> of_ascii;  // per class of bytes, that of its characters
        for (std::uint8_t byte : bytes_.representatives())
            if (byte < 128) of_ascii.push_back(classes.of_ascii(byte));
        n_ascii_ = of_ascii.size();
        ascii_.reserve(first_inner_ * n_ascii_);
        std::vector<Word> target(classes.size()), key(wide_.n_slots());
        for (std::size_t s = 0; s < first_inner_; ++s) {
            stop_if_cancelled();
            std::fill(target.begin(), target.end(), -1);
            std::fill(key.begin(), key.end(), -1);
            for (std::size_t i = g.offsets[s]; i < g.offsets[s + 1]; ++i) {
                const Arc& a = g.arcs[i];
                target[a.label] = a.target;
                if (wide_.slot(a.label) >= 0) key[wide_.slot(a.label)] = a.target;
            }
            root_of_.push_back(wide_.number(key));
            for (Word c : of_ascii) ascii_.push_back(c < 0 ? -1 : target[c]);
        }
    }

    const ByteClasses& classes() const { return bytes_; }

    std::size_t states() const { return first_inner_ + wide_.n_inner(); }

    void fill(std::size_t state, std::span<Word> row) const {
        std::fill(row.begin(), row.end(), -1);
        if (state >= first_inner_) {
            fill_runs(wide_.inner(static_cast<Word>(state - first_inner_)), row);
            return;
        }
        std::copy_n(ascii_.begin() + static_cast<std::ptrdiff_t>(state * n_ascii_), n_ascii_, row.begin());
        fill_runs(wide_.root(root_of_[state]), row);
    }

private:
    // Runs have bytes beyond ASCII alone, ascending.
    void fill_runs(std::span<const Word> runs, std::span<Word> row) const {
        const auto& bytes = bytes_.representatives();
        std::size_t c = n_ascii_;
        for (std::size_t i = 0; i < runs.size(); i += 3) {
            Word to = runs[i + 2];
            if (WideSpelling::is_inner(to)) to = static_cast<Word>(first_inner_) + WideSpelling::inner_of(to);
            while (c < bytes.size() && bytes[c] < runs[i]) ++c;
            for (; c < bytes.size() && bytes[c] <= runs[i + 1]; ++c) row[c] = to;
        }
    }

    WideSpelling wide_;
    ByteClasses bytes_;
    std::size_t first_inner_, n_ascii_;
    std::vector<Word> root_of_, ascii_;  // per state the number of its key, and the targets of the bytes of ASCII
};

void number_breadth_first(const LabelledGraph& g, const SequenceInterner& outputs, const Spelling& spelling, ByteAutomaton& out) {
    std::vector<Word> number(spelling.states(), -1),
        order{0};  // the start is copied: where arcs lead into it, it gets a second number
    const auto n_classes = static_cast<std::size_t>(spelling.classes().size());
    std::vector<Word> rows;
    rows.reserve((spelling.states() + 1) * n_classes);
    for (std::size_t i = 0; i < order.size(); ++i) {
        stop_if_cancelled();
        const std::size_t state = static_cast<std::size_t>(order[i]);
        rows.resize(rows.size() + n_classes);
        const std::span<Word> row(rows.end() - static_cast<std::ptrdiff_t>(n_classes), n_classes);
        spelling.fill(state, row);
        for (Word& target : row) {
            if (target < 0) continue;
            if (number[target] < 0) {
                number[target] = static_cast<Word>(order.size());
                order.push_back(target);
            }
            target = number[target];
        }
        if (state < g.state_output.size()) {
            const auto matched = outputs[g.state_output[state]];
            out.matches.insert(out.matches.end(), matched.begin(), matched.end());
        }
        out.match_offsets.push_back(static_cast<Word>(out.matches.size()));
    }
    out.classes = spelling.classes().merged(rows);
    out.next = spelling.classes().narrowed(rows, out.classes);
}

}  // namespace

ByteAutomaton build_terminal_automaton(std::span<const Word> programs, std::span<const Word> offsets, std::span<const Word> ranges,
                                       std::span<const Word> range_offsets, std::size_t max_states, std::size_t max_positions,
                                       std::size_t max_steps) {
    ByteAutomaton out;
    const TerminalNfa nfa(programs, offsets, ranges, range_offsets, max_positions);
    const TerminalPositions& positions = nfa.positions();
    if (positions.failed() >= 0) {
        out.exceeded = ByteAutomaton::Limit::positions;
        out.involved.push_back(positions.failed());
        return out;
    }
    Subsets subsets(nfa);
    LabelledGraph characters;
    if (!close(subsets, positions, max_states, max_steps, characters, out)) return out;
    const LabelledGraph graph = minimized(trimmed(std::move(characters), subsets.outputs()));
    const Spelling spelling(graph, nfa.classes());
    if (spelling.states() > max_states) {
        out.exceeded = ByteAutomaton::Limit::states;
        for (Word t = 0; t < positions.terminals(); ++t) out.involved.push_back(t);
        return out;
    }
    number_breadth_first(graph, subsets.outputs(), spelling, out);
    out.empty.assign(out.matches.begin(), out.matches.begin() + out.match_offsets[1]);
    std::vector<char> matched(positions.terminals(), 0);
    for (Word t : out.matches) matched[t] = 1;
    for (Word t = 0; t < positions.terminals(); ++t)
        if (!matched[t]) out.unmatched.push_back(t);
    return out;
}

}  // namespace psc
