#include "classifier.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>

#include "limits.hpp"
#include "sorted.hpp"

namespace psc {

namespace {

// Reductions and shifts of one token, one after the other, which is how deep the recursion goes; a hostile table reduces for ever.
constexpr Word kMaxDepth = 4000;
// Some four seconds, and some eight with those for the classifier. Python needs 218 million; an ambiguous grammar may have exponentially
// many states.
constexpr std::size_t kMaxStepsAheadOfTime = 150'000'000, kMoreStepsToClose = 100'000'000;
// Of what closing makes; as much again for the stages around it. SQL needs nearly all of it.
constexpr std::size_t kMaxBytesToClose = 256'000'000;
constexpr std::size_t kStepsBetweenMeasurements = 1024;
// So that their offsets are words.
constexpr std::size_t kMaxMembers = 1'000'000'000;

}  // namespace

Classifier::Classifier(const LrTables& tables, const StackPredecessors& below, const SequenceTrie& trie, Work& work)
    : tables_(tables), below_(below), trie_(trie), work_(work), several_actions_(tables.is_ambiguous()) {
    states_.intern({});
    emissions_.intern({});
    thread_sets_.intern({});
    emission_sets_.intern({});
    bundles_.intern({});
    has_conditions_.push_back(0);
}

Bundle Classifier::bundle(std::vector<Pending>& pending) {
    sort_unique(pending);
    const auto [id, fresh] = bundles_.intern(pending);
    if (fresh)
        has_conditions_.push_back(
            std::any_of(pending.begin(), pending.end(), [&](Pending p) { return pending_[p].symbol.is_condition(); }));
    return id;
}

// What may come first in the sequences of a set; each of them, read to its end, makes `leaf` viable.
Bundle Classifier::bundle_of_set(TrieSet set, SequenceNode leaf) {
    if (const auto known = set_bundles_.find(set, leaf)) return *known;
    std::vector<Pending> pending;
    for (const SequenceTrie::Edge& edge : trie_.edges(set)) {
        PendingSymbol first{edge.symbol, {}, kNothing};
        if (edge.then == SequenceTrie::Sets::kOne)
            first.sequence = leaf;
        else
            first.following = bundle_of_set(edge.then, leaf);
        pending.push_back(pending_.id_of(first));
    }
    const Bundle made = bundle(pending);
    set_bundles_.insert(set, leaf, made);
    return made;
}

ClassifierState Classifier::add_start(std::span<const SequenceNode> sequences) {
    // Nodes on the way to a sequence, the last first: a child has a larger number than its parent.
    std::vector<SequenceNode> nodes;
    slot_.resize(trie_.size(), -1);
    for (SequenceNode n : sequences)
        for (; slot_[n.index()] < 0; n = trie_.parent(n)) {
            slot_[n.index()] = 0;
            nodes.push_back(n);
            if (n == SequenceTrie::kRoot) break;
        }
    if (nodes.empty()) return kDone;
    std::sort(nodes.begin(), nodes.end(), std::greater<>());
    for (std::size_t i = 0; i < nodes.size(); ++i) slot_[nodes[i].index()] = static_cast<Word>(i);
    const auto slot_of_parent = [&](SequenceNode n) { return slot_[trie_.parent(n).index()]; };
    std::vector<char> wanted(nodes.size());
    for (SequenceNode n : sequences) wanted[slot_[n.index()]] = 1;
    // What is pending for each node's children, as ranges of one pool. A leaf that stands for a set is many.
    std::vector<std::vector<Pending>> of_sets(nodes.size());
    std::vector<Word> at(nodes.size() + 1);
    std::vector<Pending> pool(nodes.size()), pending;
    for (SequenceNode n : nodes)
        if (n != SequenceTrie::kRoot && !trie_.label(n).is_open()) ++at[slot_of_parent(n) + 1];
    for (std::size_t i = 0; i < nodes.size(); ++i) at[i + 1] += at[i];
    auto filled = at;
    Bundle first = kNothing;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const SequenceNode n = nodes[i];
        if (trie_.label(n).is_open()) {
            const auto more = bundles_.copy(bundle_of_set(trie_.set_of(n), n));
            auto& into = of_sets[slot_of_parent(n)];
            into.insert(into.end(), more.begin(), more.end());
            continue;
        }
        pending.assign(pool.begin() + at[i], pool.begin() + at[i + 1]);
        pending.insert(pending.end(), of_sets[i].begin(), of_sets[i].end());
        const Bundle following = bundle(pending);
        if (n == SequenceTrie::kRoot) {
            first = following;
        } else {
            PendingSymbol one{trie_.symbol(n), {}, following};
            if (wanted[i]) one.sequence = n;
            pool[filled[slot_of_parent(n)]++] = pending_.id_of(one);
        }
    }
    for (SequenceNode n : nodes) slot_[n.index()] = -1;
    return states_.id_of({thread(first, {}, 0)});
}

