// The last stage of a compilation: it makes the tables that the runtime reads.
//
// Input: a closed classifier over sequences and, for each lexer state and sequence, the sets of token classes that realize it. Sequences
// that are always emitted together become one label, the machine is minimized, and each lexer state lists the token classes of a label.
//
// Threads: any.
#pragma once

#include <optional>
#include <vector>

#include "classifier/closed_classifier.hpp"
#include "tables/tables.hpp"

namespace psc {

// The sequences that some token realizes from a lexer state, each with the sets of token classes that do.
struct Realizable {
    std::vector<SequenceNode> sequences;  // sorted
    std::vector<Word> offsets{0};         // per sequence into `sets`
    std::vector<ClassSet> sets;

    std::span<const ClassSet> sets_of(std::size_t i) const {
        return {sets.data() + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
    }
};

// A terminal that is shifted before a stack is read, see classifier/leads.hpp.
struct LexerLead {
    LexerState state;
    Terminal terminal;
    auto operator<=>(const LexerLead&) const = default;
};

struct RealizedSequences {
    std::vector<Realizable> of_state;    // per lexer state
    std::vector<LexerLead> leads;        // sorted
    std::vector<Realizable> of_lead;     // likewise; what follows the terminal
    std::vector<Word> set_offsets{0};    // of sets of token classes; set 0 is empty
    std::vector<SetMember> set_classes;  // sorted
    Word n_nodes = 0;                    // of the trie

    std::span<const SetMember> members(ClassSet set) const {
        const Word begin = set_offsets[set.index()];
        return {set_classes.data() + begin, static_cast<std::size_t>(set_offsets[set.index() + 1] - begin)};
    }
    std::vector<Word> to_words() const;
    static RealizedSequences from_words(std::span<const Word> words);
};

struct AssembledTables {
    ClassifierTables classifier;
    std::optional<LeadTables> leads;  // where there are any
};

AssembledTables assemble(const ClosedClassifier& classifier, const RealizedSequences& realized);
// The same of a classifier that is not closed: it has no arcs, and each sequence is a label, by its number.
AssembledTables assemble_open(const RealizedSequences& realized);

}  // namespace psc
