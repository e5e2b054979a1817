// The stack classifier: reads the parser stack top down and says which terminal sequences are viable on it.
//
// A thread is one unfinished simulation: the items that wait for it (a bundle: each is a node of the sequence trie, reached by
// its terminal, with a bundle for what follows), a nonterminal to go to, and how many stack symbols are to be popped
// before that. All that a thread knows of the stack has been popped, so it needs no stack of its own. A classifier state
// is a set of threads; what is decided is emitted on the transition, not remembered: this is what keeps the machine
// small, where "Parser Stack Classification" (section 3.5) keeps it in the state. A transition skips the symbols that
// every thread only pops.
//
// `step` makes one transition and remembers it, so states can be built on first visit; `close` makes all that any stack
// can need: it follows only symbols that can lie under the one just read.
//
// LR cells may hold several actions: they are more threads. A condition of the lexer is an item that is looked at when a step
// starts: with one of its LR states on top what follows it takes its place, else it is gone.
//
// Each start stands for some sequences, one for each lexer state when they are built on first visit, one for all of them ahead of
// time. Items are interned, so starts share what is equal in them.
//
// Cost: a transition is a lookup per thread and goto when the bundle has been seen on top of that LR state; else a
// simulation of the LR tables over the bundle.
#pragma once

#include <vector>

#include "closed_classifier.hpp"
#include "intern.hpp"
#include "lalr.hpp"
#include "sequences.hpp"
#include "work.hpp"

namespace psc {

class Classifier {
public:
    static constexpr Word kDone = 0;

    // `below`: the tables' stack predecessors. All must outlive this. What transitions cost is spent from `work`.
    Classifier(const LrTables& tables, const std::vector<std::vector<Word>>& below, const SequenceTrie& trie, Work& work);

    // The state in which reading begins, at the top of the stack, to classify these nodes of the trie (without the empty one).
    Word add_start(std::span<const Word> sequences);

    Transition step(Word state, Word symbol);

    // Builds every transition that a stack can ask for when reading begins in `start`.
    void close(Word start);

    Word n_states() const { return states_.size(); }
    std::size_t bytes() const;
    std::size_t n_transitions() const { return transitions_.size(); }
    // What was built, where reading begins in `start`. Nothing else can be asked of this afterwards.
    ClosedClassifier take(Word start);

    Word n_emissions() const { return emission_sets_.size(); }
    // An emission is the union of its parts; a part is a sorted list of sequences (trie nodes).
    std::span<const Word> parts_of(Word emission) const { return emission_sets_[emission]; }
    Word n_parts() const { return leaf_emissions_.size(); }
    std::span<const Word> sequences_of(Word part) const { return leaf_emissions_[part]; }

private:
    struct Outcome {    // of a bundle on top of an LR state, as far as that state alone decides
        Word emission;  // into leaf_emissions_
        Word threads;   // into thread_sets_; pops count from below the state
    };
    struct Resolved {  // a bundle when a step starts on an LR state: without its conditions
        Word bundle;
        Word emission;  // sequences that end with a condition that holds, into leaf_emissions_
    };
    struct Parts {        // a bundle on top of an LR state, as ranges of part_pool_
        Word shifts;      // from here: (item, LR state)
        Word reductions;  // from here: (production, bundle)
        Word end;
    };

    Word bundle(std::vector<Word>& items);
    Word item(Word symbol, Word sequence, Word children);
    Word bundle_of_set(Word set, Word leaf);
    Word symbol_of(Word item) const { return items_[item][0]; }
    // The sequence that is viable when the item's symbol can be read; kNoNode where it only leads to others.
    Word sequence_of(Word item) const { return items_[item][1]; }
    Word children_of(Word item) const { return items_[item][2]; }
    Resolved resolve(Word bundle, Word top);
    Word thread(Word bundle, Word nonterminal, Word pops);
    void merge(std::vector<Word>& threads);
    Outcome above(Word bundle, Word top);
    void read(Word state, Word symbol, std::vector<Word>& emissions, std::vector<Word>& threads);
    using Move = std::pair<Word, Word>;
    void split(Word bundle, Word top, std::vector<Move>& moves, std::size_t& n_shifts);
    void shift(Move move, std::vector<Word>& local, std::vector<Word>& emitted, std::vector<Word>& threads, Word depth);
    void reduce(Move move, std::vector<Word>& local, std::vector<Word>& emitted, std::vector<Word>& threads, Word depth);
    void simulate(Word bundle, std::vector<Word>& local, std::vector<Word>& emitted, std::vector<Word>& threads, Word depth);
    Parts parts(Word bundle, Word top);
    // With several actions in a cell: see classifier_graph.cpp.
    void explore_from(Word bundle, Word top, std::vector<Word>& emitted, std::vector<Word>& threads);
    void explore(const std::vector<Word>& tops, Word bundle, std::vector<Word>& emitted, std::vector<Word>& threads, Word depth);
    Word add_node(Word state, std::vector<Word> parents);
    static constexpr Word kMaxSequence = 4000;

    const LrTables& tables_;
    const std::vector<std::vector<Word>>& below_;
    const SequenceTrie& trie_;
    Work& work_;
    bool several_actions_;  // some LR cell holds more than one

    SequenceInterner items_;            // (symbol, sequence or kNoNode, bundle of what follows)
    SequenceInterner bundles_;          // sorted items; 0 is empty
    std::vector<char> has_conditions_;  // per bundle
    std::vector<Resolved> resolved_;
    PairMap resolved_ids_;
    std::vector<Word> slot_;  // scratch of add_start(): per trie node, -1 between calls
    struct GraphNode {
        Word state;
        std::vector<Word> parents;
    };
    std::vector<GraphNode> graph_;     // the known stacks of the outcome being built, where cells hold several actions
    SequenceInterner threads_;         // (bundle, nonterminal or -1, pops)
    SequenceInterner leaf_emissions_;  // sorted sequences, of one thread's read
    SequenceInterner thread_sets_;
    SequenceInterner states_;         // sorted threads
    SequenceInterner emission_sets_;  // sorted leaf emissions, of a whole transition
    SequenceInterner bundle_lists_;   // bundles that were merged
    std::vector<Word> merged_;        // per list, their union
    PairMap parts_ids_, outcome_ids_, transition_ids_;
    PairMap set_bundles_;  // (set, leaf that stands for it) -> bundle
    std::vector<Parts> parts_;
    std::vector<Move> part_pool_;
    std::vector<Outcome> outcomes_;
    std::vector<BuiltTransition> transitions_;
};

// The closed classifier of these nodes of the trie (without the empty one).
ClosedClassifier classify_sequences(const LrTables& tables, const std::vector<std::vector<Word>>& below, const SequenceTrie& trie,
                                    std::span<const Word> sequences);

}  // namespace psc
