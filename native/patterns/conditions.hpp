// Conditions on the rest of a text, which `$`, \b and lookaheads of a pattern impose: states of automata that read the rest.
//
// Example: for `(?=[ab])`, the condition is the start of the automaton of [ab] followed by anything. After `a` it holds of every
// rest, and is dropped.
//
// Cost: a step for each condition of a set and character. Threads: one at a time.
#pragma once

#include <utility>
#include <vector>

#include "base/sorted.hpp"
#include "patterns/steps.hpp"
#include "text/automaton.hpp"

namespace psc {

// The automata whose states are conditions, and sets of conditions; set 0 is empty. What holds of every rest is no condition.
class RestConditions {
public:
    RestConditions() { sets_.intern({}); }

    Word add_automaton(TextAutomaton a) {
        static const auto& everywhere = *new std::vector<TextAutomaton::Arc>(any_text().arcs);
        Word universal = -1;
        for (Word s = 0; s < a.size(); ++s) {
            const auto* begin = a.arcs.data() + a.offsets[s];
            if (a.accepts[s] && a.offsets[s + 1] - a.offsets[s] == 2 && begin[0].to == s && begin[1].to == s &&
                begin[0].last == everywhere[0].last && begin[1].last == everywhere[1].last && begin[0].first == 0 &&
                begin[1].first == everywhere[1].first)
                universal = s;
        }
        automata_.push_back(std::move(a));
        universal_.push_back(universal);
        return static_cast<Word>(automata_.size()) - 1;
    }
    const TextAutomaton& automaton(Word k) const { return automata_[k]; }

    // The set and the condition that the rest is in an automaton's language; -1: no rest is.
    Word with(Word set, Word automaton) {
        if (universal_[automaton] == 0) return set;
        if (is_empty(automata_[automaton])) return -1;
        pairs_.clear();
        const auto words = sets_[set];
        for (std::size_t i = 0; i < words.size(); i += 2) pairs_.emplace_back(words[i], words[i + 1]);
        pairs_.emplace_back(automaton, 0);
        return intern();
    }

    // The set after a character; -1: the set does not allow the character.
    Word step(Word set, Word code_point, PatternSteps& steps) {
        pairs_.clear();
        const auto words = sets_[set];
        steps.spend(words.size());
        for (std::size_t i = 0; i < words.size(); i += 2) {
            const Word to = automata_[words[i]].step(words[i + 1], code_point);
            if (to < 0) return -1;
            if (to != universal_[words[i]]) pairs_.emplace_back(words[i], to);
        }
        return intern();
    }

    bool hold_at_end(Word set) const {
        const auto words = sets_[set];
        for (std::size_t i = 0; i < words.size(); i += 2)
            if (!automata_[words[i]].accepts[words[i + 1]]) return false;
        return true;
    }

private:
    Word intern() {
        sort_unique(pairs_);
        words_.clear();
        for (const auto& [automaton, state] : pairs_) words_.insert(words_.end(), {automaton, state});
        return sets_.intern(words_).first;
    }

    std::vector<TextAutomaton> automata_;
    std::vector<Word> universal_;  // per automaton, its state from which all is accepted, or -1
    SequenceInterner sets_;        // flat pairs of automaton and state
    std::vector<std::pair<Word, Word>> pairs_;
    std::vector<Word> words_;
};

}  // namespace psc
