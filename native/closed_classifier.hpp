// A classifier that is closed: every transition that a stack can ask for, as plain numbers. And several of them as one.
//
// Classifiers of different sequences over the same LR tables can be built apart, in other processes, and merged: a state of the
// merged machine has a state of each, and what each has yet to skip. If every sequence is in one of them only, and sequences with
// the same first node of the trie are together, then the merged machine is the one that would have been built for all sequences at
// once, down to its numbers: threads of different first nodes never become one but by waiting together, each with its own items.
//
// Cost of merging: a lookup per transition and classifier that reads, instead of a simulation of the LR tables.
#pragma once

#include <stdexcept>
#include <vector>

#include "lalr.hpp"
#include "sorted.hpp"

namespace psc {

struct Transition {
    Word next;      // classifier state; `Classifier::kDone` when nothing is left to decide
    Word skip;      // stack symbols to pass over before the next read
    Word emission;  // a set of sequences; 0 is empty
};

struct BuiltTransition {
    Word state, symbol;
    Transition to;
};

struct ClosedClassifier {
    Word n_states = 1;  // state 0 has nothing left to decide
    Word start = 0;
    std::vector<BuiltTransition> transitions;               // in the order of construction
    std::vector<Word> emission_offsets{0}, emission_parts;  // an emission is the union of its parts; emission 0 is empty
    std::vector<Word> part_offsets{0}, part_sequences;      // a part is a sorted list of sequences (trie nodes)

    Word n_emissions() const { return static_cast<Word>(emission_offsets.size()) - 1; }
    Word n_parts() const { return static_cast<Word>(part_offsets.size()) - 1; }
    std::span<const Word> parts_of(Word e) const { return list(emission_offsets, emission_parts, e); }
    std::span<const Word> sequences_of(Word p) const { return list(part_offsets, part_sequences, p); }

    std::vector<Word> to_words() const;
    static ClosedClassifier from_words(std::span<const Word> words);

private:
    static std::span<const Word> list(const std::vector<Word>& offsets, const std::vector<Word>& pool, Word i) {
        return {pool.data() + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
    }
};

ClosedClassifier merge_classifiers(const LrTables& tables, const std::vector<std::vector<Word>>& below,
                                   std::vector<ClosedClassifier> parts);

// Takes every step that a stack can ask for when reading begins in `start`: follows only symbols that can lie under the one just read.
// `known(state, symbol)`: whether it was taken before; `step(state, symbol)` takes it. State 0 reads no more.
template <class Known, class Step>
void explore_stacks(const LrTables& tables, const std::vector<std::vector<Word>>& below, Word start, Known known, Step step) {
    // lists[of[skip][symbol]]: what can be read next after `symbol` and `skip` more. Many symbols have the same list.
    SequenceInterner lists;
    std::vector<std::vector<Word>> of;
    std::vector<Word> deeper;
    auto reachable = [&](Word symbol, Word skip) {
        while (static_cast<Word>(of.size()) <= skip) {
            std::vector<Word> ids;
            for (Word s = 0; s < tables.n_lr_states; ++s) {
                deeper = of.empty() ? below[s] : std::vector<Word>();
                if (!of.empty())
                    for (Word lower : lists[of.back()[s]]) deeper.insert(deeper.end(), below[lower].begin(), below[lower].end());
                sort_unique(deeper);
                ids.push_back(lists.intern(deeper).first);
            }
            of.push_back(std::move(ids));
        }
        return of[skip][symbol];
    };
    std::vector<std::pair<Word, Word>> todo;  // (state, symbol) to be read
    PairMap visited;                          // (state, list)
    auto visit = [&](Word state, Word list) {
        if (state == 0 || visited.find(state, list) >= 0) return;
        visited.insert(state, list, 0);
        for (Word symbol : lists[list])
            if (!known(state, symbol)) todo.emplace_back(state, symbol);
    };
    visit(start, lists.intern(resting_states(tables)).first);
    while (!todo.empty()) {
        const auto [state, symbol] = todo.back();
        todo.pop_back();
        if (known(state, symbol)) continue;
        const Transition t = step(state, symbol);
        visit(t.next, reachable(symbol, t.skip));
    }
}

}  // namespace psc
