// A machine over the tables of an artifact whose classifier could not be closed: it has the lexer, the classes of tokens and their
// sequences of terminals, and builds the transitions of the classifier that stacks ask for.
//
// Such an artifact is what is left of a compilation that exceeded a limit while it closed the classifier. So a mask costs no walk over the
// vocabulary, and the first one on a stack as much as a few transitions, which take some microseconds each. Each sequence is a label.
//
// The tables are untrusted, as those of ArtifactMachine: each is checked, and what is built of them counts its steps.
#pragma once

#include "base/limits.hpp"
#include "classifier/classifier.hpp"
#include "machine/artifact_machine.hpp"

namespace psc {

class PartlyClosedMachine final : public ArtifactMachine {
public:
    // `cache_limit`: bytes, 0 for none.
    PartlyClosedMachine(ArtifactTables tables, const SequenceTables& sequences, std::size_t cache_limit);

    std::size_t table_bytes() const override { return ArtifactMachine::table_bytes() + below_.bytes() + trie_.bytes(); }

private:
    struct Built : Composed {
        explicit Built(const PartlyClosedMachine& m);
        Work work{"steps for one token or mask", psc::limit("mask_steps")};  // lent by the call that builds
        ClassifierState start;
    };

    std::shared_ptr<RowCache> new_cache() const override { return std::make_shared<Built>(*this); }

    StackPredecessors below_;
    Work work_;  // to read the tables
    SequenceTrie trie_;
    std::vector<SequenceNode> sequences_;  // that tokens realize, sorted
};

}  // namespace psc
