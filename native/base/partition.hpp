// The coarsest partition of a labelled graph's states that its arcs respect: minimization of deterministic machines.
//
// Two states stay together when their outputs are equal and, label by label, their arcs have equal outputs and lead into
// the same block. Blocks are split until nothing changes; after a split only the smaller parts count as changed
// (Hopcroft's idea), so a state is looked at O(log n) times for each of its arcs.
#pragma once

#include <vector>

#include "base/intern.hpp"

namespace psc {

struct LabelledGraph {
    struct Arc {
        Word label, output, target;
    };
    std::vector<Word> state_output;
    std::vector<std::size_t> offsets{0};  // per state into arcs, which are sorted by label
    std::vector<Arc> arcs;
};

// Per state its block; blocks are numbered by their first state.
std::vector<Word> coarsest_partition(const LabelledGraph& graph);

}  // namespace psc
