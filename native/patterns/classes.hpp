// Classes of characters that a pattern's program, and the automata of its conditions, cannot tell apart.
//
// Cost: a step for each interval between the borders of all sets, and each set or arc that has the interval. Threads: one at a
// time.
#pragma once

#include <algorithm>
#include <vector>

#include "base/sorted.hpp"
#include "patterns/steps.hpp"
#include "text/automaton.hpp"
#include "text/code_point_sets.hpp"

namespace psc {

struct PatternClasses {
    std::vector<Word> starts;                // of intervals; the last one is the end of Unicode
    std::vector<Word> class_of;              // per interval; -1 for surrogates
    std::vector<Word> representative;        // per class, a code point
    std::vector<std::vector<Word>> members;  // per used set of the pattern, its classes

    Word interval_at(Word code_point) const {
        return static_cast<Word>(std::upper_bound(starts.begin(), starts.end(), code_point) - starts.begin()) - 1;
    }

    PatternClasses(const std::vector<CodePointSet>& sets, const std::vector<Word>& used,
                   const std::vector<const TextAutomaton*>& automata, PatternSteps& steps) {
        starts = {0, kFirstSurrogateCode, kLastSurrogateCode + 1, kCodePoints};
        for (Word s : used)
            for (std::size_t i = 0; i < sets[s].size(); i += 2) starts.insert(starts.end(), {sets[s][i], sets[s][i + 1] + 1});
        for (const auto* a : automata)
            for (const auto& arc : a->arcs) starts.insert(starts.end(), {arc.first, arc.last + 1});
        sort_unique(starts);
        const std::size_t n = starts.size() - 1;
        // The signature of an interval: the sets that have it, and where it leads from each state of each automaton.
        std::vector<std::vector<Word>> signature(n);
        const auto put = [&](Word first, Word last, std::initializer_list<Word> words) {
            Word i = interval_at(first);
            for (; starts[i] <= last; ++i) {
                steps.spend(1);
                signature[i].insert(signature[i].end(), words);
            }
        };
        for (Word s : used)
            for (std::size_t i = 0; i < sets[s].size(); i += 2) put(sets[s][i], sets[s][i + 1], {s});
        Word label = static_cast<Word>(sets.size());
        for (const auto* a : automata)
            for (Word s = 0; s < a->size(); ++s, ++label)
                for (Word i = a->offsets[s]; i < a->offsets[s + 1]; ++i)
                    put(a->arcs[i].first, a->arcs[i].last, {label, a->arcs[i].to});
        SequenceInterner signatures;
        for (std::size_t i = 0; i < n; ++i) {
            if (starts[i] == kFirstSurrogateCode) {
                class_of.push_back(-1);
                continue;
            }
            const auto [c, is_new] = signatures.intern(signature[i]);
            class_of.push_back(c);
            if (is_new) representative.push_back(starts[i]);
        }
        members.resize(sets.size());
        std::vector<Word> seen(representative.size(), -1);
        for (Word s : used)
            for (std::size_t k = 0; k < sets[s].size(); k += 2)
                for (Word i = interval_at(sets[s][k]); starts[i] <= sets[s][k + 1]; ++i)
                    if (class_of[i] >= 0 && seen[class_of[i]] != s) {
                        seen[class_of[i]] = s;
                        members[s].push_back(class_of[i]);
                    }
    }
};

}  // namespace psc
