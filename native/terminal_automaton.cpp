#include "terminal_automaton.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "code_point_classes.hpp"
#include "partition.hpp"
#include "sorted.hpp"
#include "terminal_positions.hpp"

namespace psc {

namespace {

using Step = TerminalPositions::Kind;
using Arc = LabelledGraph::Arc;

// The deterministic automaton over classes of characters, as yet with states from which nothing can match.
class Subsets {
public:
    Subsets(const TerminalPositions& positions, const CodePointClasses& classes, std::size_t max_states, std::size_t max_steps)
        : positions_(positions),
          classes_(classes),
          max_states_(max_states),
          max_steps_(max_steps),
          state_after_node_(positions.nodes().size(), -1),
          stamp_(positions.nodes().size(), -1),
          first_(classes.size(), -1),
          bucket_(classes.size()) {}

    // False when a limit is passed.
    bool run() {
        std::vector<Word> entries(positions_.entries().begin(), positions_.entries().end());
        sort_unique(entries);
        state_after(entries);
        for (Word s = 0; s < states_.size(); ++s) {
            last_ = s;
            expand(s);
            if (static_cast<std::size_t>(states_.size()) > max_states_) {
                exceeded_ = ByteAutomaton::Limit::states;
                return false;
            }
            if (steps_ > max_steps_) {
                exceeded_ = ByteAutomaton::Limit::steps;
                return false;
            }
        }
        return true;
    }

    ByteAutomaton::Limit exceeded() const { return exceeded_; }

    std::vector<Word> involved() const {
        std::vector<Word> terminals;
        for (Word node : states_[last_]) terminals.push_back(positions_.terminal_of(node));
        sort_unique(terminals);
        return terminals;
    }

    LabelledGraph& graph() { return graph_; }
    // What a state's output number says: the terminals that match there.
    const SequenceInterner& outputs() const { return outputs_; }

private:
    // The state of everything that can be read or matched from these nodes on.
    Word state_after(std::span<const Word> nodes) {
        const auto [id, fresh] = after_.intern(nodes);
        if (!fresh) return state_of_[id];
        const auto& all = positions_.nodes();
        std::vector<Word>& subset = subset_;
        subset.clear();
        stack_.assign(nodes.begin(), nodes.end());
        while (!stack_.empty()) {
            const Word n = stack_.back();
            stack_.pop_back();
            if (n < 0 || stamp_[n] == id) continue;
            stamp_[n] = id;
            ++steps_;
            if (all[n].kind == Step::split) {
                stack_.push_back(all[n].b);
                stack_.push_back(all[n].a);
            } else {
                subset.push_back(n);
            }
        }
        std::sort(subset.begin(), subset.end());
        const Word state = states_.intern(subset).first;
        state_of_.push_back(state);
        return state;
    }

    void expand(Word s) {
        const auto& all = positions_.nodes();
        const std::vector<Word> subset(states_[s].begin(), states_[s].end());
        matched_.clear();
        excepted_.clear();
        touched_.clear();
        for (Word n : subset) {
            const auto& node = all[n];
            if (node.kind == Step::match) {
                (node.a < positions_.terminals() ? matched_ : excepted_).push_back(node.a);
                continue;
            }
            if (node.kind == Step::match_all) {
                const auto list = positions_.list(node.a);
                matched_.insert(matched_.end(), list.begin(), list.end());
                continue;
            }
            const auto members = classes_.members(node.a);
            for (Word c : members) {
                if (first_[c] < 0) {
                    first_[c] = node.b;
                    touched_.push_back(c);
                } else if (first_[c] != node.b) {
                    bucket_[c].push_back(node.b);
                }
            }
            steps_ += members.size();
            if (steps_ > max_steps_) return;
        }
        sort_unique(matched_);
        for (Word e : excepted_) std::erase(matched_, e - positions_.terminals());
        graph_.state_output.push_back(outputs_.intern(matched_).first);
        if (!std::is_sorted(touched_.begin(), touched_.end())) std::sort(touched_.begin(), touched_.end());
        for (Word c : touched_) {
            const Word first = std::exchange(first_[c], -1);
            if (bucket_[c].empty()) {
                if (state_after_node_[first] < 0) state_after_node_[first] = state_after({&first, 1});
                graph_.arcs.push_back({c, 0, state_after_node_[first]});
                continue;
            }
            bucket_[c].push_back(first);
            sort_unique(bucket_[c]);
            graph_.arcs.push_back({c, 0, state_after(bucket_[c])});
            bucket_[c].clear();
        }
        graph_.offsets.push_back(graph_.arcs.size());
    }

