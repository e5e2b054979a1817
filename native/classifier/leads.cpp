#include "classifier/leads.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/sorted.hpp"

namespace psc {

namespace {

class Leads {
public:
    explicit Leads(const TerminalSequences& whole)
        : whole_(whole),
          trie_(whole.grown->trie),
          n_nodes_(static_cast<std::size_t>(trie_.size())),
          first_(n_nodes_),
          rest_(n_nodes_) {
        split_nodes();
        classified_.resize(static_cast<std::size_t>(trie_.size()));
        choose();
    }

    TerminalSequences sequences() const {
        TerminalSequences made{whole_.grown, {}, {}, whole_.starts};
        RealizedSequences& realized = made.realized;
        realized.set_offsets = whole_.realized.set_offsets;
        realized.set_classes = whole_.realized.set_classes;
        realized.n_nodes = trie_.size();
        for (std::size_t q = 0; q < whole_.realized.of_state.size(); ++q) add(q, realized);
        for (SequenceNode node{0}; node.v < trie_.size(); ++node.v)
            if (classified_[node.index()]) made.all.push_back(node);
        return made;
    }

private:
    using Classes = std::span<const ClassSet>;

    // Each node's first terminal, and the node of what follows it. None for a sequence that begins with a condition.
    void split_nodes() {
        for (SequenceNode node{1}; node.index() < n_nodes_; ++node.v) {
            const SequenceNode parent = trie_.parent(node);
            if (parent == SequenceTrie::kRoot) {
                if (!trie_.label(node).is_terminal()) continue;
                first_[node.index()] = trie_.label(node).terminal();
                rest_[node.index()] = SequenceTrie::kRoot;
            } else if (const auto before = rest_[parent.index()]) {
                first_[node.index()] = first_[parent.index()];
                rest_[node.index()] = after(*before, node);
            }
        }
    }

    // What is left of a node, whose parent's rest is `before`.
    Maybe<SequenceNode> after(SequenceNode before, SequenceNode node) {
        const auto label = trie_.label(node);
        if (label.is_open()) return trie_.any_of_after(before, node);
        if (label.is_condition()) return trie_.where(before, trie_.condition(node));
        return trie_.child(before, label.terminal());
    }

    // Which sequences the classifier is closed over.
    void choose() {
        const auto& of_state = whole_.realized.of_state;
        for (LexerState start : whole_.starts)
            for (SequenceNode node : of_state[start.index()].sequences) classified_[node.index()] = 1;
        for (SequenceNode node : whole_.all)
            if (!rest_[node.index()] || *rest_[node.index()] == SequenceTrie::kRoot) classified_[node.index()] = 1;
        for (SequenceNode node : whole_.all)
            if (!classified_[node.index()]) classified_[(*rest_[node.index()]).index()] = 1;
    }

    void add(std::size_t q, RealizedSequences& realized) const {
        const Realizable& all = whole_.realized.of_state[q];
        std::vector<std::pair<SequenceNode, Classes>> own;
        std::map<Terminal, std::vector<std::pair<SequenceNode, Classes>>> by_lead;
        for (std::size_t i = 0; i < all.sequences.size(); ++i) {
            const SequenceNode node = all.sequences[i];
            if (classified_[node.index()])
                own.emplace_back(node, all.sets_of(i));
            else
                by_lead[*first_[node.index()]].emplace_back(*rest_[node.index()], all.sets_of(i));
        }
        realized.of_state.push_back(joined(own));
        for (auto& [terminal, rests] : by_lead) {
            realized.leads.push_back({{static_cast<Word>(q)}, terminal});
            realized.of_lead.push_back(joined(rests));
        }
    }

    // Two sequences may have one rest, as what follows a set is not narrowed any more by what the first terminal leads to.
    static Realizable joined(std::vector<std::pair<SequenceNode, Classes>>& of) {
        std::stable_sort(of.begin(), of.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        Realizable r;
        for (std::size_t i = 0; i < of.size(); ++i) {
            if (i == 0 || of[i].first != of[i - 1].first) {
                if (i > 0) r.offsets.push_back(static_cast<Word>(r.sets.size()));
                r.sequences.push_back(of[i].first);
            }
            r.sets.insert(r.sets.end(), of[i].second.begin(), of[i].second.end());
        }
        if (!of.empty()) r.offsets.push_back(static_cast<Word>(r.sets.size()));
        return r;
    }

    const TerminalSequences& whole_;
    SequenceTrie& trie_;
    std::size_t n_nodes_;
    std::vector<Maybe<Terminal>> first_;     // per node
    std::vector<Maybe<SequenceNode>> rest_;  // per node
    std::vector<char> classified_;           // per node: whether the classifier is closed over it
};

}  // namespace

TerminalSequences with_leads(const TerminalSequences& sequences) { return Leads(sequences).sequences(); }

}  // namespace psc
