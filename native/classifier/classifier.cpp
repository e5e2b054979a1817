#include "classifier/classifier.hpp"

#include <algorithm>
#include <stdexcept>

#include "base/limits.hpp"
#include "base/sorted.hpp"

namespace psc {

namespace {

// Shifts of one token, one after the other, and reductions of nothing between them; a hostile table reduces for ever.
constexpr Word kMaxDepth = limit("token_shifts");
// Some eight seconds, and some twelve with those for the classifier; an ambiguous grammar may have exponentially many states.
constexpr std::size_t kMaxStepsAheadOfTime = limit("steps_ahead_of_time"), kMoreStepsToClose = limit("more_steps_to_close");
// Of what closing makes; as much again for the stages around it. The largest bundled grammars need 330 MB, with leads and without.
// What takes more without leads is given up early, as most of that would be lost.
constexpr std::size_t kMaxBytesToClose = limit("bytes_to_close"), kMaxBytesToCloseWhole = limit("bytes_to_close_whole");
constexpr std::size_t kStepsBetweenMeasurements = 1024;
// So that their offsets are words.
constexpr std::size_t kMaxMembers = limit("emitted_sequences");

}  // namespace

Classifier::Classifier(const LrTables& tables, const StackPredecessors& below, const SequenceTrie& trie, Work& work)
    : tables_(tables), below_(below), trie_(trie), work_(work), goes_round_(may_go_round(tables)) {
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
        work_.spend();
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
           emission_sets_.bytes() + merged_lists_.bytes() + popped_.size() * sizeof(ThreadId) + known_outcomes_.size() * 40 +
           transitions_.size() * 48 + taken_.size() * sizeof(BuiltTransition) + taken_bits_.size() * sizeof(std::uint64_t);
}

// The thread that is left when one that waits for more has popped a symbol.
ThreadId Classifier::popped(ThreadId id) {
    if (id.index() >= popped_.size()) popped_.resize(2 * id.index() + 8);
    if (const auto known = popped_[id.index()]) return *known;
    const Thread t = threads_[id];
    const ThreadId left = thread(t.bundle, t.go_to, t.pops - 1);
    popped_[id.index()] = left;
    return left;
}

void Classifier::Reading::clear() {
    emissions.clear();
    threads.clear();
    questions.clear();
    answered = first_derived = 0;
}

// What each symbol of a bundle does on top of an LR state.
void Classifier::split(Question of, Reading& reading) {
    emitted_.clear();
    reduced_.clear();
    whole_.assign(bundles_[of.bundle].begin(), bundles_[of.bundle].end());
    work_.spend(1 + whole_.size() / 16);
    for (Pending id : whole_) {
        const PendingSymbol p = pending_[id];
        for (Action action : tables_.cell(of.top, p.symbol.terminal())) {
            if (action.is_reduce()) {
                reduced_.emplace_back(action.production(), id);
                continue;
            }
            if (p.sequence) emitted_.push_back(*p.sequence);
            if (p.following == kNothing) continue;
            const Resolved rest = resolve(p.following, action.state());
            if (rest.emission != kSilent) reading.emissions.push_back(rest.emission);
            if (rest.bundle != kNothing) reading.questions.push_back({rest.bundle, action.state()});
        }
    }
    if (!emitted_.empty()) {
        sort_unique(emitted_);
        reading.emissions.push_back(emissions_.id_of(emitted_));
    }
    // The symbols of a bundle rise, so those of a production do.
    const auto by_production = [](const auto& a, const auto& b) { return a.first < b.first; };
    if (!std::is_sorted(reduced_.begin(), reduced_.end(), by_production))
        std::stable_sort(reduced_.begin(), reduced_.end(), by_production);
    for (std::size_t i = 0; i < reduced_.size();) {
        const Production production = reduced_[i].first;
        rest_.clear();
        for (; i < reduced_.size() && reduced_[i].first == production; ++i) rest_.push_back(reduced_[i].second);
        const Bundle rest = rest_.size() == whole_.size() ? of.bundle : bundle(rest_);
        const Word length = tables_.length(production);
        const Nonterminal lhs = tables_.lhs(production);
        if (length > 0)
            reading.threads.push_back(thread(rest, lhs, length - 1));
        else if (const auto to = tables_.go_to(of.top, lhs))
            reading.questions.push_back({rest, *to});
    }
    reading.first_derived = reading.questions.size();
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

// A thread that waits, when `symbol` is read: it waits for one symbol less, or asks what it does on the state that it goes to.
void Classifier::wait(ThreadId id, LrState symbol, Reading& reading) {
    const Thread& t = threads_[id];
    if (t.pops > 0) {
        reading.threads.push_back(popped(id));
        return;
    }
    go_to(t.bundle, *t.go_to, symbol, reading);
}

void Classifier::go_to(Bundle bundle, Nonterminal nonterminal, LrState symbol, Reading& reading) {
    const auto to = tables_.go_to(symbol, nonterminal);
    if (!to) return;
    // A grammar that derives a nonterminal from itself sends a thread back to where it was; once is enough.
    const Question asked{bundle, *to};
    const auto derived = reading.questions.begin() + static_cast<std::ptrdiff_t>(reading.first_derived);
    work_.spend(1 + static_cast<std::size_t>(reading.questions.end() - derived) / 16);
    if (std::find(derived, reading.questions.end(), asked) != reading.questions.end()) return;
    known_outcomes_.prefetch(asked.bundle, asked.top);
    reading.questions.push_back(asked);
}

// Adds the outcomes of the questions, which are about the stack state `symbol`, in order, up to the first question without a cached
// outcome, and returns that one.
std::optional<Classifier::Question> Classifier::answer(Reading& reading, LrState symbol) {
    for (; reading.answered < reading.questions.size(); ++reading.answered) {
        const Question asked = reading.questions[reading.answered];
        const auto known = known_outcomes_.find(asked.bundle, asked.top);
        if (!known) return asked;
        work_.spend(2);
        if (known->waits()) {
            go_to(known->bundle(), known->go_to(), symbol, reading);
            continue;
        }
        const Outcome out = outcomes_[static_cast<std::size_t>(known->number())];
        const auto emitted = emission_sets_[out.emissions];
        reading.emissions.insert(reading.emissions.end(), emitted.begin(), emitted.end());
        const auto left = thread_sets_[out.threads];
        for (ThreadId id : left) wait(id, symbol, reading);
    }
    return {};
}

Classifier::OpenOutcome& Classifier::open(Question of) {
    if (n_open_ == open_.size()) {
        if (n_open_ > kMaxDepth) throw LimitExceeded("reductions and shifts for one token", kMaxDepth);
        open_.push_back(std::make_unique<OpenOutcome>());
    }
    OpenOutcome& made = *open_[n_open_++];
    made.of = of;
    made.reading.clear();
    if (goes_round_)
        explore_from(of, made.reading);
    else
        split(of, made.reading);
    return made;
}

Classifier::Outcome Classifier::finish(OpenOutcome& found) {
    Reading& reading = found.reading;
    work_.spend(1 + reading.emissions.size() / 16);
    sort_unique(reading.emissions);
    merge(reading.threads);
    const auto& [emissions, threads, questions, answered, first_derived] = reading;
    const Outcome out{emission_sets_.id_of(emissions), thread_sets_.id_of(threads)};
    const Thread* alone = emissions.empty() && threads.size() == 1 ? &threads_[threads[0]] : nullptr;
    if (alone && alone->pops == 0 && alone->go_to) {
        known_outcomes_.insert(found.of.bundle, found.of.top, OutcomeTable::Entry::waiting(alone->bundle, *alone->go_to));
    } else {
        known_outcomes_.insert(found.of.bundle, found.of.top, OutcomeTable::Entry::numbered(static_cast<Word>(outcomes_.size())));
        outcomes_.push_back(out);
    }
    return out;
}

Classifier::Outcome Classifier::above(Question of) {
    if (const auto known = known_outcomes_.find(of.bundle, of.top)) {
        if (!known->waits()) return outcomes_[static_cast<std::size_t>(known->number())];
        return {emission_sets_.id_of({}), thread_sets_.id_of({thread(known->bundle(), known->go_to(), 0)})};
    }
    n_open_ = 0;
    open(of);
    while (true) {
        OpenOutcome& last = *open_[n_open_ - 1];
        if (const auto asked = answer(last.reading, last.of.top)) {
            open(*asked);
            continue;
        }
        const Outcome out = finish(last);
        if (--n_open_ == 0) return out;
    }
}

// Lets the threads of a state read a symbol: what is emitted, and the threads that are left.
void Classifier::read(ClassifierState state, LrState symbol, Reading& reading) {
    reading.clear();
    from_.assign(states_[state].begin(), states_[state].end());
    work_.spend(1 + from_.size());
    for (ThreadId id : from_) {
        const Thread t = threads_[id];
        if (t.go_to || t.pops > 0) {
            wait(id, symbol, reading);
            continue;
        }
        // At the start of a reading, `symbol` is all that was read. Conditions are left only here: one after a shift was resolved then.
        const Resolved now = resolve(t.bundle, symbol);
        if (now.emission != kSilent) reading.emissions.push_back(now.emission);
        const Outcome out = above({now.bundle, symbol});
        const auto emitted = emission_sets_[out.emissions];
        reading.emissions.insert(reading.emissions.end(), emitted.begin(), emitted.end());
        const auto left = thread_sets_[out.threads];
        reading.threads.insert(reading.threads.end(), left.begin(), left.end());
    }
    while (const auto asked = answer(reading, symbol)) above(*asked);
}

Transition Classifier::step(ClassifierState state, LrState symbol) {
    if (const auto known = transition_ids_.find(state, symbol)) return transitions_[*known].to;
    const Transition to = simulate(state, symbol);
    transition_ids_.insert(state, symbol, static_cast<Word>(transitions_.size()));
    transitions_.push_back({state, symbol, to});
    return to;
}

Transition Classifier::simulate(ClassifierState state, LrState symbol) {
    read(state, symbol, reading_);
    auto& [emissions, threads, questions, answered, first_derived] = reading_;
    sort_unique(emissions);
    merge(threads);
    Word skip = threads.empty() ? 0 : threads_[threads[0]].pops;
    for (ThreadId id : threads) skip = std::min(skip, threads_[id].pops);
    if (skip > 0) {
        for (ThreadId& id : threads)
            for (Word i = 0; i < skip; ++i) id = popped(id);
        sort_unique(threads);
    }
    const ClassifierState next = states_.id_of(threads);
    return {next, skip, emission_sets_.id_of(emissions)};
}

void Classifier::close(ClassifierState start, BytesToClose most) {
    const std::size_t most_bytes = most == BytesToClose::of_whole ? kMaxBytesToCloseWhole : kMaxBytesToClose;
    const std::size_t words = (static_cast<std::size_t>(tables_.n_lr_states) + 63) / 64;
    const auto word_of = [&](ClassifierState state, LrState symbol) { return state.index() * words + symbol.index() / 64; };
    const auto bit_of = [](LrState symbol) { return std::uint64_t{1} << (symbol.index() % 64); };
    explore_stacks(
        tables_, below_, start,
        [&](ClassifierState state, LrState symbol) {
            const std::size_t at = word_of(state, symbol);
            return at < taken_bits_.size() && (taken_bits_[at] & bit_of(symbol)) != 0;
        },
        [&](ClassifierState state, LrState symbol) {
            if (taken_.size() % kStepsBetweenMeasurements == 0 && bytes() > most_bytes)
                throw LimitExceeded("bytes to close the stack classifier", most_bytes);
            work_.spend(2);
            const Transition to = simulate(state, symbol);
            taken_.push_back({state, symbol, to});
            if (word_of(state, symbol) >= taken_bits_.size()) taken_bits_.resize((state.index() + 1) * words);
            taken_bits_[word_of(state, symbol)] |= bit_of(symbol);
            return to;
        });
}

ClosedClassifier Classifier::take(ClassifierState start) {
    // Most of the memory goes first.
    const auto empty = [](auto&... tables) { ((tables = {}), ...); };
    empty(pending_, bundles_, threads_, thread_sets_, merged_lists_, popped_, known_outcomes_, transition_ids_, set_bundles_,
          outcomes_, merged_, taken_bits_);
    ClosedClassifier c;
    c.n_states = states_.size();
    c.start = start;
    c.transitions.assign(taken_.begin(), taken_.end());
    taken_ = {};
    // Of the sets those on transitions, numbered as they come.
    std::vector<Maybe<EmissionSet>> number(static_cast<std::size_t>(emission_sets_.size()));
    Interned<EmissionSet, Emission> on_transitions;
    on_transitions.id_of({});
    number[0] = EmissionSet{0};
    for (BuiltTransition& t : c.transitions) {
        auto& known = number[t.to.emission.index()];
        if (!known) known = on_transitions.id_of(emission_sets_[t.to.emission]);
        t.to.emission = *known;
    }
    emission_sets_ = std::move(on_transitions);
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
                                    std::span<const SequenceNode> sequences, Work& work, BytesToClose most) {
    work.spend(4 * sequences.size());
    Classifier classifier(tables, below, trie, work);
    const ClassifierState start = classifier.add_start(sequences);
    classifier.close(start, most);
    return classifier.take(start);
}

}  // namespace psc
