// The last stage of a compilation: sequences that are always emitted together become one label, the machine is
// minimized, and each lexer state says which tokens a label stands for.
#include "classifier/assembly.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>

#include "base/partition.hpp"
#include "base/sorted.hpp"
#include "tables/wire.hpp"

namespace psc {
namespace {

constexpr Word kNoBlock = -1;

// A partition of some of the numbers below `n` that is refined by sets of them: two stay together if every set has both or neither.
class Refinement {
public:
    explicit Refinement(Word n) : block_(n, kNoBlock) {}

    void add(Word member) {
        if (std::exchange(block_[member], 0) == kNoBlock) ++members_;
    }

    // After all members were added. `set`: of members, each once.
    void split_by(std::span<const Word> set) {
        if (size_.empty()) size_.push_back(members_);
        touched_.clear();
        hits_.resize(size_.size());
        fresh_.resize(size_.size(), kNoBlock);
        for (Word x : set)
            if (hits_[block_[x]]++ == 0) touched_.push_back(block_[x]);
        for (Word b : touched_)
            if (hits_[b] < size_[b]) {
                fresh_[b] = static_cast<Word>(size_.size());
                size_[b] -= hits_[b];
                size_.push_back(hits_[b]);
            }
        for (Word x : set)
            if (const Word to = fresh_[block_[x]]; to != kNoBlock) block_[x] = to;
        for (Word b : touched_) hits_[b] = 0, fresh_[b] = kNoBlock;
    }

    // Numbers the blocks by their first member, so that the result does not depend on the order of the splits.
    Word number() {
        Word count = 0;
        std::vector<Word> number(std::max<std::size_t>(size_.size(), 1), kNoBlock);
        for (Word& b : block_)
            if (b != kNoBlock) {
                if (number[b] == kNoBlock) number[b] = count++;
                b = number[b];
            }
        return count;
    }

    // Of a number, once they are numbered; kNoBlock if it is no member.
    Word operator[](Word x) const { return block_[x]; }

private:
    std::vector<Word> block_, size_, hits_, fresh_, touched_;
    Word members_ = 0;
};

// A set of numbers that come in any order and several times, and are wanted once each, rising.
class NumberSet {
public:
    explicit NumberSet(Word n) : bits_(static_cast<std::size_t>(n) / 64 + 1) {}

    void add(Word x) {
        const auto at = static_cast<std::size_t>(x) / 64;
        bits_[at] |= std::uint64_t{1} << (x % 64);
        first_ = std::min(first_, at);
        end_ = std::max(end_, at + 1);
    }
    // Calls f(number) for each; then the set is empty.
    template <class F>
    void take(const F& f) {
        for (std::size_t i = first_; i < end_; ++i)
            for (auto left = std::exchange(bits_[i], 0); left != 0; left &= left - 1)
                f(static_cast<Word>(i * 64) + std::countr_zero(left));
        first_ = bits_.size();
        end_ = 0;
    }

private:
    std::vector<std::uint64_t> bits_;
    std::size_t first_ = bits_.size(), end_ = 0;  // of the words that have some
};

// Lists of different lengths, one after the other.
template <WordLike T>
struct Lists {
    std::vector<Word> offsets{0};
    std::vector<T> pool;

    void append(std::span<const T> ids) {
        pool.insert(pool.end(), ids.begin(), ids.end());
        offsets.push_back(static_cast<Word>(pool.size()));
    }
};

// Which sequences no emission tells apart, and what each set of emissions is in these terms.
struct Labels {
    Word count = 0;
    std::vector<Maybe<Label>> of_node;  // none for a sequence that is never emitted
    Interned<EmissionSet, Label> sets;  // set 0 is empty
    std::vector<EmissionSet> of_set;    // per set of the classifier that is assembled

