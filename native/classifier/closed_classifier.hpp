// A closed classifier: every transition that a stack can need, as plain numbers; and the merging of several into one.
//
// Classifiers of different sequences over the same LR tables can be built apart, in other processes, and merged. A merged state is one
// state of each part, with the symbols that each part still skips. If no two parts have a sequence or a first node of the trie in
// common, the merged machine equals the one built for all sequences at once, down to its numbers: threads of different first nodes
// become one only where they wait for the same goto, and the bundle is then the union of theirs.
//
// Example: where one part waits with the bundle {a} and another with {b} for the same goto, the machine built at once waits with {a, b}.
//
// Cost: merging takes a look-up for each transition and part that reads there, instead of a simulation of the LR tables.
// Threads: immutable once made.
#pragma once

#include <stdexcept>
#include <utility>
#include <vector>

#include "base/interned.hpp"
#include "base/sorted.hpp"
#include "lr/lalr.hpp"

namespace psc {

struct BuiltTransition {
    ClassifierState state;
    LrState symbol;
    Transition to;
};

struct ClosedClassifier {
    Word n_states = 1;
    ClassifierState start = kDone;
    std::vector<BuiltTransition> transitions;  // in the order of construction
    std::vector<Word> set_offsets{0};
    std::vector<Emission> set_emissions;  // a set is the union of its emissions; set 0 is empty
    std::vector<Word> emission_offsets{0};
    std::vector<SequenceNode> emission_sequences;  // an emission is a sorted list of sequences

    Word n_sets() const { return static_cast<Word>(set_offsets.size()) - 1; }
    Word n_emissions() const { return static_cast<Word>(emission_offsets.size()) - 1; }
    std::span<const Emission> emissions_of(EmissionSet s) const { return list(set_offsets, set_emissions, s.v); }
    std::span<const SequenceNode> sequences_of(Emission e) const { return list(emission_offsets, emission_sequences, e.v); }

    std::vector<Word> to_words() const;
    static ClosedClassifier from_words(std::span<const Word> words);

private:
    template <class T>
    static std::span<const T> list(const std::vector<Word>& offsets, const std::vector<T>& pool, Word i) {
        return {pool.data() + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
    }
};

ClosedClassifier merge_classifiers(const LrTables& tables, const StackPredecessors& below, std::vector<ClosedClassifier> parts);

// Takes every step that a stack can need when reading begins in `start`; it follows only symbols that can lie under the one just read.
// `known(state, symbol)`: whether that step was taken before; `step(state, symbol)` takes it. kDone reads no more.
template <class Known, class Step>
void explore_stacks(const LrTables& tables, const StackPredecessors& below, ClassifierState start, Known known, Step step) {
    // lists[of[skip][symbol]]: what can be read next after `symbol` and `skip` more. Many symbols have the same list.
    Interned<TopSet, LrState> lists;
    std::vector<std::vector<TopSet>> of;
    std::vector<Maybe<TopSet>> under;  // per list, what can lie under its states
    std::vector<char> listed(static_cast<std::size_t>(tables.n_lr_states));
    std::vector<LrState> deeper;
    const auto under_list = [&](TopSet list) {
        if (list.index() >= under.size()) under.resize(list.index() + 1);
        if (const auto known = under[list.index()]) return *known;
        for (LrState upper : lists[list])
            for (LrState s : below[upper]) listed[s.index()] = 1;
        deeper.clear();
        for (LrState s{0}; s.v < tables.n_lr_states; ++s.v)
            if (std::exchange(listed[s.index()], 0)) deeper.push_back(s);
        const TopSet made = lists.id_of(deeper);
        under[list.index()] = made;
        return made;
    };
    const auto reachable = [&](LrState symbol, Word skip) {
        while (static_cast<Word>(of.size()) <= skip) {
            std::vector<TopSet> ids;
            for (LrState s{0}; s.v < tables.n_lr_states; ++s.v)
                ids.push_back(of.empty() ? lists.intern(below[s]).first : under_list(of.back()[s.index()]));
            of.push_back(std::move(ids));
        }
        return of[skip][symbol.index()];
    };
    std::vector<std::pair<ClassifierState, LrState>> todo;  // to be read
    IdPairs<ClassifierState, TopSet> visited;
    auto visit = [&](ClassifierState state, TopSet list) {
        if (state == kDone || !visited.insert(state, list)) return;
        for (LrState symbol : lists[list])
            if (!known(state, symbol)) todo.emplace_back(state, symbol);
    };
    visit(start, lists.id_of(resting_states(tables)));
    while (!todo.empty()) {
        const auto [state, symbol] = todo.back();
        todo.pop_back();
        if (known(state, symbol)) continue;
        const Transition t = step(state, symbol);
        visit(t.next, reachable(symbol, t.skip));
    }
}

}  // namespace psc
