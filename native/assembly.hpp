// The last stage of a compilation: a closed classifier over sequences, and what tokens each sequence stands for, to the tables that the
// runtime reads.
#pragma once

#include <vector>

#include "closed_classifier.hpp"

namespace psc {

// Everything the matcher reads, besides the LR and lexer tables. Sets of tokens are sets of token classes; the class numbered
// `n_classes` stands for the stop tokens.
struct ClassifierTables {
    Word n_states = 0;
    Word start = 0;
    std::vector<Word> offsets;  // per state into the arcs, sorted by symbol
    std::vector<Word> symbol, next, skip, emission;
    std::vector<Word> emission_offsets, emission_labels;  // emission -> labels
    Word n_labels = 0;
    std::vector<Word> always;  // per lexer state: the set that every stack allows
    std::vector<Word> meaning_offsets, meaning_labels, meaning_sets;  // lexer state -> its labels, sorted, and the set each stands for
    std::vector<Word> set_offsets, set_classes;
};

// The sequences that some token realizes from a lexer state, each with the sets of token classes that do.
struct Realizable {
    std::vector<Word> node;  // of the trie, sorted
    std::vector<Word> offsets{0};  // per node into `sets`
    std::vector<Word> sets;

    std::span<const Word> sets_of(std::size_t i) const {
        return {sets.data() + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
    }
};

struct RealizedSequences {
    std::vector<Realizable> of_state;  // per lexer state
    std::vector<Word> set_offsets{0}, set_classes;  // sets of token classes, sorted; set 0 is empty
    Word n_nodes = 0;  // of the trie

    std::span<const Word> token_set(Word set) const {
        return {set_classes.data() + set_offsets[set], static_cast<std::size_t>(set_offsets[set + 1] - set_offsets[set])};
    }
    std::vector<Word> to_words() const;
    static RealizedSequences from_words(std::span<const Word> words);
};

ClassifierTables assemble(const ClosedClassifier& classifier, const RealizedSequences& realized);

}  // namespace psc