    Labels(const ClosedClassifier& c, Word n_nodes) : of_node(n_nodes) {
        // First by emissions, which are few: finer than need be, as two may always be in the same sets.
        std::vector<Emission> emissions(c.set_emissions);
        sort_unique(emissions);
        Refinement by_emission(n_nodes);
        for (Emission e : emissions)
            for (SequenceNode node : c.sequences_of(e)) by_emission.add(node.v);
        for (Emission e : emissions) by_emission.split_by(words_of(c.sequences_of(e)));
        const Word n_fine = by_emission.number();
        std::vector<std::vector<Word>> fine_of_emission(c.n_emissions());
        for (Emission e : emissions) {
            auto& blocks = fine_of_emission[e.index()];
            for (SequenceNode node : c.sequences_of(e)) blocks.push_back(by_emission[node.v]);
            sort_unique(blocks);
        }
        SequenceInterner fine;
        std::vector<Word> fine_of_set, all;
        NumberSet in_set(n_fine);
        for (EmissionSet s{0}; s.v < c.n_sets(); ++s.v) {
            all.clear();
            for (Emission e : c.emissions_of(s))
                for (Word block : fine_of_emission[e.index()]) in_set.add(block);
            in_set.take([&](Word block) { all.push_back(block); });
            fine_of_set.push_back(fine.intern(all).first);
        }
        fine_of_emission.clear();
        // Then by whole sets. This does not depend on how they were cut into emissions.
        Refinement by_set(n_fine);
        for (Word block = 0; block < n_fine; ++block) by_set.add(block);
        for (Word s = 0; s < fine.size(); ++s) by_set.split_by(fine[s]);
        count = by_set.number();
        for (Word node = 0; node < n_nodes; ++node)
            if (by_emission[node] != kNoBlock) of_node[node] = Label{by_set[by_emission[node]]};
        sets.id_of({});
        std::vector<EmissionSet> coarse;
        std::vector<Label> labels;
        NumberSet in_coarse(count);
        for (Word s = 0; s < fine.size(); ++s) {
            labels.clear();
            for (Word block : fine[s]) in_coarse.add(by_set[block]);
            in_coarse.take([&](Word label) { labels.push_back({label}); });
            coarse.push_back(sets.id_of(labels));
        }
        for (Word s : fine_of_set) of_set.push_back(coarse[s]);
    }
};

void put(WordWriter& w, const Realizable& r) {
    w.put(r.sequences);
    w.put(r.offsets);
    w.put(r.sets);
}

}  // namespace

std::vector<Word> RealizedSequences::to_words() const {
    WordWriter w;
    w.put(n_nodes);
    w.put(set_offsets);
    w.put(set_classes);
    w.put(words_of(std::span<const LexerLead>(leads)));
    w.put(static_cast<Word>(of_state.size()));
    for (const Realizable& r : of_state) put(w, r);
    for (const Realizable& r : of_lead) put(w, r);
    return w.take();
}

RealizedSequences RealizedSequences::from_words(std::span<const Word> words) {
    WordReader r(words);
    RealizedSequences s;
    s.n_nodes = r.word();
    s.set_offsets = r.vector();
    s.set_classes = r.vector<SetMember>();
    const auto flat = r.vector();
    const auto leads = ids_of<LexerLead>(flat);
    s.leads.assign(leads.begin(), leads.end());
    const Word n = r.word();
    const auto take = [&] {
        Realizable one;
        one.sequences = r.vector<SequenceNode>();
        one.offsets = r.vector();
        one.sets = r.vector<ClassSet>();
        return one;
    };
    for (Word q = 0; q < n; ++q) s.of_state.push_back(take());
    for (std::size_t i = 0; i < s.leads.size(); ++i) s.of_lead.push_back(take());
    r.end();
    return s;
}

namespace {

// The minimal machine.
void minimize(const ClosedClassifier& classifier, const Labels& labels, ClassifierTables& t) {
    LabelledGraph g;
    // By state, then by symbol.
    std::vector<std::size_t> first(static_cast<std::size_t>(classifier.n_states) + 1);
    for (const BuiltTransition& t : classifier.transitions) ++first[t.state.index() + 1];
    for (std::size_t s = 1; s < first.size(); ++s) first[s] += first[s - 1];
    const std::vector<BuiltTransition>& taken = classifier.transitions;
    std::vector<Word> built(taken.size());  // numbers of transitions
    {
        auto place = first;
        for (std::size_t i = 0; i < taken.size(); ++i) built[place[taken[i].state.index()]++] = static_cast<Word>(i);
    }
    for (std::size_t s = 1; s < first.size(); ++s)
        std::sort(
            built.begin() + static_cast<std::ptrdiff_t>(first[s - 1]), built.begin() + static_cast<std::ptrdiff_t>(first[s]),
            [&](Word x, Word y) { return taken[static_cast<std::size_t>(x)].symbol < taken[static_cast<std::size_t>(y)].symbol; });
    SequenceInterner outputs;
    std::size_t at = 0;
    g.arcs.reserve(built.size());
    for (Word s = 0; s < classifier.n_states; ++s) {
        for (; at < first[static_cast<std::size_t>(s) + 1]; ++at) {
            const auto& [from, read, to] = taken[static_cast<std::size_t>(built[at])];
            const Word out[2] = {labels.of_set[to.emission.index()].v, to.skip};
            g.arcs.push_back({read.v, outputs.intern(out).first, to.next.v});
        }
        g.offsets.push_back(g.arcs.size());
        g.state_output.push_back(0);
    }
    built = {};
    const auto block = coarsest_partition(g);
    std::vector<char> done(g.state_output.size());
    std::vector<Word> arc_offsets{0};
    std::vector<LrState> symbol;
    std::vector<ClassifierState> next;
    std::vector<StackDepth> skip;
    std::vector<EmissionSet> emission;
    // Blocks are numbered by their first state, so writing each block at its first state keeps them in order.
    Lists<Label> emitted;
    std::vector<Word> emission_number(labels.sets.size(), kNoBlock);
    emitted.append({});
    emission_number[0] = 0;
    for (std::size_t s = 0; s < g.state_output.size(); ++s) {
        if (std::exchange(done[block[s]], 1)) continue;
        for (std::size_t i = g.offsets[s]; i < g.offsets[s + 1]; ++i) {
            const auto out = outputs[g.arcs[i].output];
            if (emission_number[out[0]] == kNoBlock) {
                emission_number[out[0]] = static_cast<Word>(emitted.offsets.size()) - 1;
                emitted.append(labels.sets[{out[0]}]);
            }
            symbol.push_back({g.arcs[i].label});
            next.push_back({block[g.arcs[i].target]});
            skip.push_back({out[1]});
            emission.push_back({emission_number[out[0]]});
        }
        arc_offsets.push_back(static_cast<Word>(symbol.size()));
    }
    t.start = {block[classifier.start.index()]};
    t.n_classifier_states = {static_cast<Word>(arc_offsets.size()) - 1};
    t.n_labels = {labels.count};
    t.arc_offsets = std::move(arc_offsets);
    t.arc_symbol = std::move(symbol);
    t.arc_next = std::move(next);
    t.arc_skip = std::move(skip);
    t.arc_emission = std::move(emission);
    t.label_offsets = std::move(emitted.offsets);
    t.labels = std::move(emitted.pool);
}

// What the labels stand for in each of some lexer states, or leads.
struct Meanings {
    std::vector<ClassSet> always, sets;
    std::vector<Word> offsets{0};
    std::vector<Label> labels;
};

// The token classes of each of the labels.
class Meaning {
public:
    // `label_of_node`: none for a sequence that is never emitted.
    Meaning(const RealizedSequences& realized, std::span<const Maybe<Label>> label_of_node)
        : realized_(realized), label_of_node_(label_of_node) {
        ids_.id_of({});
        sets_.append({});
    }

