#include "base/partition.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/cancellation.hpp"
#include "base/components.hpp"
#include "base/grouped.hpp"

namespace psc {

namespace {

// Per state, of the arcs that lead to it.
Grouped<> sources_of(const LabelledGraph& g) {
    return Grouped<>(g.state_output.size(), [&](const auto& add) {
        for (std::size_t s = 0; s < g.state_output.size(); ++s)
            for (std::size_t i = g.offsets[s]; i < g.offsets[s + 1]; ++i)
                add(static_cast<std::size_t>(g.arcs[i].target), static_cast<Word>(s));
    });
}

// Per state, a number for its output, and the labels and outputs of its arcs, as runs of labels with one output. No round changes it.
std::vector<Word> shapes_of(const LabelledGraph& g) {
    std::vector<Word> out(g.state_output.size()), signature;
    SequenceInterner shapes;
    for (std::size_t s = 0; s < out.size(); ++s) {
        signature.assign(1, g.state_output[s]);
        for (std::size_t i = g.offsets[s]; i < g.offsets[s + 1]; ++i) {
            const auto& arc = g.arcs[i];
            if (i > g.offsets[s] && arc.output == g.arcs[i - 1].output && arc.label == g.arcs[i - 1].label + 1)
                ++signature.back();
            else
                signature.insert(signature.end(), {arc.label, arc.output, 1});
        }
        out[s] = shapes.intern(signature).first;
    }
    return out;
}

// A block's members to visit fall into parts; all but one leave it.
struct BlockParts {
    std::vector<std::vector<Word>> states;
    std::size_t keep = 0;  // the part that keeps the block's number: the one of the clean states, else the largest
};

// A state is dirty where the target of one of its arcs has left its block since the state's own block was last split.
class Splitting {
public:
    explicit Splitting(const LabelledGraph& graph)
        : g(graph),
          sources_(sources_of(g)),
          shape_(shapes_of(g)),
          block_(shape_.size(), 0),
          members_(1),
          position_(shape_.size()),
          dirty_(shape_.size(), 1) {
        // One block, in which all states are dirty: the first round splits by shapes.
        for (std::size_t s = 0; s < shape_.size(); ++s) {
            members_[0].push_back(static_cast<Word>(s));
            position_[s] = s;
        }
        dirty_of_.push_back(members_[0]);
    }

    // Splits blocks until nothing changes.
    void run() {
        while (!todo_.empty()) {
            const Word b = todo_.back();
            todo_.pop_back();
            queued_[b] = 0;
            split(b);
        }
    }

    // Per state its block, numbered by the first state.
    std::vector<Word> numbered() && {
        std::vector<Word> number(members_.size(), -1);
        Word next = 0;
        for (Word& b : block_) {
            if (number[b] < 0) number[b] = next++;
            b = number[b];
        }
        return std::move(block_);
    }

private:
    void split(Word b) {
        std::vector<Word> visit = std::move(dirty_of_[b]);
        dirty_of_[b].clear();
        // Clean states had equal signatures when their block was last split, and none of their targets has moved since: one of them
        // represents all.
        const bool some_clean = visit.size() < members_[b].size();
        Word clean = -1;
        if (some_clean)
            for (std::size_t i = 0; clean < 0; ++i)
                if (!dirty_[members_[b][i]]) clean = members_[b][i];
        for (Word s : visit) dirty_[s] = 0;
        if (members_[b].size() == 1) return;
        if (some_clean) visit.push_back(clean);
        BlockParts parts = parts_of(visit, clean);
        if (parts.states.size() == 1) return;
        mark_sources(move_out(b, parts));
    }

    // By signature. `clean` is -1 where there is none.
    BlockParts parts_of(const std::vector<Word>& visit, Word clean) {
        BlockParts out;
        SequenceInterner signatures;
        for (Word s : visit) {
            watch_.step(1 + g.offsets[s + 1] - g.offsets[s]);
            signature_.assign(1, shape_[s]);  // and runs of arcs into one block
            Word into = -1;
            for (std::size_t i = g.offsets[s]; i < g.offsets[s + 1]; ++i)
                if (const Word to = block_[g.arcs[i].target]; to != into) {
                    signature_.insert(signature_.end(), {static_cast<Word>(i - g.offsets[s]), to});
                    into = to;
                }
            const Word part = signatures.intern(signature_).first;
            if (part == static_cast<Word>(out.states.size())) out.states.emplace_back();
            out.states[part].push_back(s);
            if (s == clean) out.keep = part;
        }
        if (clean < 0)
            for (std::size_t p = 0; p < out.states.size(); ++p)
                if (out.states[p].size() > out.states[out.keep].size()) out.keep = p;
        return out;
    }

    // Makes each part but one a block; returns the states that moved.
    std::vector<Word> move_out(Word b, BlockParts& parts) {
        std::vector<Word> moved;
        for (std::size_t p = 0; p < parts.states.size(); ++p) {
            if (p == parts.keep) continue;
            std::vector<Word>& part = parts.states[p];
            const Word fresh = static_cast<Word>(members_.size());
            for (Word s : part) {
                block_[s] = fresh;
                members_[b][position_[s]] = members_[b].back();  // swap out, so that a large block is not searched
                position_[members_[b].back()] = position_[s];
                members_[b].pop_back();
            }
            for (std::size_t i = 0; i < part.size(); ++i) position_[part[i]] = i;
            moved.insert(moved.end(), part.begin(), part.end());
            members_.push_back(std::move(part));
            dirty_of_.emplace_back();
            queued_.push_back(0);
        }
        return moved;
    }

