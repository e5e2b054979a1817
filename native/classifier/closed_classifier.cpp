#include "classifier/closed_classifier.hpp"

#include <algorithm>

#include "base/limits.hpp"
#include "base/work.hpp"
#include "tables/wire.hpp"

namespace psc {

std::vector<Word> ClosedClassifier::to_words() const {
    WordWriter w;
    w.put(n_states);
    w.put(start.v);
    w.put(words_of(std::span<const BuiltTransition>(transitions)));
    w.put(set_offsets);
    w.put(set_emissions);
    w.put(emission_offsets);
    w.put(emission_sequences);
    return w.take();
}

ClosedClassifier ClosedClassifier::from_words(std::span<const Word> words) {
    WordReader r(words);
    ClosedClassifier c;
    c.n_states = r.word();
    c.start = {r.word()};
    const auto flat = r.vector();
    const auto transitions = ids_of<BuiltTransition>(flat);
    c.transitions.assign(transitions.begin(), transitions.end());
    c.set_offsets = r.vector();
    c.set_emissions = r.vector<Emission>();
    c.emission_offsets = r.vector();
    c.emission_sequences = r.vector<SequenceNode>();
    r.end();
    return c;
}

namespace {

constexpr std::size_t kMaxStepsToMerge = limit("steps_to_merge");

class Merge {
public:
    explicit Merge(std::vector<ClosedClassifier> parts)
        : parts_(std::move(parts)), index_(parts_.size()), first_emission_(parts_.size()) {
        states_.id_of({});
        sets_.id_of({});
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            ClosedClassifier& c = parts_[i];
            for (std::size_t t = 0; t < c.transitions.size(); ++t)
                index_[i].insert(c.transitions[t].state, c.transitions[t].symbol, static_cast<Word>(t));
            first_emission_[i] = merged_.n_emissions();
            for (Emission e{0}; e.v < c.n_emissions(); ++e.v) {
                const auto sequences = c.sequences_of(e);
                merged_.emission_sequences.insert(merged_.emission_sequences.end(), sequences.begin(), sequences.end());
                merged_.emission_offsets.push_back(static_cast<Word>(merged_.emission_sequences.size()));
            }
        }
    }

    ClassifierState start() {
        key_.clear();
        for (std::size_t i = 0; i < parts_.size(); ++i)
            if (parts_[i].start != kDone) key_.push_back({static_cast<Word>(i), parts_[i].start, 0});
        return states_.id_of(key_);
    }

    bool known(ClassifierState state, LrState symbol) const { return taken_.contains(state, symbol); }

    Transition step(ClassifierState state, LrState symbol) {
        from_ = states_.copy(state);
        work_.spend(2 + from_.size());
        key_.clear();
        emitted_.clear();
        Word skip = -1;
        for (auto [i, next, pending] : from_) {
            if (pending > 0) {
                --pending;
            } else {
                const auto at = index_[i].find(next, symbol);
                if (!at) throw std::logic_error("a classifier to be merged is not closed");
                const Transition& t = parts_[i].transitions[*at].to;
                if (t.emission.v != 0) emitted_.push_back({i, t.emission});
                next = t.next;
                pending = t.skip;
            }
            if (next == kDone) continue;
            key_.push_back({i, next, pending});
            skip = skip < 0 ? pending : std::min(skip, pending);
        }
        skip = std::max<Word>(skip, 0);
        for (Standing& s : key_) s.pending -= skip;
        const Transition to{states_.id_of(key_), skip, sets_.id_of(emitted_)};
        taken_.insert(state, symbol);
        merged_.transitions.push_back({state, symbol, to});
        return to;
    }

    ClosedClassifier take(ClassifierState start) {
        merged_.start = start;
        merged_.n_states = states_.size();
        for (EmissionSet s{0}; s.v < sets_.size(); ++s.v) {
            for (const auto& [i, set] : sets_[s])
                for (Emission e : parts_[i].emissions_of(set)) merged_.set_emissions.push_back({first_emission_[i] + e.v});
            merged_.set_offsets.push_back(static_cast<Word>(merged_.set_emissions.size()));
        }
        return std::move(merged_);
    }

private:
    struct Standing {  // of one of the classifiers
        Word classifier;
        ClassifierState state;
        Word pending;  // symbols that it has yet to skip
    };
    struct Emitted {
        Word classifier;
        EmissionSet set;
    };

    std::vector<ClosedClassifier> parts_;
    std::vector<IdMap<ClassifierState, LrState, Word>> index_;  // per classifier, its transitions
    std::vector<Word> first_emission_;
    Interned<ClassifierState, Standing> states_;
    Interned<EmissionSet, Emitted> sets_;
    std::vector<Standing> from_, key_;  // scratch of step()
    std::vector<Emitted> emitted_;      // likewise
    IdPairs<ClassifierState, LrState> taken_;
    ClosedClassifier merged_;
    Work work_{"steps to merge classifiers", kMaxStepsToMerge};
};

}  // namespace

ClosedClassifier merge_classifiers(const LrTables& tables, const StackPredecessors& below, std::vector<ClosedClassifier> parts) {
    Merge merge(std::move(parts));
    const ClassifierState start = merge.start();
    explore_stacks(
        tables, below, start, [&](ClassifierState state, LrState symbol) { return merge.known(state, symbol); },
        [&](ClassifierState state, LrState symbol) { return merge.step(state, symbol); });
    return merge.take(start);
}

}  // namespace psc
