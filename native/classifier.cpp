#include "classifier.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>

#include "sorted.hpp"

namespace psc {

namespace {

// Reductions in a row without a shift; an LR table needs more only if it reduces for ever.
constexpr Word kMaxDepth = 4000;

}  // namespace

Classifier::Classifier(const LrTables& tables, const SequenceTrie& trie, std::span<const Word> sequences)
    : tables_(tables), trie_(trie), below_(stack_predecessors(tables)), wanted_(trie.size()), children_(trie.size(), 0) {
    states_.intern({});
    leaf_emissions_.intern({});
    thread_sets_.intern({});
    emission_sets_.intern({});
    bundles_.intern({});
    std::vector<std::vector<Word>> children(trie.size());
    for (Word n : sequences) wanted_[n] = 1;
    std::vector<char> present = wanted_;
    for (Word n = trie.size() - 1; n > 0; --n) {  // a child has a larger number than its parent
        if (!present[n]) continue;
        present[trie.parent(n)] = 1;
        children[trie.parent(n)].push_back(n);
    }
    for (Word n = 0; n < trie.size(); ++n) {
        std::reverse(children[n].begin(), children[n].end());
        children_[n] = bundles_.intern(children[n]).first;
    }
    const Word first = thread(children_[0], -1, 0);
    start_ = states_.intern({&first, 1}).first;
}

Word Classifier::thread(Word bundle, Word nonterminal, Word pops) {
    const Word key[3] = {bundle, nonterminal, pops};
    return threads_.intern(key).first;
}

// What each node of a bundle does on top of an LR state: (node, LR state) for shifts, then (production, bundle) for reductions.
void Classifier::split(Word bundle, Word top, std::vector<Move>& moves, std::size_t& n_shifts) {
    std::map<Word, std::vector<Word>> reductions;
    const std::size_t first = moves.size();
    for (Word node : bundles_[bundle])
        for (Word action : tables_.cell(top, trie_.terminal(node))) {
            if (is_reduce(action))
                reductions[action / 2].push_back(node);
            else
                moves.emplace_back(node, action / 2);
        }
    n_shifts = moves.size() - first;
    for (const auto& [production, nodes] : reductions) moves.emplace_back(production, bundles_.intern(nodes).first);
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
    if (depth > kMaxDepth) throw std::runtime_error("the LR tables reduce without end");
    const Parts p = parts(bundle, local.back());
    for (Word i = p.shifts; i < p.reductions; ++i) shift(part_pool_[i], local, emitted, threads);
    for (Word i = p.reductions; i < p.end; ++i) reduce(part_pool_[i], local, emitted, threads, depth);
}

void Classifier::shift(Move move, std::vector<Word>& local, std::vector<Word>& emitted, std::vector<Word>& threads) {
    const auto [node, state] = move;
    if (wanted_[node]) emitted.push_back(node);
    if (children_[node] == 0) return;
    local.push_back(state);
    simulate(children_[node], local, emitted, threads, 0);
    local.pop_back();
}

void Classifier::reduce(Move move, std::vector<Word>& local, std::vector<Word>& emitted, std::vector<Word>& threads, Word depth) {
    const auto [production, rest] = move;
    const Word length = tables_.length[production], lhs = tables_.lhs[production];
    const Word known = static_cast<Word>(local.size());
    if (length >= known) {
        threads.push_back(thread(rest, lhs, length - known));
        return;
    }
    const Word to = tables_.go_to(local[known - length - 1], lhs);
    if (to < 0) return;
    std::vector<Word> reduced(local.begin(), local.end() - length);
    reduced.push_back(to);
    simulate(rest, reduced, emitted, threads, depth + 1);
}

// Threads that wait for the same goto after the same pops become one, which waits with all their nodes.
void Classifier::merge(std::vector<Word>& threads) {
    sort_unique(threads);
    if (threads.size() < 2) return;
    std::vector<std::array<Word, 3>> keys;  // pops, nonterminal, bundle
    for (Word id : threads) {
        const auto key = threads_[id];
        keys.push_back({key[2], key[1], key[0]});
    }
    std::sort(keys.begin(), keys.end());
    threads.clear();
    std::vector<Word> same, nodes;
    for (std::size_t i = 0, end; i < keys.size(); i = end) {
        same.clear();
        for (end = i; end < keys.size() && keys[end][0] == keys[i][0] && keys[end][1] == keys[i][1]; ++end)
            same.push_back(keys[end][2]);
        Word bundle = same[0];
        if (same.size() > 1) {
            const auto [id, fresh] = bundle_lists_.intern(same);
            if (fresh) {
                nodes.clear();
                for (Word b : same) nodes.insert(nodes.end(), bundles_[b].begin(), bundles_[b].end());
                sort_unique(nodes);
                merged_.push_back(bundles_.intern(nodes).first);
            }
            bundle = merged_[id];
        }
        threads.push_back(thread(bundle, keys[i][1], keys[i][0]));
    }
    std::sort(threads.begin(), threads.end());
}

Classifier::Outcome Classifier::above(Word bundle, Word top) {
    if (const Word known = outcome_ids_.find(bundle, top); known >= 0) return outcomes_[known];
    std::vector<Word> local{top}, emitted, threads;
    // This pair is not met again, so unlike those deeper down its parts are not kept.
    std::vector<Move> moves;
    std::size_t n_shifts = 0;
    split(bundle, top, moves, n_shifts);
    for (std::size_t i = 0; i < n_shifts; ++i) shift(moves[i], local, emitted, threads);
    for (std::size_t i = n_shifts; i < moves.size(); ++i) reduce(moves[i], local, emitted, threads, 0);
    sort_unique(emitted);
    merge(threads);
    const Outcome out{leaf_emissions_.intern(emitted).first, thread_sets_.intern(threads).first};
    outcome_ids_.insert(bundle, top, static_cast<Word>(outcomes_.size()));
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
        if (pops > 0) {
            threads.push_back(thread(bundle, nonterminal, pops - 1));
            continue;
        }
        const Word top = nonterminal < 0 ? symbol : tables_.go_to(symbol, nonterminal);
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

void Classifier::close() {
    // below[skip][symbol]: what can be read next after `symbol` and `skip` more.
    std::vector<std::vector<std::vector<Word>>> below{below_};
    auto reachable = [&](Word symbol, Word skip) -> const std::vector<Word>& {
        while (static_cast<Word>(below.size()) <= skip) {
            std::vector<std::vector<Word>> deeper(tables_.n_states);
            for (Word s = 0; s < tables_.n_states; ++s) {
                for (Word lower : below.back()[s]) deeper[s].insert(deeper[s].end(), below_[lower].begin(), below_[lower].end());
                sort_unique(deeper[s]);
            }
            below.push_back(std::move(deeper));
        }
        return below[skip][symbol];
    };
    std::vector<std::pair<Word, Word>> todo;  // (state, symbol) to be read
    auto visit = [&](Word state, const std::vector<Word>& symbols) {
        if (state == kDone) return;
        for (Word symbol : symbols)
            if (transition_ids_.find(state, symbol) < 0) todo.emplace_back(state, symbol);
    };
    visit(start_, resting_states(tables_));
    while (!todo.empty()) {
        const auto [state, symbol] = todo.back();
        todo.pop_back();
        if (transition_ids_.find(state, symbol) >= 0) continue;
        const Transition t = step(state, symbol);
        visit(t.next, reachable(symbol, t.skip));
    }
}

}  // namespace psc
