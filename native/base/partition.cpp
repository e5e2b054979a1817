#include "base/partition.hpp"

#include <algorithm>
#include <utility>

#include "base/cancellation.hpp"
#include "base/grouped.hpp"

namespace psc {

std::vector<Word> coarsest_partition(const LabelledGraph& g) {
    const std::size_t n = g.state_output.size();
    const Grouped sources(n, [&](const auto& add) {  // per state, of the arcs that lead to it
        for (std::size_t s = 0; s < n; ++s)
            for (std::size_t i = g.offsets[s]; i < g.offsets[s + 1]; ++i)
                add(static_cast<std::size_t>(g.arcs[i].target), static_cast<Word>(s));
    });
    // Labels and outputs of a state's arcs without their targets, as runs of labels with one output. No round changes them.
    std::vector<Word> shape(n), signature;
    {
        SequenceInterner shapes;
        const auto arc_before = [&](std::size_t i) -> const LabelledGraph::Arc& { return g.arcs[i - 1]; };
        for (std::size_t s = 0; s < n; ++s) {
            signature.assign(1, g.state_output[s]);
            for (std::size_t i = g.offsets[s]; i < g.offsets[s + 1]; ++i) {
                const auto& arc = g.arcs[i];
                if (i > g.offsets[s] && arc.output == arc_before(i).output && arc.label == arc_before(i).label + 1)
                    ++signature.back();
                else
                    signature.insert(signature.end(), {arc.label, arc.output, 1});
            }
            shape[s] = shapes.intern(signature).first;
        }
    }
    // One block, in which all states are dirty: the first round splits by shapes.
    std::vector<Word> block(n, 0);
    std::vector<std::vector<Word>> members(1);
    for (std::size_t s = 0; s < n; ++s) members[0].push_back(static_cast<Word>(s));
    std::vector<std::size_t> position(n);  // of a state in its block's members
    for (std::size_t s = 0; s < n; ++s) position[s] = s;
    std::vector<char> dirty(n, 1);
    std::vector<std::vector<Word>> dirty_of(1, members[0]);  // per block
    std::vector<Word> todo{0};
    std::vector<char> queued(1, 1);
    CancellationWatch watch;
    while (!todo.empty()) {
        const Word b = todo.back();
        todo.pop_back();
        queued[b] = 0;
        std::vector<Word> visit = std::move(dirty_of[b]);
        dirty_of[b].clear();
        // Clean states had equal signatures when their block was last split, and none of their targets has moved since: one of them
        // represents all.
        const bool some_clean = visit.size() < members[b].size();
        Word clean = -1;
        if (some_clean)
            for (std::size_t i = 0; clean < 0; ++i)
                if (!dirty[members[b][i]]) clean = members[b][i];
        for (Word s : visit) dirty[s] = 0;
        if (members[b].size() == 1) continue;
        if (some_clean) visit.push_back(clean);
        SequenceInterner signatures;
        std::vector<std::vector<Word>> parts;
        std::size_t keep = 0;  // the part that keeps the block's number: the one of the clean states, else the largest
        for (Word s : visit) {
            watch.step(1 + g.offsets[s + 1] - g.offsets[s]);
            signature.assign(1, shape[s]);  // and runs of arcs into one block
            Word into = -1;
            for (std::size_t i = g.offsets[s]; i < g.offsets[s + 1]; ++i)
                if (const Word to = block[g.arcs[i].target]; to != into) {
                    signature.insert(signature.end(), {static_cast<Word>(i - g.offsets[s]), to});
                    into = to;
                }
            const Word part = signatures.intern(signature).first;
            if (part == static_cast<Word>(parts.size())) parts.emplace_back();
            parts[part].push_back(s);
            if (s == clean) keep = part;
        }
        if (parts.size() == 1) continue;
        if (!some_clean)
            for (std::size_t p = 0; p < parts.size(); ++p)
                if (parts[p].size() > parts[keep].size()) keep = p;
        std::vector<Word> moved;
        for (std::size_t p = 0; p < parts.size(); ++p) {
            if (p == keep) continue;
            const Word fresh = static_cast<Word>(members.size());
            for (Word s : parts[p]) {
                block[s] = fresh;
                members[b][position[s]] = members[b].back();  // swap out, so that a large block is not searched
                position[members[b].back()] = position[s];
                members[b].pop_back();
            }
            for (std::size_t i = 0; i < parts[p].size(); ++i) position[parts[p][i]] = i;
            moved.insert(moved.end(), parts[p].begin(), parts[p].end());
            members.push_back(std::move(parts[p]));
            dirty_of.emplace_back();
            queued.push_back(0);
        }
        for (Word s : moved)
            for (Word source : sources[static_cast<std::size_t>(s)]) {
                if (std::exchange(dirty[source], 1)) continue;
                dirty_of[block[source]].push_back(source);
                if (!std::exchange(queued[block[source]], 1)) todo.push_back(block[source]);
            }
    }
    // Number the blocks by their first state.
    std::vector<Word> number(members.size(), -1);
    Word next = 0;
    for (Word& b : block) {
        if (number[b] < 0) number[b] = next++;
        b = number[b];
    }
    return block;
}

}  // namespace psc
