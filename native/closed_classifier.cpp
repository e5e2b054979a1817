#include "closed_classifier.hpp"

#include <algorithm>

#include "wire.hpp"

namespace psc {

std::vector<Word> ClosedClassifier::to_words() const {
    WordWriter w;
    w.put(n_states);
    w.put(start);
    std::vector<Word> flat;
    flat.reserve(transitions.size() * 5);
    for (const auto& t : transitions) flat.insert(flat.end(), {t.state, t.symbol, t.to.next, t.to.skip, t.to.emission});
    w.put(flat);
    for (const auto* v : {&emission_offsets, &emission_parts, &part_offsets, &part_sequences}) w.put(*v);
    return w.take();
}

ClosedClassifier ClosedClassifier::from_words(std::span<const Word> words) {
    WordReader r(words);
    ClosedClassifier c;
    c.n_states = r.word();
    c.start = r.word();
    const auto flat = r.vector();
    for (std::size_t i = 0; i + 4 < flat.size(); i += 5)
        c.transitions.push_back({flat[i], flat[i + 1], {flat[i + 2], flat[i + 3], flat[i + 4]}});
    for (auto* v : {&c.emission_offsets, &c.emission_parts, &c.part_offsets, &c.part_sequences}) *v = r.vector();
    r.end();
    return c;
}

namespace {

class Merge {
public:
    explicit Merge(std::vector<ClosedClassifier> parts)
        : parts_(std::move(parts)), index_(parts_.size()), first_part_(parts_.size()) {
        states_.intern({});
        emissions_.intern({});
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            ClosedClassifier& c = parts_[i];
            for (std::size_t t = 0; t < c.transitions.size(); ++t)
                index_[i].insert(c.transitions[t].state, c.transitions[t].symbol, static_cast<Word>(t));
            first_part_[i] = merged_.n_parts();
            for (Word p = 0; p < c.n_parts(); ++p) {
                const auto sequences = c.sequences_of(p);
                merged_.part_sequences.insert(merged_.part_sequences.end(), sequences.begin(), sequences.end());
                merged_.part_offsets.push_back(static_cast<Word>(merged_.part_sequences.size()));
            }
        }
    }

    Word start() {
        key_.clear();
        for (std::size_t i = 0; i < parts_.size(); ++i)
            if (parts_[i].start != 0) key_.insert(key_.end(), {static_cast<Word>(i), parts_[i].start, 0});
        return states_.intern(key_).first;
    }

    bool known(Word state, Word symbol) const { return taken_.find(state, symbol) >= 0; }

    Transition step(Word state, Word symbol) {
        from_.assign(states_[state].begin(), states_[state].end());
        key_.clear();
        emitted_.clear();
        Word skip = -1;
        for (std::size_t k = 0; k < from_.size(); k += 3) {  // (classifier, its state, what it has yet to skip)
            const Word i = from_[k];
            Word next = from_[k + 1], pending = from_[k + 2];
            if (pending > 0) {
                --pending;
            } else {
                const Word at = index_[i].find(next, symbol);
                if (at < 0) throw std::logic_error("a classifier to be merged is not closed");
                const Transition& t = parts_[i].transitions[at].to;
                if (t.emission != 0) emitted_.insert(emitted_.end(), {i, t.emission});
                next = t.next;
                pending = t.skip;
            }
            if (next == 0) continue;
            key_.insert(key_.end(), {i, next, pending});
            skip = skip < 0 ? pending : std::min(skip, pending);
        }
        skip = std::max<Word>(skip, 0);
        for (std::size_t k = 2; k < key_.size(); k += 3) key_[k] -= skip;
        const Transition to{states_.intern(key_).first, skip, emissions_.intern(emitted_).first};
        taken_.insert(state, symbol, static_cast<Word>(merged_.transitions.size()));
        merged_.transitions.push_back({state, symbol, to});
        return to;
    }

    ClosedClassifier take(Word start) {
        merged_.start = start;
        merged_.n_states = states_.size();
        for (Word e = 0; e < emissions_.size(); ++e) {
            const auto key = emissions_[e];
            for (std::size_t k = 0; k < key.size(); k += 2)
                for (Word p : parts_[key[k]].parts_of(key[k + 1])) merged_.emission_parts.push_back(first_part_[key[k]] + p);
            merged_.emission_offsets.push_back(static_cast<Word>(merged_.emission_parts.size()));
        }
        return std::move(merged_);
    }

private:
    std::vector<ClosedClassifier> parts_;
    std::vector<PairMap> index_;  // per classifier, (state, symbol) -> transition
    std::vector<Word> first_part_;
    SequenceInterner states_;                 // (classifier, its state, what it has yet to skip), one after the other
    SequenceInterner emissions_;              // (classifier, its emission)
    std::vector<Word> from_, key_, emitted_;  // scratch of step()
    PairMap taken_;
    ClosedClassifier merged_;
};

}  // namespace

ClosedClassifier merge_classifiers(const LrTables& tables, const std::vector<std::vector<Word>>& below,
                                   std::vector<ClosedClassifier> parts) {
    Merge merge(std::move(parts));
    const Word start = merge.start();
    explore_stacks(
        tables, below, start, [&](Word state, Word symbol) { return merge.known(state, symbol); },
        [&](Word state, Word symbol) { return merge.step(state, symbol); });
    return merge.take(start);
}

}  // namespace psc