    const TerminalPositions& positions_;
    const CodePointClasses& classes_;
    std::size_t max_states_, max_steps_, steps_ = 0;
    ByteAutomaton::Limit exceeded_ = ByteAutomaton::Limit::none;
    Word last_ = 0;
    SequenceInterner after_;      // nodes arrived at, before splits are followed
    std::vector<Word> state_of_;  // per such sequence
    SequenceInterner states_, outputs_;
    LabelledGraph graph_;
    std::vector<Word> state_after_node_;  // the same for one node, or -1
    std::vector<Word> stamp_, stack_, subset_, matched_, excepted_, touched_;
    std::vector<Word> first_;                // per class, a node arrived at by it, or -1: there is mostly one
    std::vector<std::vector<Word>> bucket_;  // and the others
};

// Without the states from which no terminal can match any more, which exceptions and empty sets leave behind. State 0 stays.
LabelledGraph trimmed(LabelledGraph g, const SequenceInterner& outputs) {
    const std::size_t n = g.state_output.size();
    // Most arcs lead to states with larger numbers, so that going back twice mostly finds that all can match.
    std::vector<char> live(n, 0);
    for (int round = 0; round < 2; ++round)
        for (std::size_t s = n; s-- > 0;) {
            if (!live[s]) live[s] = !outputs[g.state_output[s]].empty();
            for (std::size_t i = g.offsets[s]; i < g.offsets[s + 1] && !live[s]; ++i) live[s] = live[g.arcs[i].target];
        }
    if (std::find(live.begin(), live.end(), 0) == live.end()) return g;
    std::vector<std::size_t> offsets(n + 1);
    for (const Arc& a : g.arcs) ++offsets[a.target + 1];
    for (std::size_t s = 0; s < n; ++s) offsets[s + 1] += offsets[s];
    std::vector<Word> sources(g.arcs.size());
    auto at = offsets;
    for (std::size_t s = 0; s < n; ++s)
        for (std::size_t i = g.offsets[s]; i < g.offsets[s + 1]; ++i) sources[at[g.arcs[i].target]++] = static_cast<Word>(s);
    std::vector<Word> todo;
    for (std::size_t s = 0; s < n; ++s)
        if (live[s]) todo.push_back(static_cast<Word>(s));
    while (!todo.empty()) {
        const Word s = todo.back();
        todo.pop_back();
        for (std::size_t i = offsets[s]; i < offsets[s + 1]; ++i)
            if (!std::exchange(live[sources[i]], 1)) todo.push_back(sources[i]);
    }
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

// One state for each class of states that no text tells apart; state 0 is the start's.
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

// The rows of 256 targets of a graph's states, and after them those of the states inside a character.
class Spelling {
public:
    Spelling(const LabelledGraph& g, const CodePointClasses& classes) : classes_(classes), first_inner_(g.state_output.size()) {
        slot_.assign(classes.size(), -1);
        Word wide = 0;
        for (Word c = 0; c < classes.size(); ++c)
            if (classes.is_wide(c)) slot_[c] = wide++;
        std::vector<Word> target(classes.size());
        key_.resize(wide);
        for (std::size_t s = 0; s < first_inner_; ++s) {
            std::fill(target.begin(), target.end(), -1);
            std::fill(key_.begin(), key_.end(), -1);
            for (std::size_t i = g.offsets[s]; i < g.offsets[s + 1]; ++i) {
                const Arc& a = g.arcs[i];
                target[a.label] = a.target;
                if (slot_[a.label] >= 0) key_[slot_[a.label]] = a.target;
            }
            const auto [id, fresh] = keys_.intern(key_);
            if (fresh) roots_.push_back(spell());
            root_of_.push_back(id);
            for (int b = 0; b < 128; ++b) ascii_.push_back(classes.of_ascii(b) < 0 ? -1 : target[classes.of_ascii(b)]);
        }
    }

    std::size_t states() const { return first_inner_ + inner_.size(); }

    void fill(std::size_t state, std::span<Word, 256> row) const {
        std::fill(row.begin(), row.end(), -1);
        if (state >= first_inner_) {
            fill_runs(inner_[static_cast<Word>(state - first_inner_)], row);
            return;
        }
        std::copy_n(ascii_.begin() + state * 128, 128, row.begin());
        fill_runs(roots_[root_of_[state]], row);
    }

private:
    static void fill_runs(std::span<const Word> runs, std::span<Word, 256> row) {
        for (std::size_t i = 0; i < runs.size(); i += 3)
            std::fill(row.begin() + runs[i], row.begin() + runs[i + 1] + 1, runs[i + 2]);
    }

    // The diagram's runs with the states of the key in the place of classes.
    void substitute(std::span<const Word> runs, std::vector<Word>& out) const {
        out.clear();
        for (std::size_t i = 0; i < runs.size(); i += 3) {
            const Word to = runs[i + 2] >= 0 ? value_[runs[i + 2]] : key_[slot_[-1 - runs[i + 2]]];
            if (to >= 0) CodePointClasses::append_run(out, runs[i], runs[i + 1], to);
        }
    }

    std::vector<Word> spell() {
        std::vector<Word> runs;
        if (std::all_of(key_.begin(), key_.end(), [](Word t) { return t < 0; })) return runs;
        value_.resize(classes_.node_count());
        for (Word n = 0; n < classes_.node_count(); ++n) {
            substitute(classes_.node(n), runs);
            value_[n] = runs.empty() ? -1 : static_cast<Word>(first_inner_) + inner_.intern(runs).first;
        }
        substitute(classes_.root(), runs);
        return runs;
    }

    const CodePointClasses& classes_;
    std::size_t first_inner_;
    std::vector<Word> slot_;  // per class, its place in a key, if it has characters beyond ASCII
    std::vector<Word> key_;   // per such class, the state that it leads to
    SequenceInterner keys_, inner_;
    std::vector<std::vector<Word>> roots_;  // per key
    std::vector<Word> root_of_, ascii_, value_;
};

void number_breadth_first(const LabelledGraph& g, const SequenceInterner& outputs, const Spelling& spelling, ByteAutomaton& out) {
    std::vector<Word> number(spelling.states(), -1), order{0};  // the start is copied, and met again where arcs lead into it
    out.next.reserve((spelling.states() + 1) * 256);
    for (std::size_t i = 0; i < order.size(); ++i) {
        const std::size_t state = static_cast<std::size_t>(order[i]);
        out.next.resize(out.next.size() + 256);
        const std::span<Word, 256> row(out.next.end() - 256, 256);
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
}

}  // namespace

ByteAutomaton build_terminal_automaton(std::span<const Word> programs, std::span<const Word> offsets, std::span<const Word> ranges,
                                       std::span<const Word> range_offsets, std::size_t max_states, std::size_t max_positions,
                                       std::size_t max_steps) {
    ByteAutomaton out;
    const TerminalPositions positions(programs, offsets, static_cast<Word>(range_offsets.size()) - 1, max_positions);
    if (positions.failed() >= 0) {
        out.exceeded = ByteAutomaton::Limit::positions;
        out.involved.push_back(positions.failed());
        return out;
    }
    const CodePointClasses classes(ranges, range_offsets);
    Subsets subsets(positions, classes, max_states, max_steps);
    if (!subsets.run()) {
        out.exceeded = subsets.exceeded();
        out.involved = subsets.involved();
        return out;
    }
    const LabelledGraph graph = minimized(trimmed(std::move(subsets.graph()), subsets.outputs()));
    const Spelling spelling(graph, classes);
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
