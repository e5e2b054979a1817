// The walk over a trie of tokens beside an automaton: each node's byte is read once, in the state to which the text above it leads.
//
//                                             a state is                             and passes over
//   fragments of lexers (vocabulary/index)     one of the fragment                    what stays, see vocabulary/character_runs.hpp
//   runs (vocabulary/runs)                     the number of characters so far        -
//   sequences of a lexer state (classifier)    a config of the lexer                  what stays, counts characters or is shared
//   masks read on stacks (matcher/tokens)      a set of stacks, or two                what stays
//
// Example: of the tokens `a`, `ab`, `b` in `"a" [b-z]*`: the node `a` leads to a state, which takes the token; below it `b` leads
// back, so its subtree is passed over as one range of tokens; node `b` leads nowhere.
//
// Cost: a visit of each node whose parent was entered; `visit` and `take` are inlined.
//
// Tried and dropped: this walk for token classes, which read a sorted list of tokens instead of a trie (classifier/token_classes.cpp),
// and for the tokens after boundaries of linked machines (linked/masks.cpp). Artifacts were the same and five lines were saved, but a
// second instance of walk() in a compile unit changes what GCC inlines in the reader's loop, and masks read on stacks got slower.
#pragma once

#include <vector>

#include "vocabulary/index.hpp"

namespace psc {

// What a walk does below a node.
enum class Below {
    skip,   // nothing: no token of its subtree is read, or the visit has taken them
    take,   // takes all tokens of the subtree in the node's state
    enter,  // takes the node's own tokens, and visits its children
};

// Visits nodes side by side, with what is below them, in order. `path`: the states by depth; it has the one above the nodes, and a
// walk writes only what is deeper. `visit(node, id, before, after)` sets `after`, the state to which the node's byte leads, unless
// it skips. `take(first, last, state)`: tokens at these positions, of which there are some, end in the state.
template <class State, class Visit, class Take>
void walk(const VocabularyIndex::Trie& trie, VocabularyNode n, VocabularyNode end, std::vector<State>& path, Visit visit,
          Take take) {
    const VocabularyIndex::Node* const nodes = trie.nodes;
    while (n < end) {
        const VocabularyIndex::Node& node = nodes[n.index()];
        State& after = path[node.depth];
        const Below below = visit(node, n, path[node.depth - 1u], after);
        const VocabularyNode next = below == Below::enter ? VocabularyNode{n.v + 1} : node.end;
        if (below != Below::skip)
            if (const Word first = node.first_token, last = nodes[next.index()].first_token; first != last)
                take(first, last, after);
        n = next;
    }
}

}  // namespace psc
