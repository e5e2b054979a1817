// The last stage of a compilation: sequences that are always emitted together become one label, the machine is
// minimized, and each lexer state says which tokens a label stands for.
#include "assembly.hpp"

#include <algorithm>
#include <map>

#include "partition.hpp"
#include "sorted.hpp"
#include "wire.hpp"

namespace psc {
namespace {

constexpr Word kNone = -1;

// A partition of some of the numbers below `n` that is refined by sets of them: two stay together if every set has both or neither.
class Refinement {
public:
    explicit Refinement(Word n) : block_(n, kNone) {}

    void add(Word member) {
        if (std::exchange(block_[member], 0) == kNone) ++members_;
    }

    // After all members were added. `set`: of members, each once.
    void split_by(std::span<const Word> set) {
        if (size_.empty()) size_.push_back(members_);
        touched_.clear();
        hits_.resize(size_.size());
        fresh_.resize(size_.size(), kNone);
        for (Word x : set)
            if (hits_[block_[x]]++ == 0) touched_.push_back(block_[x]);
        for (Word b : touched_)
            if (hits_[b] < size_[b]) {
                fresh_[b] = static_cast<Word>(size_.size());
                size_[b] -= hits_[b];
                size_.push_back(hits_[b]);
            }
        for (Word x : set)
            if (const Word to = fresh_[block_[x]]; to != kNone) block_[x] = to;
        for (Word b : touched_) hits_[b] = 0, fresh_[b] = kNone;
    }

    // Numbers the blocks by their first member, so that the result does not depend on the order of the splits.
    Word number() {
        Word count = 0;
        std::vector<Word> number(std::max<std::size_t>(size_.size(), 1), kNone);
        for (Word& b : block_)
            if (b != kNone) {
                if (number[b] == kNone) number[b] = count++;
                b = number[b];
            }
        return count;
    }

    // Of a number, once they are numbered; kNone if it is no member.
    Word operator[](Word x) const { return block_[x]; }

private:
    std::vector<Word> block_, size_, hits_, fresh_, touched_;
    Word members_ = 0;
};

// Lists of different lengths, one after the other.
template <WordLike T>
struct Lists {
    std::vector<Word> offsets{0};
    std::vector<T> pool;

    void append(std::span<const Word> words) {
        const auto ids = ids_of<T>(words);
        pool.insert(pool.end(), ids.begin(), ids.end());
        offsets.push_back(static_cast<Word>(pool.size()));
    }
};

// Which sequences no emission tells apart, and what each emission is in these terms.
struct Labels {
    Word count = 0;
    std::vector<Word> of_node;  // kNone for a sequence that is never emitted
    SequenceInterner sets;      // set 0 is empty
    std::vector<Word> set_of_emission;

