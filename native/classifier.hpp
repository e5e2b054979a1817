// The stack classifier: reads the parser stack top down and says which terminal sequences are viable on it.
//
// A thread is one unfinished simulation: the edges of the sequence trie that wait for it (a bundle: which terminal comes next, and what
// follows), a nonterminal to go to, and how many stack symbols are to be popped before that. All that a thread knows of the stack
// has been popped, so it needs no stack of its own. A classifier state is a set of threads; what is decided is emitted on the transition,
// not remembered (design §2: this is what keeps the machine small). A transition skips the symbols that every thread only pops.
//
// `step` makes one transition and remembers it, so states can be built on first visit; `close` makes all that any stack can need:
// it follows only symbols that can lie under the one just read.
//
// LR cells may hold several actions: they are more threads.
//
// Cost: a transition is a lookup per thread whose (bundle, nonterminal, symbol) has been seen; else a simulation of the LR tables over
// the bundle.
#pragma once

#include <deque>
#include <vector>

#include "intern.hpp"
#include "lalr.hpp"
#include "sequences.hpp"

namespace psc {

struct Transition {
    Word next;  // classifier state; `Classifier::kDone` when nothing is left to decide
    Word skip;  // stack symbols to pass over before the next read
    Word emission;  // a set of sequences, see Classifier::emitted(); 0 is empty
};

class Classifier {
public:
    static constexpr Word kDone = 0;

    Classifier(const LrTables& tables, const SequenceTrie& trie);

    // A start state for the given sequences (nodes of the trie): reading begins at the top of the stack.
    Word start(std::span<const Word> sequences);

    Transition step(Word state, Word symbol);

    // Builds every transition that a stack can ask for from the given start states.
    void close(std::span<const Word> starts);

    Word n_states() const { return states_.size(); }
    std::size_t n_transitions() const { return transitions_.size(); }
    // Transitions built so far, as (state, symbol, transition), in the order of construction.
    struct Built {
        Word state, symbol;
        Transition to;
    };
    const std::vector<Built>& transitions() const { return transitions_; }

    Word n_emissions() const { return emission_sets_.size(); }
    // An emission is the union of its parts; a part is a sorted list of sequences (trie nodes).
    std::span<const Word> parts_of(Word emission) const { return emission_sets_[emission]; }
    Word n_parts() const { return leaf_emissions_.size(); }
    std::span<const Word> sequences_of(Word part) const { return leaf_emissions_[part]; }

private:
    struct Outcome {  // of a bundle on top of an LR state, as far as that state alone decides
        Word emission;  // into leaf_emissions_
        Word threads;  // into thread_sets_; pops count from below the state
    };
    struct Parts {  // a bundle under an LR state: what each edge does
        std::vector<std::pair<Word, Word>> shifts;  // (trie edge's node, LR state)
        std::vector<std::pair<Word, Word>> reductions;  // (production, bundle)
    };

    Word thread(Word bundle, Word nonterminal, Word pops);
    void merge(std::vector<Word>& threads);
    Outcome above(Word bundle, Word top);
    void read(Word thread, Word symbol, std::vector<Word>& emissions, std::vector<Word>& threads);
    void simulate(Word bundle, std::vector<Word>& local, std::vector<Word>& emitted, std::vector<Word>& threads, Word depth);
    const Parts& parts(Word bundle, Word top);

    const LrTables& tables_;
    const SequenceTrie& trie_;
    std::vector<std::vector<Word>> below_;

    SequenceInterner nodes_;  // (sequence or -1, bundle)
    SequenceInterner bundles_;  // (terminal, node)*
    SequenceInterner threads_;  // (bundle, nonterminal or -1, pops)
    SequenceInterner leaf_emissions_;  // sorted sequences, of one thread's read
    SequenceInterner thread_sets_;
    SequenceInterner states_;  // sorted threads
    SequenceInterner emission_sets_;  // sorted leaf emissions, of a whole transition
    SequenceInterner bundle_lists_;  // bundles that were merged
    std::vector<Word> merged_;  // per list, their union
    PairMap parts_ids_, outcome_ids_, transition_ids_;
    std::deque<Parts> parts_;
    std::vector<Outcome> outcomes_;
    std::vector<Built> transitions_;
};

}  // namespace psc
