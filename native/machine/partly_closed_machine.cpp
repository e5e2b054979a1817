#include "machine/partly_closed_machine.hpp"

#include <algorithm>

#include "base/sorted.hpp"

namespace psc {

namespace {

const SequenceTables& checked(const LrProductions& lr, const SequenceTables& sequences, const ClassifierTables& classifier) {
    const TableCheck in_range(lr, sequences);
    if (sequences.sequence_before.size() != static_cast<std::size_t>(classifier.n_labels))
        TableCheck::fail("n_labels", "is not the number of sequences");
    return sequences;
}

// Rows are named by what was read, as no emission has a number yet.
ArtifactTables with_readings(ArtifactTables tables) {
    if (tables.warm.warm_set_before.size() != tables.readings.warm_set_reading.size())
        TableCheck::fail("warm_set_reading", "has the wrong length");
    return tables;
}

// All but the empty one, which needs no stack.
std::vector<SequenceNode> realized(const ClassifierTables& classifier, const LeadTables& leads) {
    std::vector<SequenceNode> all;
    for (const auto& labels : {classifier.meaning_labels.all(), leads.lead_labels.all()})
        for (Label label : labels)
            if (label.v != SequenceTrie::kRoot.v) all.push_back({label.v});
    sort_unique(all);
    return all;
}

}  // namespace

PartlyClosedMachine::PartlyClosedMachine(ArtifactTables tables, const SequenceTables& sequences, std::size_t cache_limit)
    : ArtifactMachine(with_readings(std::move(tables)), cache_limit),
      below_(lr_),
      work_("steps to read the sequences of an artifact", psc::limit("steps_ahead_of_time")),
      trie_(lr_, below_, checked(lr_, sequences, classifier_), work_),
      sequences_(realized(classifier_, ArtifactMachine::tables().leads)) {
    begin();  // again: the first cache has no classifier
    classifier_.start = static_cast<const Built&>(*cache()).start;
}

PartlyClosedMachine::Built::Built(const PartlyClosedMachine& m) : Composed(m.vocabulary_.size) {
    growing = std::make_unique<GrowingClassifier>(m.lr_, m.below_, m.trie_, work);
    start = growing->classifier.add_start(m.sequences_);
}

}  // namespace psc