    Meanings of(const std::vector<Realizable>& all) {
        Meanings m;
        for (const Realizable& r : all) {
            std::map<Label, std::vector<ClassSet>> by_label;
            m.always.push_back({0});
            for (std::size_t i = 0; i < r.sequences.size(); ++i) {
                const auto united = r.sets_of(i);
                if (r.sequences[i] == kNothingMore) {
                    m.always.back() = union_of(united);
                } else if (const auto label = label_of_node_[r.sequences[i].index()]) {
                    auto& l = by_label[*label];
                    l.insert(l.end(), united.begin(), united.end());
                }
            }
            for (const auto& [label, united] : by_label) {
                m.labels.push_back(label);
                m.sets.push_back(union_of(united));
            }
            m.offsets.push_back(static_cast<Word>(m.labels.size()));
        }
        return m;
    }
    Lists<SetMember> take_sets() { return std::move(sets_); }

private:
    static constexpr SequenceNode kNothingMore{0};  // the empty sequence

    ClassSet union_of(std::span<const ClassSet> united) {
        all_.clear();
        for (ClassSet s : united) all_.insert(all_.end(), realized_.members(s).begin(), realized_.members(s).end());
        sort_unique(all_);
        const auto [id, fresh] = ids_.intern(all_);
        if (fresh) sets_.append(all_);
        return id;
    }

    const RealizedSequences& realized_;
    std::span<const Maybe<Label>> label_of_node_;
    Interned<ClassSet, SetMember> ids_;
    Lists<SetMember> sets_;
    std::vector<SetMember> all_;
};

LeadTables lead_tables(const std::vector<LexerLead>& leads, Meanings m) {
    std::vector<LexerState> states;
    std::vector<Terminal> terminals;
    for (const LexerLead& lead : leads) {
        states.push_back(lead.state);
        terminals.push_back(lead.terminal);
    }
    return {std::move(states),    std::move(terminals), std::move(m.always),
            std::move(m.offsets), std::move(m.labels),  std::move(m.sets)};
}

// What the labels stand for.
void add_meanings(const RealizedSequences& realized, std::span<const Maybe<Label>> label_of_node, AssembledTables& made) {
    ClassifierTables& t = made.classifier;
    Meaning meaning(realized, label_of_node);
    Meanings of_states = meaning.of(realized.of_state);
    t.always = std::move(of_states.always);
    t.meaning_offsets = std::move(of_states.offsets);
    t.meaning_labels = std::move(of_states.labels);
    t.meaning_sets = std::move(of_states.sets);
    if (!realized.leads.empty()) made.leads = lead_tables(realized.leads, meaning.of(realized.of_lead));
    Lists<SetMember> sets = meaning.take_sets();
    t.set_offsets = std::move(sets.offsets);
    t.set_classes = std::move(sets.pool);
}

}  // namespace

AssembledTables assemble(const ClosedClassifier& classifier, const RealizedSequences& realized) {
    const Labels labels(classifier, realized.n_nodes);
    AssembledTables made;
    minimize(classifier, labels, made.classifier);
    add_meanings(realized, labels.of_node, made);
    return made;
}

AssembledTables assemble_open(const RealizedSequences& realized) {
    std::vector<Maybe<Label>> label_of_node;
    for (Word node = 0; node < realized.n_nodes; ++node) label_of_node.push_back(Label{node});
    AssembledTables made;
    ClassifierTables& t = made.classifier;
    t.start = kDone;
    t.n_classifier_states = {1};
    t.n_labels = {realized.n_nodes};
    t.arc_offsets = std::vector<Word>{0, 0};
    t.label_offsets = std::vector<Word>{0, 0};
    add_meanings(realized, label_of_node, made);
    return made;
}

}  // namespace psc
