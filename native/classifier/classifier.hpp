// The stack classifier: it reads the parser stack from the top down and says which terminal sequences are viable on it.
//
// A thread is one unfinished simulation. It has a bundle of pending symbols (each is a node of the sequence trie, reached by its
// terminal, with a bundle for what follows), a nonterminal whose goto it waits for, and the number of stack symbols to pop before that.
// A thread has popped every stack symbol that it has read, so it needs no stack of its own. A classifier state is a set of threads. What
// is decided is emitted on the transition and not kept in the state, where the paper keeps it; this keeps the machine small. A
// transition skips the symbols that every thread only pops.
//
// step() makes one transition and caches it, so states can be built on first visit. close() makes all transitions that any stack can
// need: it follows only symbols that can lie under the one just read.
//
// An LR cell may hold several actions; each is a thread. A condition of the lexer is a pending symbol that consumes nothing: when a step
// starts and the LR state on top is in the condition's set, the bundle after the condition replaces it; otherwise the condition is
// dropped.
//
// Each start stands for some sequences: one start for each lexer state if they are built on first visit, one for all of them ahead of
// time. Pending symbols are interned, so starts share equal ones.
//
// The outcome of a bundle on top of an LR state holds whatever lies under that state, so it is computed once. A symbol that is shifted
// lies on that state in turn, so an outcome is made of other outcomes, whose threads read the state. A token may need as many outcomes
// as it has terminals, so the open ones are a list instead of a recursion.
//
// Example: the stack is `{ STRING`, state by state, and the sequences are `:` and `: {`. The start's transition on the state after
// STRING shifts `:`, emits that sequence, and shifts `{` in the same outcome: both are emitted, and no thread is left to read `{`.
// The sequence `}` is emitted by none.
//
// Cost: a transition is a look-up for each thread and goto if the bundle was read on that LR state before. An outcome is a look-up of an
// action for each symbol of the bundle, and one for each outcome that it is made of.
// Threads: one at a time.
// Source: "Parser Stack Classification", section 3.5.
// Tried and dropped: emitted sequences as a part of the state (as in the paper); classifying shifted symbols anew for each stack that
// they were shifted on.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/interned.hpp"
#include "base/limits.hpp"
#include "base/work.hpp"
#include "classifier/closed_classifier.hpp"
#include "classifier/outcome_table.hpp"
#include "classifier/sequences.hpp"
#include "lr/lalr.hpp"

namespace psc {

// What closing may make: less of sequences that could be cut instead (classifier/leads.hpp).
enum class BytesToClose { of_any, of_whole };

class Classifier {
public:
    // `below`: the tables' stack predecessors. All must outlive this. `work` pays for transitions.
    Classifier(const LrTables& tables, const StackPredecessors& below, const SequenceTrie& trie, Work& work);

    // The state in which reading begins, at the top of the stack, to classify these nodes of the trie (without the empty one).
    ClassifierState add_start(std::span<const SequenceNode> sequences);

    Transition step(ClassifierState state, LrState symbol);

    // Builds every transition that a stack can ask for when reading begins in `start`.
    void close(ClassifierState start, BytesToClose most = BytesToClose::of_any);

    Word n_states() const { return states_.size(); }
    std::size_t bytes() const;
    std::size_t n_transitions() const { return transitions_.size() + taken_.size(); }
    // Moves out what was built for readings that begin in `start`. No other function may be called afterwards.
    ClosedClassifier take(ClassifierState start);

    // A set is the union of its emissions; an emission is a sorted list of sequences.
    std::span<const Emission> emissions_of(EmissionSet set) const { return emission_sets_[set]; }
    std::span<const SequenceNode> sequences_of(Emission emission) const { return emissions_[emission]; }

private:
    struct PendingSymbol {
        TrieSymbol symbol;
        Maybe<SequenceNode> sequence;  // viable when the symbol can be read; none where it only leads to others
        Bundle following;
    };
    struct Thread {
        Bundle bundle;
        Maybe<Nonterminal> go_to;  // none where reading begins: the symbol read is the top itself
        Word pops;                 // before that
    };
    struct Outcome {  // of a bundle on top of an LR state, as far as that state alone decides
        EmissionSet emissions;
        ThreadSet threads;  // pops count from below the state
    };
    struct Resolved {  // a bundle when a step starts on an LR state: without its conditions
        Bundle bundle;
        Emission emission;  // sequences that end with a condition that holds
    };
    struct Question {  // what a bundle does on top of an LR state
        Bundle bundle;
        LrState top;
        bool operator==(const Question&) const = default;
    };
    // The result of reading the part of a stack that was read so far: emissions, and the threads that wait for the symbols below. While
    // it is made, questions about the lowest LR state are open.
    struct Reading {
        std::vector<Emission> emissions;
        std::vector<ThreadId> threads;
        std::vector<Question> questions;
        std::size_t answered, first_derived;  // numbers of questions; each derived one is added once