// What is left of a bundle when a step starts with `top` on top.
Classifier::Resolved Classifier::resolve(Bundle whole, LrState top) {
    if (!has_conditions_[whole.index()]) return {whole, kSilent};
    if (const auto known = resolved_ids_.find(whole, top)) return resolved_[*known];
    std::vector<Pending> todo = bundles_.copy(whole), kept;
    std::vector<SequenceNode> emitted;
    for (std::size_t i = 0; i < todo.size(); ++i) {
        const PendingSymbol p = pending_[todo[i]];
        if (!p.symbol.is_condition()) {
            kept.push_back(todo[i]);
        } else if (trie_.holds(p.symbol, tables_.plain(top))) {
            if (p.sequence) emitted.push_back(*p.sequence);
            const auto following = bundles_[p.following];
            todo.insert(todo.end(), following.begin(), following.end());
        }
    }
    sort_unique(emitted);
    const Bundle rest = bundle(kept);
    const Resolved r{rest, emissions_.id_of(emitted)};
    resolved_ids_.insert(whole, top, static_cast<Word>(resolved_.size()));
    resolved_.push_back(r);
    return r;
}

std::size_t Classifier::bytes() const {
    return pending_.bytes() + bundles_.bytes() + threads_.bytes() + emissions_.bytes() + thread_sets_.bytes() + states_.bytes() +
           emission_sets_.bytes() + merged_lists_.bytes() + shift_pool_.size() * sizeof(Shift) +
           reduction_pool_.size() * sizeof(Reduction) + moves_.size() * 40 + outcomes_.size() * 40 + transitions_.size() * 48;
}

void Classifier::emit(Emission emission, Found& found) const {
    const auto sequences = emissions_[emission];
    found.emitted.insert(found.emitted.end(), sequences.begin(), sequences.end());
}

// What each symbol of a bundle does on top of an LR state.
void Classifier::split(Bundle whole, LrState top, std::vector<Shift>& shifts, std::vector<Reduction>& reductions) {
    std::map<Production, std::vector<Pending>> reduced;
    work_.spend(1 + bundles_[whole].size() / 16);
    for (Pending p : bundles_[whole])
        for (Action action : tables_.cell(top, pending_[p].symbol.terminal())) {
            if (action.is_reduce())
                reduced[action.production()].push_back(p);
            else
                shifts.push_back({p, action.state()});
        }
    for (auto& [production, pending] : reduced) reductions.push_back({production, bundle(pending)});
}

Classifier::Moves Classifier::moves(Bundle bundle, LrState top) {
    if (const auto known = moves_ids_.find(bundle, top)) return moves_[*known];
    const auto end = [](const auto& pool) { return static_cast<Word>(pool.size()); };
    Moves m{end(shift_pool_), 0, end(reduction_pool_), 0};
    split(bundle, top, shift_pool_, reduction_pool_);
    m.shifts_end = end(shift_pool_);
    m.reductions_end = end(reduction_pool_);
    moves_ids_.insert(bundle, top, end(moves_));
    moves_.push_back(m);
    return m;
}

// `known` is the part of the stack that is known; it is as it was on return. Reductions that need more of the stack become threads,
// counted from below `known`.
void Classifier::simulate(Bundle bundle, KnownStack& known, Found& found, Word depth) {
    if (depth > kMaxDepth) throw LimitExceeded("reductions and shifts for one token", kMaxDepth);
    work_.spend(4 + known.size() / 4);
    const Moves m = moves(bundle, known.back());
    for (Word i = m.reductions; i < m.reductions_end; ++i) expect(reduction_pool_[i], known);
    for (Word i = m.shifts; i < m.shifts_end; ++i) shift(shift_pool_[i], known, found, depth);
    for (Word i = m.reductions; i < m.reductions_end; ++i) reduce(reduction_pool_[i], known, found, depth);
}

void Classifier::shift(Shift move, KnownStack& known, Found& found, Word depth) {
    const PendingSymbol p = pending_[move.pending];
    if (p.sequence) found.emitted.push_back(*p.sequence);
    if (p.following == kNothing) return;
    const Resolved rest = resolve(p.following, move.to);
    if (rest.emission != kSilent) emit(rest.emission, found);
    if (rest.bundle == kNothing) return;
    known.push_back(move.to);
    simulate(rest.bundle, known, found, depth + 1);
    known.pop_back();
}