    Labels(const ClosedClassifier& c, Word n_nodes) : of_node(n_nodes, kNone), set_of_emission(c.n_emissions()) {
        // First by parts, which are few: finer than need be, as two parts may always be emitted together.
        std::vector<Word> parts(c.emission_parts);
        sort_unique(parts);
        Refinement by_part(n_nodes);
        for (Word p : parts)
            for (Word node : c.sequences_of(p)) by_part.add(node);
        for (Word p : parts) by_part.split_by(c.sequences_of(p));
        const Word n_fine = by_part.number();
        std::vector<std::vector<Word>> part_labels(c.n_parts());
        for (Word p : parts) {
            auto& l = part_labels[p];
            for (Word node : c.sequences_of(p)) l.push_back(by_part[node]);
            sort_unique(l);
        }
        SequenceInterner fine;
        std::vector<Word> fine_of(c.n_emissions()), all;
        std::vector<char> in_set(n_fine);
        for (Word e = 0; e < c.n_emissions(); ++e) {
            all.clear();
            for (Word part : c.parts_of(e))
                for (Word l : part_labels[part])
                    if (!std::exchange(in_set[l], 1)) all.push_back(l);
            for (Word l : all) in_set[l] = 0;
            std::sort(all.begin(), all.end());
            fine_of[e] = fine.intern(all).first;
        }
        part_labels.clear();
        // Then by whole emissions. This does not depend on how they were cut into parts.
        Refinement whole(n_fine);
        for (Word l = 0; l < n_fine; ++l) whole.add(l);
        for (Word s = 0; s < fine.size(); ++s) whole.split_by(fine[s]);
        count = whole.number();
        for (Word node = 0; node < n_nodes; ++node)
            if (by_part[node] != kNone) of_node[node] = whole[by_part[node]];
        sets.intern({});
        std::vector<Word> coarse(fine.size());
        for (Word s = 0; s < fine.size(); ++s) {
            all.clear();
            for (Word l : fine[s]) all.push_back(whole[l]);
            sort_unique(all);
            coarse[s] = sets.intern(all).first;
        }
        for (Word e = 0; e < c.n_emissions(); ++e) set_of_emission[e] = coarse[fine_of[e]];
    }
};

void put(WordWriter& w, const Realizable& r) {
    w.put(r.node);
    w.put(r.offsets);
    w.put(r.sets);
}

}  // namespace

std::vector<Word> RealizedSequences::to_words() const {
    WordWriter w;
    w.put(n_nodes);
    w.put(set_offsets);
    w.put(set_classes);
    w.put(static_cast<Word>(of_state.size()));
    for (const Realizable& r : of_state) put(w, r);
    return w.take();
}

RealizedSequences RealizedSequences::from_words(std::span<const Word> words) {
    WordReader r(words);
    RealizedSequences s;
    s.n_nodes = r.word();
    s.set_offsets = r.vector();
    s.set_classes = r.vector();
    const Word n = r.word();
    for (Word q = 0; q < n; ++q) {
        Realizable& one = s.of_state.emplace_back();
        one.node = r.vector();
        one.offsets = r.vector();
        one.sets = r.vector();
    }
    r.end();
    return s;
}

namespace {

// The minimal machine.
void minimize(const ClosedClassifier& classifier, const Labels& labels, ClassifierTables& t) {
    LabelledGraph g;
    auto built = classifier.transitions;
    std::sort(built.begin(), built.end(),
              [](const auto& x, const auto& y) { return x.state != y.state ? x.state < y.state : x.symbol < y.symbol; });
    SequenceInterner outputs;
    std::size_t at = 0;
    for (Word s = 0; s < classifier.n_states; ++s) {
        for (; at < built.size() && built[at].state == s; ++at) {
            const Word out[2] = {labels.set_of_emission[built[at].to.emission], built[at].to.skip};
            g.arcs.push_back({built[at].symbol, outputs.intern(out).first, built[at].to.next});
        }
        g.offsets.push_back(g.arcs.size());
        g.state_output.push_back(0);
    }
    built.clear();
    const auto block = coarsest_partition(g);
    std::vector<char> done(g.state_output.size());
    std::vector<Word> arc_offsets{0};
    std::vector<LrState> symbol;
    std::vector<ClassifierState> next;
    std::vector<StackDepth> skip;
    std::vector<EmissionSet> emission;
    // Blocks are numbered by their first state, so writing each block at its first state keeps them in order.
    Lists<Label> emitted;
    std::vector<Word> emission_number(labels.sets.size(), kNone);
    emitted.append({});
    emission_number[0] = 0;
    for (std::size_t s = 0; s < g.state_output.size(); ++s) {
        if (std::exchange(done[block[s]], 1)) continue;
        for (std::size_t i = g.offsets[s]; i < g.offsets[s + 1]; ++i) {
            const auto out = outputs[g.arcs[i].output];
            if (emission_number[out[0]] == kNone) {
                emission_number[out[0]] = static_cast<Word>(emitted.offsets.size()) - 1;
                emitted.append(labels.sets[out[0]]);
            }
            symbol.push_back({g.arcs[i].label});
            next.push_back({block[g.arcs[i].target]});
            skip.push_back({out[1]});
            emission.push_back({emission_number[out[0]]});
        }
        arc_offsets.push_back(static_cast<Word>(symbol.size()));
    }
    t.start = {block[classifier.start]};
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

// What the labels stand for, per lexer state.
void give_meaning(const RealizedSequences& realized, const Labels& labels, ClassifierTables& t) {
    const Word n_lexer_states = static_cast<Word>(realized.of_state.size());
    SequenceInterner ids;
    ids.intern({});
    Lists<SetMember> sets;
    sets.append({});
    std::vector<Word> all;
    const auto number_of = [&](std::span<const Word> members) {
        all.clear();
        for (Word s : members) all.insert(all.end(), realized.token_set(s).begin(), realized.token_set(s).end());
        sort_unique(all);
        const auto [id, fresh] = ids.intern(all);
        if (fresh) sets.append(all);
        return ClassSet{id};
    };
    std::vector<ClassSet> always(n_lexer_states, ClassSet{0}), meaning_sets;
    std::vector<Word> meaning_offsets{0};
    std::vector<Label> meaning_labels;
    for (Word q = 0; q < n_lexer_states; ++q) {
        std::map<Word, std::vector<Word>> by_label;
        const Realizable& r = realized.of_state[q];
        for (std::size_t i = 0; i < r.node.size(); ++i) {
            const Word node = r.node[i];
            const auto members = r.sets_of(i);
            if (node == 0)
                always[q] = number_of(members);
            else if (const Word label = labels.of_node[node]; label != kNone) {
                auto& l = by_label[label];
                l.insert(l.end(), members.begin(), members.end());
            }
        }
        for (const auto& [label, members] : by_label) {
            meaning_labels.push_back({label});
            meaning_sets.push_back(number_of(members));
        }
        meaning_offsets.push_back(static_cast<Word>(meaning_labels.size()));
    }
    t.set_offsets = std::move(sets.offsets);
    t.set_classes = std::move(sets.pool);
    t.always = std::move(always);
    t.meaning_offsets = std::move(meaning_offsets);
    t.meaning_labels = std::move(meaning_labels);
    t.meaning_sets = std::move(meaning_sets);
}

}  // namespace

ClassifierTables assemble(const ClosedClassifier& classifier, const RealizedSequences& realized) {
    const Labels labels(classifier, realized.n_nodes);
    ClassifierTables t;
    minimize(classifier, labels, t);
    give_meaning(realized, labels, t);
    return t;
}

}  // namespace psc
