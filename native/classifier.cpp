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
// To close a classifier: about ten seconds. SQL needs 57 million; an ambiguous grammar may have exponentially many states.
constexpr std::size_t kMaxStepsToClose = 160'000'000;
// So that their offsets are words.
constexpr std::size_t kMaxEmitted = 1'000'000'000;

bool has_several_actions(const LrTables& t) {
    for (std::size_t cell = 0; cell + 1 < t.action_offsets.size(); ++cell)
        if (t.action_offsets.range(cell).size() > 1) return true;
    return false;
}

}  // namespace

Classifier::Classifier(const LrTables& tables, const std::vector<std::vector<Word>>& below, const SequenceTrie& trie, Work& work)
    : tables_(tables), below_(below), trie_(trie), work_(work), several_actions_(has_several_actions(tables)) {
    states_.intern({});
    leaf_emissions_.intern({});
    thread_sets_.intern({});
    emission_sets_.intern({});
    bundles_.intern({});
    has_conditions_.push_back(0);
}

Word Classifier::bundle(std::vector<Word>& items) {
    sort_unique(items);
    const auto [id, fresh] = bundles_.intern(items);
    if (fresh)
        has_conditions_.push_back(
            std::any_of(items.begin(), items.end(), [&](Word i) { return SequenceTrie::is_condition(symbol_of(i)); }));
    return id;
}

Word Classifier::item(Word symbol, Word sequence, Word children) {
    const Word key[3] = {symbol, sequence, children};
    return items_.intern(key).first;
}

// What may come first in the sequences of a set; each of them, read to its end, makes `leaf` viable.
Word Classifier::bundle_of_set(Word set, Word leaf) {
    if (const Word known = set_bundles_.find(set, leaf); known >= 0) return known;
    std::vector<Word> items;
    const auto edges = trie_.edges(set);
    for (std::size_t i = 0; i < edges.size(); i += 2) {
        const bool ends = edges[i + 1] == SequenceSets::kOne;
        items.push_back(item(edges[i], ends ? leaf : kNoNode, ends ? 0 : bundle_of_set(edges[i + 1], leaf)));
    }
    const Word made = bundle(items);
    set_bundles_.insert(set, leaf, made);
    return made;
}

Word Classifier::add_start(std::span<const Word> sequences) {
    // Nodes on the way to a sequence, the last first: a child has a larger number than its parent.
    std::vector<Word> nodes;
    slot_.resize(trie_.size(), -1);
    for (Word n : sequences)
        for (; slot_[n] < 0; n = trie_.parent(n)) {
            slot_[n] = 0;
            nodes.push_back(n);
            if (n == 0) break;
        }
    if (nodes.empty()) return kDone;
    std::sort(nodes.begin(), nodes.end(), std::greater<>());
    for (std::size_t i = 0; i < nodes.size(); ++i) slot_[nodes[i]] = static_cast<Word>(i);
    std::vector<char> wanted(nodes.size());
    for (Word n : sequences) wanted[slot_[n]] = 1;
    // The items of each node's children, as ranges of one pool. A leaf that stands for a set is many.
    std::vector<std::vector<Word>> of_sets(nodes.size());
    std::vector<Word> at(nodes.size() + 1), pool(nodes.size()), items;
    for (Word n : nodes)
        if (n != 0 && trie_.terminal(n) != SequenceTrie::kOpen) ++at[slot_[trie_.parent(n)] + 1];
    for (std::size_t i = 0; i < nodes.size(); ++i) at[i + 1] += at[i];
    auto filled = at;
    Word first = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (trie_.terminal(nodes[i]) == SequenceTrie::kOpen) {
            const auto more = bundles_[bundle_of_set(trie_.set_of(nodes[i]), nodes[i])];
            auto& into = of_sets[slot_[trie_.parent(nodes[i])]];
            into.insert(into.end(), more.begin(), more.end());
            continue;
        }
        items.assign(pool.begin() + at[i], pool.begin() + at[i + 1]);
        items.insert(items.end(), of_sets[i].begin(), of_sets[i].end());
        const Word following = bundle(items);
        if (nodes[i] == 0)
            first = following;
        else
            pool[filled[slot_[trie_.parent(nodes[i])]]++] = item(trie_.symbol(nodes[i]), wanted[i] ? nodes[i] : kNoNode, following);
    }
    for (Word n : nodes) slot_[n] = -1;
    const Word t = thread(first, -1, 0);
    return states_.intern({&t, 1}).first;
}