// Looks ahead to what a reduction asks for.
void Classifier::expect(Reduction move, const KnownStack& known) const {
    const Word length = tables_.length(move.production), n_known = static_cast<Word>(known.size());
    if (length >= n_known) return;
    if (const auto to = tables_.go_to(known[n_known - length - 1], tables_.lhs(move.production)))
        moves_ids_.prefetch(move.rest, *to);
}

void Classifier::reduce(Reduction move, KnownStack& known, Found& found, Word depth) {
    const Word length = tables_.length(move.production), n_known = static_cast<Word>(known.size());
    const Nonterminal lhs = tables_.lhs(move.production);
    if (length >= n_known) {
        found.threads.push_back(thread(move.rest, lhs, length - n_known));
        return;
    }
    const auto to = tables_.go_to(known[n_known - length - 1], lhs);
    if (!to) return;
    // What is popped is put back; few right-hand sides are longer than this.
    std::array<LrState, 12> popped;
    if (length > static_cast<Word>(popped.size())) {
        KnownStack reduced(known.begin(), known.end() - length);
        reduced.push_back(*to);
        return simulate(move.rest, reduced, found, depth + 1);
    }
    std::copy(known.end() - length, known.end(), popped.begin());
    known.resize(n_known - length);
    known.push_back(*to);
    simulate(move.rest, known, found, depth + 1);
    known.pop_back();
    known.insert(known.end(), popped.begin(), popped.begin() + length);
}

// Threads that wait for the same goto after the same pops become one, which waits with all their bundles.
void Classifier::merge(std::vector<ThreadId>& threads) {
    work_.spend(1 + threads.size() / 4);
    sort_unique(threads);
    if (threads.size() < 2) return;
    struct ByWait {
        Word pops;
        Maybe<Nonterminal> go_to;
        Bundle bundle;
        auto operator<=>(const ByWait&) const = default;
    };
    std::vector<ByWait> all;
    for (ThreadId id : threads) {
        const Thread& t = threads_[id];
        all.push_back({t.pops, t.go_to, t.bundle});
    }
    std::sort(all.begin(), all.end());
    threads.clear();
    std::vector<Bundle> same;
    std::vector<Pending> pending;
    for (std::size_t i = 0, end; i < all.size(); i = end) {
        same.clear();
        for (end = i; end < all.size() && all[end].pops == all[i].pops && all[end].go_to == all[i].go_to; ++end)
            same.push_back(all[end].bundle);
        Bundle merged = same[0];
        if (same.size() > 1) {
            const auto [id, fresh] = merged_lists_.intern(same);
            if (fresh) {
                pending.clear();
                for (Bundle b : same) pending.insert(pending.end(), bundles_[b].begin(), bundles_[b].end());
                const std::size_t cost = 1 + pending.size() / 16;
                merged_.push_back(bundle(pending));
                work_.spend(cost);  // once the list has what it was given an id for
            }
            merged = merged_[id.index()];
        }
        threads.push_back(thread(merged, all[i].go_to, all[i].pops));
    }
    std::sort(threads.begin(), threads.end());
}

Classifier::Outcome Classifier::above(Bundle whole, LrState top) {
    if (const auto known = outcome_ids_.find(whole, top)) return outcomes_[*known];
    Found found;
    // Only a start has conditions here: those after a shift were looked at then.
    const Resolved now = resolve(whole, top);
    emit(now.emission, found);
    if (several_actions_) {
        explore_from(now.bundle, top, found);
    } else {
        // This pair is not met again, so unlike those deeper down its moves are not kept.
        std::vector<Shift> shifts;
        std::vector<Reduction> reductions;
        split(now.bundle, top, shifts, reductions);
        KnownStack known{top};
        for (const Shift& move : shifts) shift(move, known, found, 0);
        for (const Reduction& move : reductions) reduce(move, known, found, 0);
    }
    work_.spend(1 + found.emitted.size() / 16);
    sort_unique(found.emitted);
    merge(found.threads);
    const Outcome out{emissions_.id_of(found.emitted), thread_sets_.id_of(found.threads)};
    outcome_ids_.insert(whole, top, static_cast<Word>(outcomes_.size()));
    outcomes_.push_back(out);
    return out;
}