        void clear();
    };
    struct OpenOutcome {  // one that is being computed
        Question of;
        Reading reading;
    };

    static constexpr Bundle kNothing{0};
    static constexpr Emission kSilent{0};

    Bundle bundle(std::vector<Pending>& pending);
    Bundle bundle_of_set(TrieSet set, SequenceNode leaf);
    Resolved resolve(Bundle bundle, LrState top);
    ThreadId thread(Bundle bundle, Maybe<Nonterminal> go_to, Word pops) { return threads_.id_of({bundle, go_to, pops}); }
    void merge(std::vector<ThreadId>& threads);
    ThreadId popped(ThreadId thread);
    Outcome above(Question question);
    OpenOutcome& open(Question question);
    Outcome finish(OpenOutcome& open);
    void split(Question question, Reading& reading);
    std::optional<Question> answer(Reading& reading, LrState symbol);
    void wait(ThreadId thread, LrState symbol, Reading& reading);
    void go_to(Bundle bundle, Nonterminal nonterminal, LrState symbol, Reading& reading);
    void read(ClassifierState state, LrState symbol, Reading& reading);
    Transition simulate(ClassifierState state, LrState symbol);
    // Where reductions of nothing may go round in a circle: see classifier/classifier_graph.cpp.
    struct KnownGraph;
    static bool may_go_round(const LrTables& tables);
    void explore_from(Question of, Reading& reading);
    void explore(const std::vector<Word>& tops, Bundle bundle, KnownGraph& graph, Word depth);
    static constexpr Word kMaxSequence = limit("token_terminals");

    const LrTables& tables_;
    const StackPredecessors& below_;
    const SequenceTrie& trie_;
    Work& work_;
    bool goes_round_;  // reductions of nothing may

    InternedRecords<Pending, PendingSymbol> pending_;
    Interned<Bundle, Pending> bundles_;  // sorted; 0 is empty
    std::vector<char> has_conditions_;   // per bundle
    IdMap<Bundle, LrState, Word> resolved_ids_;
    std::vector<Resolved> resolved_;
    IdMap<TrieSet, SequenceNode, Bundle> set_bundles_;  // (set, leaf that stands for it)
    std::vector<Word> slot_;                            // scratch of add_start(): per trie node, -1 between calls
    InternedRecords<ThreadId, Thread> threads_;
    Interned<Emission, SequenceNode> emissions_;
    Interned<ThreadSet, ThreadId> thread_sets_;
    Interned<ClassifierState, ThreadId> states_;
    Interned<EmissionSet, Emission> emission_sets_;
    Interned<Id<Space::bundle_list>, Bundle> merged_lists_;  // bundles that were merged
    std::vector<Bundle> merged_;                             // per list, their union
    std::vector<Maybe<ThreadId>> popped_;                    // per thread, that which waits for one symbol less
    OutcomeTable known_outcomes_;
    std::vector<Outcome> outcomes_;                   // of those that have numbers
    std::vector<std::unique_ptr<OpenOutcome>> open_;  // scratch of above(): the first `n_open_`, each needed by the one before
    std::size_t n_open_ = 0;
    Reading reading_;                                      // scratch of step()
    std::vector<ThreadId> from_;                           // scratch of read()
    std::vector<SequenceNode> emitted_;                    // scratch of split()
    std::vector<std::pair<Production, Pending>> reduced_;  // likewise
    std::vector<Pending> whole_, rest_;                    // likewise
    IdMap<ClassifierState, LrState, Word> transition_ids_;
    std::vector<BuiltTransition> transitions_;  // of step()
    std::deque<BuiltTransition> taken_;         // of close(), in order
    std::deque<std::uint64_t> taken_bits_;      // per state and LR state: whether it is one of them
};

// What the stages of a compilation may cost together, from the classes of tokens to the sequences.
Work work_to_build_ahead_of_time();
// What the classifier may cost then, which is more than what is left of that.
Work work_to_close(std::size_t left);

// The closed classifier of these nodes of the trie (without the empty one).
ClosedClassifier classify_sequences(const LrTables& tables, const StackPredecessors& below, const SequenceTrie& trie,
                                    std::span<const SequenceNode> sequences, Work& work, BytesToClose most = BytesToClose::of_any);

}  // namespace psc