// What is left of a bundle when a step starts with `top` on top.
Classifier::Resolved Classifier::resolve(Word whole, Word top) {
    if (!has_conditions_[whole]) return {whole, 0};
    if (const Word known = resolved_ids_.find(whole, top); known >= 0) return resolved_[known];
    std::vector<Word> todo(bundles_[whole].begin(), bundles_[whole].end()), kept, emitted;
    for (std::size_t i = 0; i < todo.size(); ++i) {
        const Word symbol = symbol_of(todo[i]);
        if (!SequenceTrie::is_condition(symbol)) {
            kept.push_back(todo[i]);
        } else if (trie_.holds(symbol, top)) {
            if (sequence_of(todo[i]) != kNoNode) emitted.push_back(sequence_of(todo[i]));
            const auto following = bundles_[children_of(todo[i])];
            todo.insert(todo.end(), following.begin(), following.end());
        }
    }
    sort_unique(emitted);
    const Resolved r{bundle(kept), leaf_emissions_.intern(emitted).first};
    resolved_ids_.insert(whole, top, static_cast<Word>(resolved_.size()));
    resolved_.push_back(r);
    return r;
}

std::size_t Classifier::bytes() const {
    return items_.bytes() + bundles_.bytes() + threads_.bytes() + leaf_emissions_.bytes() + thread_sets_.bytes() + states_.bytes() +
           emission_sets_.bytes() + bundle_lists_.bytes() + part_pool_.size() * sizeof(Move) + parts_.size() * 40 +
           outcomes_.size() * 40 + transitions_.size() * 48;
}

Word Classifier::thread(Word bundle, Word nonterminal, Word pops) {
    const Word key[3] = {bundle, nonterminal, pops};
    return threads_.intern(key).first;
}

// What each item of a bundle does on top of an LR state: (item, LR state) for shifts, then (production, bundle) for reductions.
void Classifier::split(Word whole, Word top, std::vector<Move>& moves, std::size_t& n_shifts) {
    std::map<Word, std::vector<Word>> reductions;
    const std::size_t first = moves.size();
    work_.spend(1 + bundles_[whole].size() / 16);
    for (Word i : bundles_[whole])
        for (Action action : tables_.cell({top}, {symbol_of(i)})) {
            if (action.is_reduce())
                reductions[action.production().v].push_back(i);
            else
                moves.emplace_back(i, action.state().v);
        }
    n_shifts = moves.size() - first;
    for (auto& [production, items] : reductions) moves.emplace_back(production, bundle(items));
}

Classifier::Parts Classifier::parts(Word bundle, Word top) {
    if (const Word known = parts_ids_.find(bundle, top); known >= 0) return parts_[known];
    const Word first = static_cast<Word>(part_pool_.size());
    std::size_t n_shifts = 0;
    split(bundle, top, part_pool_, n_shifts);
    const Parts p{first, first + static_cast<Word>(n_shifts), static_cast<Word>(part_pool_.size())};
    parts_ids_.insert(bundle, top, static_cast<Word>(parts_.size()));
    parts_.push_back(p);
    return p;
}

// `local` is the part of the stack that is known, lowest first; it is as it was on return. Reductions that need more of
// the stack become threads, counted from below `local`.
void Classifier::simulate(Word bundle, std::vector<Word>& local, std::vector<Word>& emitted, std::vector<Word>& threads,
                          Word depth) {
    if (depth > kMaxDepth) throw LimitExceeded("reductions and shifts for one token", kMaxDepth);
    work_.spend(4 + local.size() / 4);
    const Parts p = parts(bundle, local.back());
    for (Word i = p.shifts; i < p.reductions; ++i) shift(part_pool_[i], local, emitted, threads, depth);
    for (Word i = p.reductions; i < p.end; ++i) reduce(part_pool_[i], local, emitted, threads, depth);
}