// Lets the threads of a state read a symbol: what is emitted, and the threads that are left.
void Classifier::read(ClassifierState state, LrState symbol, std::vector<Emission>& emissions, std::vector<ThreadId>& threads) {
    std::vector<ThreadId> todo = states_.copy(state);
    for (ThreadId id : todo) {
        const Thread& t = threads_[id];
        const Maybe<LrState> top = t.pops > 0 ? Maybe<LrState>() : t.go_to ? tables_.go_to(symbol, *t.go_to) : symbol;
        if (top) outcome_ids_.prefetch(t.bundle, *top);
    }
    // A grammar that derives a nonterminal from itself sends a thread back to where it was; once is enough.
    for (std::size_t i = 0; i < todo.size(); ++i) {
        const Thread t = threads_[todo[i]];
        work_.spend(4 + (t.pops > 0 ? 0 : todo.size() / 4));
        if (t.pops > 0) {
            threads.push_back(thread(t.bundle, t.go_to, t.pops - 1));
            continue;
        }
        const Maybe<LrState> top = t.go_to ? tables_.go_to(symbol, *t.go_to) : symbol;
        if (!top) continue;
        const Outcome out = above(t.bundle, *top);
        if (out.emission != kSilent) emissions.push_back(out.emission);
        for (ThreadId id : thread_sets_.copy(out.threads)) {
            const Thread left = threads_[id];
            if (!t.go_to)  // `symbol` itself was the known part
                threads.push_back(id);
            else if (left.pops > 0)  // `symbol` is still there, under `top`: popped
                threads.push_back(thread(left.bundle, left.go_to, left.pops - 1));
            else if (std::find(todo.begin(), todo.end(), id) == todo.end())  // or gone to
                todo.push_back(id);
        }
    }
}

Transition Classifier::step(ClassifierState state, LrState symbol) {
    if (const auto known = transition_ids_.find(state, symbol)) return transitions_[*known].to;
    std::vector<Emission> emissions;
    std::vector<ThreadId> threads;
    read(state, symbol, emissions, threads);
    sort_unique(emissions);
    merge(threads);
    Word skip = threads.empty() ? 0 : threads_[threads[0]].pops;
    for (ThreadId id : threads) skip = std::min(skip, threads_[id].pops);
    if (skip > 0) {
        for (ThreadId& id : threads) {
            const Thread t = threads_[id];
            id = thread(t.bundle, t.go_to, t.pops - skip);
        }
        sort_unique(threads);
    }
    const ClassifierState next = states_.id_of(threads);
    const Transition to{next, skip, emission_sets_.id_of(emissions)};
    transition_ids_.insert(state, symbol, static_cast<Word>(transitions_.size()));
    transitions_.push_back({state, symbol, to});
    return to;
}

void Classifier::close(ClassifierState start) {
    explore_stacks(
        tables_, below_, start, [&](ClassifierState state, LrState symbol) { return transition_ids_.contains(state, symbol); },
        [&](ClassifierState state, LrState symbol) {
            if (transitions_.size() % kStepsBetweenMeasurements == 0 && bytes() > kMaxBytesToClose)
                throw LimitExceeded("bytes to close the stack classifier", kMaxBytesToClose);
            work_.spend(2);
            return step(state, symbol);
        });
}

ClosedClassifier Classifier::take(ClassifierState start) {
    // Most of the memory goes first.
    const auto empty = [](auto&... tables) { ((tables = {}), ...); };
    empty(pending_, bundles_, threads_, thread_sets_, merged_lists_, moves_ids_, outcome_ids_, transition_ids_, set_bundles_,
          moves_, shift_pool_, reduction_pool_, outcomes_, merged_);
    ClosedClassifier c;
    c.n_states = states_.size();
    c.start = start;
    c.transitions = std::move(transitions_);
    const auto flatten = []<class I, class T>(Interned<I, T>& lists, std::vector<Word>& offsets, std::vector<T>& pool) {
        for (I i{0}; i.v < lists.size(); ++i.v) {
            if (pool.size() + lists[i].size() > kMaxMembers) throw LimitExceeded("sequences in all emissions", kMaxMembers);
            pool.insert(pool.end(), lists[i].begin(), lists[i].end());
            offsets.push_back(static_cast<Word>(pool.size()));
        }
        lists = {};
    };
    flatten(emission_sets_, c.set_offsets, c.set_emissions);
    flatten(emissions_, c.emission_offsets, c.emission_sequences);
    return c;
}

Work work_to_build_ahead_of_time() { return Work("steps to build ahead of time", kMaxStepsAheadOfTime); }

Work work_to_close(std::size_t left) {
    Work work("steps to build ahead of time", kMaxStepsAheadOfTime + kMoreStepsToClose);
    work.allow(left + kMoreStepsToClose);
    return work;
}

ClosedClassifier classify_sequences(const LrTables& tables, const StackPredecessors& below, const SequenceTrie& trie,
                                    std::span<const SequenceNode> sequences, Work& work) {
    work.spend(4 * sequences.size());
    Classifier classifier(tables, below, trie, work);
    const ClassifierState start = classifier.add_start(sequences);
    classifier.close(start);
    return classifier.take(start);
}

}  // namespace psc
