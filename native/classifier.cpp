#include "classifier.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>

namespace psc {

namespace {

void sort_unique(std::vector<Word>& v) {
    std::sort(v.begin(), v.end());
    v.erase(std::unique(v.begin(), v.end()), v.end());
}

// Reductions in a row without a shift; an LR table needs more only if it reduces for ever.
constexpr Word kMaxDepth = 4000;

}  // namespace

Classifier::Classifier(const LrTables& tables, const SequenceTrie& trie)
    : tables_(tables), trie_(trie), below_(stack_predecessors(tables)) {
    states_.intern({});
    leaf_emissions_.intern({});
    thread_sets_.intern({});
    emission_sets_.intern({});
    bundles_.intern({});
}

Word Classifier::start(std::span<const Word> sequences) {
    // Children of every node on the way to a wanted sequence; a child has a larger number than its parent.
    std::vector<Word> nodes(sequences.begin(), sequences.end());
    std::vector<char> wanted(trie_.size()), present(trie_.size());
    for (Word n : nodes) {
        wanted[n] = 1;
        for (Word at = n; at != kNoNode && !present[at]; at = trie_.parent(at)) present[at] = 1;
    }
    present[0] = 1;
    std::vector<std::vector<std::pair<Word, Word>>> children(trie_.size());
    std::vector<Word> built(trie_.size(), -1);
    for (Word n = trie_.size() - 1; n >= 0; --n) {
        if (!present[n]) continue;
        auto& edges = children[n];
        std::sort(edges.begin(), edges.end());
        std::vector<Word> flat;
        for (const auto& [terminal, node] : edges) flat.insert(flat.end(), {terminal, node});
        const Word key[2] = {wanted[n] ? n : kNoNode, bundles_.intern(flat).first};
        built[n] = nodes_.intern(key).first;
        if (n > 0) children[trie_.parent(n)].emplace_back(trie_.terminal(n), built[n]);
    }
    const std::vector<Word> threads{thread(nodes_[built[0]][1], -1, 0)};
    return states_.intern(threads).first;
}

Word Classifier::thread(Word bundle, Word nonterminal, Word pops) {
    const Word key[3] = {bundle, nonterminal, pops};
    return threads_.intern(key).first;
}

const Classifier::Parts& Classifier::parts(Word bundle, Word top) {
    if (const Word known = parts_ids_.find(bundle, top); known >= 0) return parts_[known];
    Parts p;
    std::map<Word, std::vector<Word>> reductions;
    const auto edges = bundles_[bundle];
    for (std::size_t i = 0; i < edges.size(); i += 2)
        for (Word action : tables_.cell(top, edges[i])) {
            if (is_reduce(action)) {
                auto& r = reductions[action / 2];
                r.insert(r.end(), {edges[i], edges[i + 1]});
            } else {
                p.shifts.emplace_back(edges[i + 1], action / 2);
            }
        }
    for (const auto& [production, flat] : reductions) p.reductions.emplace_back(production, bundles_.intern(flat).first);
    parts_ids_.insert(bundle, top, static_cast<Word>(parts_.size()));
    parts_.push_back(std::move(p));
    return parts_.back();
}

// `local` is the part of the stack that is known, lowest first; it is as it was on return. Reductions that need more of the stack become
// threads, counted from below `local`.
void Classifier::simulate(Word bundle, std::vector<Word>& local, std::vector<Word>& emitted, std::vector<Word>& threads,
                          Word depth) {
    if (depth > kMaxDepth) throw std::runtime_error("the LR tables reduce without end");
    const Parts& p = parts(bundle, local.back());
    for (const auto& [node, state] : p.shifts) {
        const auto n = nodes_[node];
        const Word sequence = n[0], children = n[1];
        if (sequence != kNoNode) emitted.push_back(sequence);
        if (children == 0) continue;
        local.push_back(state);
        simulate(children, local, emitted, threads, 0);
        local.pop_back();
    }
    for (const auto& [production, rest] : p.reductions) {
        const Word length = tables_.length[production], lhs = tables_.lhs[production];
        const Word known = static_cast<Word>(local.size());
        if (length >= known) {
            threads.push_back(thread(rest, lhs, length - known));
            continue;
        }
        const Word to = tables_.go_to(local[known - length - 1], lhs);
        if (to < 0) continue;
        std::vector<Word> reduced(local.begin(), local.end() - length);
        reduced.push_back(to);
        simulate(rest, reduced, emitted, threads, depth + 1);
    }
}

// Threads that wait for the same goto after the same pops become one, which waits with all their edges.
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
    std::vector<Word> same, edges;
    for (std::size_t i = 0, end; i < keys.size(); i = end) {
        same.clear();
        for (end = i; end < keys.size() && keys[end][0] == keys[i][0] && keys[end][1] == keys[i][1]; ++end)
            same.push_back(keys[end][2]);
        Word bundle = same[0];
        if (same.size() > 1) {
            const auto [id, fresh] = bundle_lists_.intern(same);
            if (fresh) {
                std::vector<std::pair<Word, Word>> all;
                for (Word b : same) {
                    const auto e = bundles_[b];
                    for (std::size_t k = 0; k < e.size(); k += 2) all.emplace_back(e[k], e[k + 1]);
                }
                std::sort(all.begin(), all.end());
                all.erase(std::unique(all.begin(), all.end()), all.end());
                edges.clear();
                for (const auto& [terminal, node] : all) edges.insert(edges.end(), {terminal, node});
                merged_.push_back(bundles_.intern(edges).first);
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
    simulate(bundle, local, emitted, threads, 0);
    sort_unique(emitted);
    merge(threads);
    const Outcome out{leaf_emissions_.intern(emitted).first, thread_sets_.intern(threads).first};
    outcome_ids_.insert(bundle, top, static_cast<Word>(outcomes_.size()));
    outcomes_.push_back(out);
    return out;
}

void Classifier::read(Word id, Word symbol, std::vector<Word>& emissions, std::vector<Word>& threads) {
    const auto key = threads_[id];
    const Word bundle = key[0], nonterminal = key[1], pops = key[2];
    if (pops > 0) {
        threads.push_back(thread(bundle, nonterminal, pops - 1));
        return;
    }
    const Word top = nonterminal < 0 ? symbol : tables_.go_to(symbol, nonterminal);
    if (top < 0) return;
    const Outcome out = above(bundle, top);
    if (out.emission) emissions.push_back(out.emission);
    const std::size_t first = threads.size();
    const auto more = thread_sets_[out.threads];
    threads.insert(threads.end(), more.begin(), more.end());
    if (nonterminal < 0) return;  // `symbol` itself was the known part
    // `symbol` is still there, under `top`: threads that wait for it can go on, the others pop it.
    std::size_t kept = first;
    std::vector<Word> go_on;
    for (std::size_t i = first; i < threads.size(); ++i) {
        const auto t = threads_[threads[i]];
        if (t[2] == 0)
            go_on.push_back(threads[i]);
        else
            threads[kept++] = thread(t[0], t[1], t[2] - 1);
    }
    threads.resize(kept);
    for (Word waiting : go_on) read(waiting, symbol, emissions, threads);
}

Transition Classifier::step(Word state, Word symbol) {
    if (const Word known = transition_ids_.find(state, symbol); known >= 0) return transitions_[known].to;
    std::vector<Word> emissions, threads;
    const auto span = states_[state];
    const std::vector<Word> members(span.begin(), span.end());
    for (Word id : members) read(id, symbol, emissions, threads);
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

void Classifier::close(std::span<const Word> starts) {
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
    std::vector<Word> tops;
    for (Word s = 0; s < tables_.n_states; ++s)
        if (s != tables_.end_state && tables_.accessing[s] < tables_.n_terminals) tops.push_back(s);
    for (Word s : starts) visit(s, tops);
    while (!todo.empty()) {
        const auto [state, symbol] = todo.back();
        todo.pop_back();
        if (transition_ids_.find(state, symbol) >= 0) continue;
        const Transition t = step(state, symbol);
        visit(t.next, reachable(symbol, t.skip));
    }
}

}  // namespace psc