void Classifier::shift(Move move, std::vector<Word>& local, std::vector<Word>& emitted, std::vector<Word>& threads, Word depth) {
    const auto [item, state] = move;
    if (sequence_of(item) != kNoNode) emitted.push_back(sequence_of(item));
    const Word following = children_of(item);
    if (following == 0) return;
    const Resolved rest = resolve(following, state);
    if (rest.emission) emitted.insert(emitted.end(), leaf_emissions_[rest.emission].begin(), leaf_emissions_[rest.emission].end());
    if (rest.bundle == 0) return;
    local.push_back(state);
    simulate(rest.bundle, local, emitted, threads, depth + 1);
    local.pop_back();
}

void Classifier::reduce(Move move, std::vector<Word>& local, std::vector<Word>& emitted, std::vector<Word>& threads, Word depth) {
    const auto [production, rest] = move;
    const Word length = tables_.length({production});
    const Nonterminal lhs = tables_.lhs({production});
    const Word known = static_cast<Word>(local.size());
    if (length >= known) {
        threads.push_back(thread(rest, lhs.v, length - known));
        return;
    }
    const auto to = tables_.go_to({local[known - length - 1]}, lhs);
    if (!to) return;
    std::vector<Word> reduced(local.begin(), local.end() - length);
    reduced.push_back(to.v);
    simulate(rest, reduced, emitted, threads, depth + 1);
}

// Threads that wait for the same goto after the same pops become one, which waits with all their nodes.
void Classifier::merge(std::vector<Word>& threads) {
    work_.spend(1 + threads.size() / 4);
    sort_unique(threads);
    if (threads.size() < 2) return;
    std::vector<std::array<Word, 3>> keys;  // pops, nonterminal, bundle
    for (Word id : threads) {
        const auto key = threads_[id];
        keys.push_back({key[2], key[1], key[0]});
    }
    std::sort(keys.begin(), keys.end());
    threads.clear();
    std::vector<Word> same, items;
    for (std::size_t i = 0, end; i < keys.size(); i = end) {
        same.clear();
        for (end = i; end < keys.size() && keys[end][0] == keys[i][0] && keys[end][1] == keys[i][1]; ++end)
            same.push_back(keys[end][2]);
        Word all = same[0];
        if (same.size() > 1) {
            const auto [id, fresh] = bundle_lists_.intern(same);
            if (fresh) {
                items.clear();
                for (Word b : same) items.insert(items.end(), bundles_[b].begin(), bundles_[b].end());
                work_.spend(1 + items.size() / 16);
                merged_.push_back(bundle(items));
            }
            all = merged_[id];
        }
        threads.push_back(thread(all, keys[i][1], keys[i][0]));
    }
    std::sort(threads.begin(), threads.end());
}

Classifier::Outcome Classifier::above(Word whole, Word top) {
    if (const Word known = outcome_ids_.find(whole, top); known >= 0) return outcomes_[known];
    std::vector<Word> local{top}, emitted, threads;
    // Only a start has conditions here: those after a shift were looked at then.
    const Resolved now = resolve(whole, top);
    emitted.assign(leaf_emissions_[now.emission].begin(), leaf_emissions_[now.emission].end());
    if (several_actions_) {
        explore_from(now.bundle, top, emitted, threads);
    } else {
        // This pair is not met again, so unlike those deeper down its parts are not kept.
        std::vector<Move> moves;
        std::size_t n_shifts = 0;
        split(now.bundle, top, moves, n_shifts);
        for (std::size_t i = 0; i < n_shifts; ++i) shift(moves[i], local, emitted, threads, 0);
        for (std::size_t i = n_shifts; i < moves.size(); ++i) reduce(moves[i], local, emitted, threads, 0);
    }
    work_.spend(1 + emitted.size() / 16);
    sort_unique(emitted);
    merge(threads);
    const Outcome out{leaf_emissions_.intern(emitted).first, thread_sets_.intern(threads).first};
    outcome_ids_.insert(whole, top, static_cast<Word>(outcomes_.size()));
    outcomes_.push_back(out);
    return out;
}

