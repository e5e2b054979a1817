// Where characters beyond ASCII lead from the states of an automaton over characters, spelled in UTF-8.
//
// The classes of characters beyond ASCII have a slot each; a key says where each slot leads from a state. A key's spelling is the
// diagram of text/code_point_classes.hpp with the key's targets in place of classes. Equal nodes of all spellings are one inner
// state, which reads the rest of a character.
//
// Cost: one pass over the diagram for each distinct key. Threads: one at a time.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/intern.hpp"
#include "text/code_point_classes.hpp"

namespace psc {

class WideSpelling {
public:
    explicit WideSpelling(const CodePointClasses& classes) : classes_(classes), slot_(classes.size(), -1) {
        for (Word c = 0; c < classes.size(); ++c)
            if (classes.is_wide(c)) slot_[c] = n_slots_++;
    }

    Word n_slots() const { return n_slots_; }
    // The slot of a class, or -1 where it is within ASCII.
    Word slot(Word c) const { return slot_[c]; }

    // The number of a key, which has a spelling from now on. `key`: per slot where it leads, or -1.
    Word number(std::span<const Word> key) {
        const auto [id, fresh] = keys_.intern(key);
        if (fresh) roots_.push_back(spell(key));
        return id;
    }

    // Runs are a flat list of (first byte, last byte, to), where `to` is a target of the key, or `inner_target()` of an inner
    // state.
    std::span<const Word> root(Word number) const { return roots_[number]; }
    std::span<const Word> inner(Word i) const { return inner_[i]; }
    Word n_inner() const { return inner_.size(); }
    static Word inner_target(Word i) { return -2 - i; }
    static bool is_inner(Word to) { return to <= -2; }
    static Word inner_of(Word to) { return -2 - to; }

    std::size_t bytes() const {
        std::size_t total = keys_.bytes() + inner_.bytes() + (slot_.capacity() + value_.capacity()) * sizeof(Word);
        for (const auto& root : roots_) total += sizeof(root) + root.capacity() * sizeof(Word);
        return total;
    }

private:
    std::vector<Word> spell(std::span<const Word> key) {
        std::vector<Word> runs;
        if (std::all_of(key.begin(), key.end(), [](Word t) { return t == -1; })) return runs;
        value_.resize(classes_.node_count());
        for (Word n = 0; n < classes_.node_count(); ++n) {
            substitute(classes_.node(n), key, runs);
            value_[n] = runs.empty() ? -1 : inner_target(inner_.intern(runs).first);
        }
        substitute(classes_.root(), key, runs);
        return runs;
    }

    void substitute(std::span<const Word> runs, std::span<const Word> key, std::vector<Word>& out) const {
        out.clear();
        for (std::size_t i = 0; i < runs.size(); i += 3) {
            const Word to = runs[i + 2] >= 0 ? value_[runs[i + 2]] : key[slot_[-1 - runs[i + 2]]];
            if (to != -1) CodePointClasses::append_run(out, runs[i], runs[i + 1], to);
        }
    }

    const CodePointClasses& classes_;
    std::vector<Word> slot_;
    Word n_slots_ = 0;
    SequenceInterner keys_, inner_;
    std::vector<std::vector<Word>> roots_;  // per key
    std::vector<Word> value_;               // scratch: per node of the diagram
};

}  // namespace psc
