// The last stage of a compilation: sequences that are always emitted together become one label, the machine is
// minimized, and each lexer state says which tokens a label stands for.
#include <algorithm>
#include <map>

#include "compilation.hpp"
#include "partition.hpp"
#include "sorted.hpp"

namespace psc {
namespace {

// Which sequences no emission tells apart. kFail for those that are never emitted.
class Labels {
public:
    Labels(const Classifier& classifier, Word n_nodes) : label_(n_nodes, kFail) {
        std::vector<char> emitted(n_nodes);
        for (Word p = 0; p < classifier.n_parts(); ++p)
            for (Word node : classifier.sequences_of(p)) emitted[node] = 1;
        Word members = 0;
        for (Word node = 0; node < n_nodes; ++node)
            if (emitted[node]) label_[node] = 0, ++members;
        if (members == 0) return;
        size_.push_back(members);
        for (Word p = 0; p < classifier.n_parts(); ++p) split_by(classifier.sequences_of(p));
        // Numbered by their first sequence, so that the result does not depend on the order of the splits.
        std::vector<Word> number(size_.size(), kFail);
        for (Word& label : label_)
            if (label != kFail) {
                if (number[label] == kFail) number[label] = count_++;
                label = number[label];
            }
    }

    Word count() const { return count_; }
    Word operator[](Word node) const { return label_[node]; }

private:
    void split_by(std::span<const Word> list) {
        touched_.clear();
        hits_.resize(size_.size());
        fresh_.resize(size_.size(), kFail);
        for (Word node : list)
            if (hits_[label_[node]]++ == 0) touched_.push_back(label_[node]);
        for (Word l : touched_)
            if (hits_[l] < size_[l]) {
                fresh_[l] = static_cast<Word>(size_.size());
                size_[l] -= hits_[l];
                size_.push_back(hits_[l]);
            }
        for (Word node : list)
            if (const Word to = fresh_[label_[node]]; to != kFail) label_[node] = to;
        for (Word l : touched_) hits_[l] = 0, fresh_[l] = kFail;
        hits_.resize(size_.size());
        fresh_.resize(size_.size(), kFail);
    }

    std::vector<Word> label_, size_, hits_, fresh_, touched_;
    Word count_ = 0;
};

void append(std::vector<Word>& offsets, std::vector<Word>& pool, std::span<const Word> words) {
    if (offsets.empty()) offsets.push_back(0);
    pool.insert(pool.end(), words.begin(), words.end());
    offsets.push_back(static_cast<Word>(pool.size()));
}

}  // namespace

void Compilation::assemble() {
    const Labels labels(*classifier_, trie_->size());
    ClassifierTables& t = tables_;
    t.n_labels = labels.count();

    // Emissions as sets of labels.
    std::vector<std::vector<Word>> part_labels(classifier_->n_parts());
    for (Word p = 0; p < classifier_->n_parts(); ++p) {
        auto& l = part_labels[p];
        for (Word node : classifier_->sequences_of(p)) l.push_back(labels[node]);
        sort_unique(l);
    }
    SequenceInterner emissions;
    emissions.intern({});
    std::vector<Word> emission_of(classifier_->n_emissions());
    std::vector<char> in_set(labels.count());
    std::vector<Word> all;
    for (Word e = 0; e < classifier_->n_emissions(); ++e) {
        all.clear();
        for (Word part : classifier_->parts_of(e))
            for (Word l : part_labels[part])
                if (!std::exchange(in_set[l], 1)) all.push_back(l);
        for (Word l : all) in_set[l] = 0;
        std::sort(all.begin(), all.end());
        emission_of[e] = emissions.intern(all).first;
    }
    part_labels.clear();

    // The minimal machine.
    LabelledGraph g;
    auto built = classifier_->transitions();
    std::sort(built.begin(), built.end(), [](const auto& x, const auto& y) {
        return x.state != y.state ? x.state < y.state : x.symbol < y.symbol;
    });
    SequenceInterner outputs;
    std::size_t at = 0;
    for (Word s = 0; s < classifier_->n_states(); ++s) {
        for (; at < built.size() && built[at].state == s; ++at) {
            const Word out[2] = {emission_of[built[at].to.emission], built[at].to.skip};
            g.arcs.push_back({built[at].symbol, outputs.intern(out).first, built[at].to.next});
        }
        g.offsets.push_back(g.arcs.size());
        g.state_output.push_back(0);
    }
    built.clear();
    const auto block = coarsest_partition(g);
    t.n_states = 0;
    std::vector<char> done(g.state_output.size());
    t.offsets.push_back(0);
    // Blocks are numbered by their first state, so writing each block at its first state keeps them in order.
    std::vector<Word> emission_number(emissions.size(), kFail);
    append(t.emission_offsets, t.emission_labels, {});
    emission_number[0] = 0;
    for (std::size_t s = 0; s < g.state_output.size(); ++s) {
        if (std::exchange(done[block[s]], 1)) continue;
        for (std::size_t i = g.offsets[s]; i < g.offsets[s + 1]; ++i) {
            const auto out = outputs[g.arcs[i].output];
            if (emission_number[out[0]] == kFail) {
                emission_number[out[0]] = static_cast<Word>(t.emission_offsets.size()) - 1;
                append(t.emission_offsets, t.emission_labels, emissions[out[0]]);
            }
            t.symbol.push_back(g.arcs[i].label);
            t.next.push_back(block[g.arcs[i].target]);
            t.skip.push_back(out[1]);
            t.emission.push_back(emission_number[out[0]]);
        }
        t.offsets.push_back(static_cast<Word>(t.symbol.size()));
        ++t.n_states;
    }
    t.start = block[start_];

    // What the labels stand for, per lexer state.
    const Word n_lexer_states = lexer_->n_states();
    SequenceInterner sets;
    sets.intern({});
    t.meaning_offsets.push_back(0);
    t.always.assign(n_lexer_states, 0);
    append(t.set_offsets, t.set_classes, {});
    auto number_of = [&](std::span<const Word> members) {
        all.clear();
        for (Word s : members) all.insert(all.end(), sets_[s].begin(), sets_[s].end());
        sort_unique(all);
        const auto [id, fresh] = sets.intern(all);
        if (fresh) append(t.set_offsets, t.set_classes, all);
        return id;
    };
    for (Word q = 0; q < n_lexer_states; ++q) {
        std::map<Word, std::vector<Word>> by_label;
        const Realizable& r = realizable_[q];
        for (std::size_t i = 0; i < r.node.size(); ++i) {
            const Word node = r.node[i];
            const auto members = r.sets_of(i);
            if (node == 0)
                t.always[q] = number_of(members);
            else if (labels[node] != kFail) {
                auto& l = by_label[labels[node]];
                l.insert(l.end(), members.begin(), members.end());
            }
        }
        for (const auto& [label, members] : by_label) {
            t.meaning_labels.push_back(label);
            t.meaning_sets.push_back(number_of(members));
        }
        t.meaning_offsets.push_back(static_cast<Word>(t.meaning_labels.size()));
    }
}

}  // namespace psc