// Lets the threads of a state read a symbol: what is emitted, and the threads that are left.
void Classifier::read(Word state, Word symbol, std::vector<Word>& emissions, std::vector<Word>& threads) {
    std::vector<Word> todo(states_[state].begin(), states_[state].end());
    // A grammar that derives a nonterminal from itself sends a thread back to where it was; once is enough.
    for (std::size_t i = 0; i < todo.size(); ++i) {
        const auto key = threads_[todo[i]];
        const Word bundle = key[0], nonterminal = key[1], pops = key[2];
        work_.spend(4 + (pops > 0 ? 0 : todo.size() / 4));
        if (pops > 0) {
            threads.push_back(thread(bundle, nonterminal, pops - 1));
            continue;
        }
        const Word top = nonterminal < 0 ? symbol : tables_.go_to({symbol}, {nonterminal}).v;
        if (top < 0) continue;
        const Outcome out = above(bundle, top);
        if (out.emission) emissions.push_back(out.emission);
        const auto set = thread_sets_[out.threads];
        const std::vector<Word> more(set.begin(), set.end());
        for (Word id : more) {
            const auto t = threads_[id];
            if (nonterminal < 0)  // `symbol` itself was the known part
                threads.push_back(id);
            else if (t[2] > 0)  // `symbol` is still there, under `top`: popped
                threads.push_back(thread(t[0], t[1], t[2] - 1));
            else if (std::find(todo.begin(), todo.end(), id) == todo.end())  // or gone to
                todo.push_back(id);
        }
    }
}

Transition Classifier::step(Word state, Word symbol) {
    if (const Word known = transition_ids_.find(state, symbol); known >= 0) return transitions_[known].to;
    std::vector<Word> emissions, threads;
    read(state, symbol, emissions, threads);
    sort_unique(emissions);
    merge(threads);
    Word skip = threads.empty() ? 0 : threads_[threads[0]][2];
    for (Word id : threads) skip = std::min(skip, threads_[id][2]);
    if (skip > 0) {
        for (Word& id : threads) {
            const auto key = threads_[id];
            id = thread(key[0], key[1], key[2] - skip);
        }
        sort_unique(threads);
    }
    const Transition to{states_.intern(threads).first, skip, emission_sets_.intern(emissions).first};
    transition_ids_.insert(state, symbol, static_cast<Word>(transitions_.size()));
    transitions_.push_back({state, symbol, to});
    return to;
}

void Classifier::close(Word start) {
    explore_stacks(
        tables_, below_, start, [&](Word state, Word symbol) { return transition_ids_.find(state, symbol) >= 0; },
        [&](Word state, Word symbol) { return step(state, symbol); });
}

ClosedClassifier Classifier::take(Word start) {
    // Most of the memory goes first.
    for (SequenceInterner* i : {&items_, &bundles_, &threads_, &thread_sets_, &bundle_lists_}) *i = SequenceInterner();
    for (PairMap* m : {&parts_ids_, &outcome_ids_, &transition_ids_, &set_bundles_}) *m = PairMap();
    parts_ = {};
    part_pool_ = {};
    outcomes_ = {};
    merged_ = {};
    ClosedClassifier c;
    c.n_states = states_.size();
    c.start = start;
    c.transitions = std::move(transitions_);
    const auto flatten = [](const SequenceInterner& lists, std::vector<Word>& offsets, std::vector<Word>& pool) {
        for (Word i = 0; i < lists.size(); ++i) {
            if (pool.size() + lists[i].size() > kMaxEmitted) throw LimitExceeded("sequences in all emissions", kMaxEmitted);
            pool.insert(pool.end(), lists[i].begin(), lists[i].end());
            offsets.push_back(static_cast<Word>(pool.size()));
        }
    };
    flatten(emission_sets_, c.emission_offsets, c.emission_parts);
    emission_sets_ = SequenceInterner();
    flatten(leaf_emissions_, c.part_offsets, c.part_sequences);
    leaf_emissions_ = SequenceInterner();
    return c;
}

ClosedClassifier classify_sequences(const LrTables& tables, const std::vector<std::vector<Word>>& below, const SequenceTrie& trie,
                                    std::span<const Word> sequences) {
    Work work("steps to close the stack classifier", kMaxStepsToClose);
    Classifier classifier(tables, below, trie, work);
    const Word start = classifier.add_start(sequences);
    classifier.close(start);
    return classifier.take(start);
}

}  // namespace psc
