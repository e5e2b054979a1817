// Mask rows that texts have visited, by name: noted where an artifact is made, composed where it is loaded, before a text needs them.
//
// A row of an artifact is composed from a lexer state and what the classifier emitted while a stack was read. So this pair is the row's
// name. What was emitted is a chain: what was gathered before, and one emission set more. For example, the sets {} -> {e5} -> {e5, e9}
// are two entries, and rows of both begin with the first. The mask of an ambiguous text is a union of rows, named by its two operands.
// Where the classifier is not closed, an emission is named by the reading that emits it: the LR states from the top of a stack on. So the
// transitions of the classifier are built again before the rows.
//
// No bits are stored. A name leads to the row that a matcher would have composed, so names that were altered are useless, never wrong.
//
// Cost: to note them, a pass over the maps of a cache; to compose them, what the texts' first visits would have cost, some microseconds
// a row.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "base/limits.hpp"
#include "machine/artifact_machine.hpp"

namespace psc {

// Names of each kind that are stored, or taken from a file.
constexpr std::size_t kMaxWarm = limit("warm_rows");

// The names of what an artifact's matchers have visited, in an order that depends on nothing but that. Beyond kMaxWarm the later ones
// are left out.
WarmTables warm_tables(const EngineCache& cache);
// The same where the classifier is not closed, and begins in `start`: the rows, and the readings by which they are named.
std::pair<WarmTables, WarmReadings> warm_tables_and_readings(const EngineCache& cache, ClassifierState start);

// Throws std::invalid_argument, which names the array, unless tables whose elements are in range are in order, and few.
void check_warm(const WarmTables& tables, const WarmReadings& readings);

// Composes the rows that an artifact names, a few at a time, in the cache that its machine has at first.
class WarmRows {
public:
    explicit WarmRows(std::shared_ptr<ArtifactMachine> machine);
    // Goes on for `seconds` of processor time; false: nothing is left, or the cache is retired, or has grown to `max_bytes` or half of its
    // limit. The machine's lock is taken for each row anew, and some time after others that wait for any lock.
    bool compose(double seconds, std::size_t max_bytes);
    std::size_t n_composed() const { return rows_.size(); }

private:
    bool compose_one();  // false: nothing is left

    std::shared_ptr<ArtifactMachine> machine_;
    std::shared_ptr<EngineCache> cache_;
    Work work_;  // of all readings
    std::vector<Transition> readings_;
    std::vector<Gathered> sets_;
    std::vector<MaskRow> rows_;
};

}  // namespace psc