    void mark_sources(const std::vector<Word>& moved) {
        for (Word s : moved)
            for (Word source : sources_[static_cast<std::size_t>(s)]) {
                if (std::exchange(dirty_[source], 1)) continue;
                dirty_of_[block_[source]].push_back(source);
                if (!std::exchange(queued_[block_[source]], 1)) todo_.push_back(block_[source]);
            }
    }

    const LabelledGraph& g;
    const Grouped<> sources_;
    const std::vector<Word> shape_;
    std::vector<Word> block_;                  // per state
    std::vector<std::vector<Word>> members_;   // per block
    std::vector<std::size_t> position_;        // of a state in its block's members
    std::vector<char> dirty_;                  // per state
    std::vector<std::vector<Word>> dirty_of_;  // per block
    std::vector<Word> todo_{0};                // blocks, each once:
    std::vector<char> queued_ = std::vector<char>(1, 1);
    std::vector<Word> signature_;
    CancellationWatch watch_;
};

std::vector<Word> split_until_stable(const LabelledGraph& graph) {
    Splitting splitting(graph);
    splitting.run();
    return std::move(splitting).numbered();
}

// The states that lie on a cycle or behind one. `order`: all components, callees first.
std::vector<char> behind_cycles(std::size_t n, const std::vector<std::vector<Word>>& order, const Grouped<>& targets) {
    std::vector<char> found(n);
    for (auto component = order.rbegin(); component != order.rend(); ++component) {
        const auto of_first = targets[static_cast<std::size_t>(component->front())];
        const bool cycle =
            component->size() > 1 || std::find(of_first.begin(), of_first.end(), component->front()) != of_first.end();
        if (!cycle && std::none_of(component->begin(), component->end(), [&](Word s) { return found[s] != 0; })) continue;
        for (Word s : *component) {
            found[s] = 1;
            for (Word to : targets[static_cast<std::size_t>(s)]) found[to] = 1;
        }
    }
    return found;
}

// The graph of some states, which lead to each other alone.
LabelledGraph part_of(const LabelledGraph& g, const std::vector<char>& within) {
    LabelledGraph out;
    std::vector<Word> number(within.size(), -1);
    Word n = 0;
    for (std::size_t s = 0; s < within.size(); ++s)
        if (within[s]) number[s] = n++;
    for (std::size_t s = 0; s < within.size(); ++s) {
        if (!within[s]) continue;
        out.state_output.push_back(g.state_output[s]);
        for (std::size_t i = g.offsets[s]; i < g.offsets[s + 1]; ++i)
            out.arcs.push_back({g.arcs[i].label, g.arcs[i].output, number[g.arcs[i].target]});
        out.offsets.push_back(out.arcs.size());
    }
    return out;
}

}  // namespace

std::vector<Word> coarsest_partition(const LabelledGraph& g) {
    const std::size_t n = g.state_output.size();
    const Grouped<> targets(n, [&](const auto& add) {
        for (std::size_t s = 0; s < n; ++s)
            for (std::size_t i = g.offsets[s]; i < g.offsets[s + 1]; ++i)
                if (i == g.offsets[s] || g.arcs[i].target != g.arcs[i - 1].target) add(s, g.arcs[i].target);
    });
    std::vector<Word> all(n);
    std::iota(all.begin(), all.end(), 0);
    const auto order = components(static_cast<Word>(n), all, [&](Word s) { return targets[static_cast<std::size_t>(s)]; });
    const std::vector<char> split = behind_cycles(n, order, targets);
    if (std::find(split.begin(), split.end(), 0) == split.end()) return split_until_stable(g);

    std::vector<Word> block(n, -1), signature;
    SequenceInterner signatures;  // a block's number is that of its signature
    CancellationWatch watch;
    // The output, and runs of labels whose arcs have one output and lead into one block.
    const auto block_by_signature = [&](std::size_t s) {
        watch.step(1 + g.offsets[s + 1] - g.offsets[s]);
        signature.assign(1, g.state_output[s]);
        Word label = -1, output = -1, into = -1;
        for (std::size_t i = g.offsets[s]; i < g.offsets[s + 1]; ++i) {
            const auto& arc = g.arcs[i];
            const Word to = block[arc.target];
            if (i > g.offsets[s] && arc.label == label + 1 && arc.output == output && to == into)
                ++signature.back();
            else
                signature.insert(signature.end(), {arc.label, arc.output, to, 1});
            label = arc.label, output = arc.output, into = to;
        }
        return signatures.intern(signature).first;
    };
    const std::vector<Word> of_part = split_until_stable(part_of(g, split));
    std::vector<std::size_t> first;  // per block, a state
    for (std::size_t s = 0, i = 0; s < n; ++s) {
        if (!split[s]) continue;
        block[s] = of_part[i++];
        if (block[s] == static_cast<Word>(first.size())) first.push_back(s);
    }
    for (std::size_t s : first) block_by_signature(s);
    for (const auto& component : order)
        if (const Word s = component.front(); !split[s]) block[s] = block_by_signature(static_cast<std::size_t>(s));
    std::vector<Word> number(static_cast<std::size_t>(signatures.size()), -1);
    Word next = 0;
    for (Word& b : block) {
        if (number[b] < 0) number[b] = next++;
        b = number[b];
    }
    return block;
}

}  // namespace psc
