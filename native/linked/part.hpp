// A part of linked machines (linked/machine.hpp): the rules of a tool's schema, say, and their machine, which is made when a text comes
// to the part first. Of the hundred tools of a request, few are called.
//
// Rules may wait only if nothing can be wrong with them that somebody would have to be told when they are handed over: they match some
// text, every rule that they need is there, and they are too small to pass a limit, with what they refer to written out.
//
// Cost: to look whether rules may wait, linear in their words; to make the machine, what lowering and LR tables cost, 0.4 ms for a
// tool's schema.
#pragma once

#include <memory>
#include <mutex>

#include "base/byte_set.hpp"
#include "machine/engine.hpp"
#include "rules/grammar_analysis.hpp"
#include "rules/rule_programs.hpp"
#include "vocabulary/index.hpp"

namespace psc {

// A vocabulary with the ends of parts, for parts that end in one way or another. Made when asked for, and shared by several threads.
class PartVocabularies {
public:
    explicit PartVocabularies(std::shared_ptr<VocabularyIndex> index) : index_(std::move(index)) {}

    const std::shared_ptr<VocabularyIndex>& index() const { return index_; }
    // For parts whose texts end with one of these bytes. `symbols`: per token its number, or none for parts that speak of no token.
    // Cost: 5 ms for 128,000 tokens the first time.
    std::shared_ptr<VocabularyIndex> with_ends(const ByteSet& last, std::vector<Word> symbols = {});

private:
    static constexpr std::size_t kMost = 6;  // that are kept
    struct Made {
        std::size_t which;  // of sets that many parts have in common
        std::vector<Word> symbols;
        std::shared_ptr<VocabularyIndex> vocabulary;
    };
    std::shared_ptr<VocabularyIndex> index_;  // with no boundaries
    std::mutex lock_;
    std::vector<Made> made_;  // the one not used for longest first
};

// How large terminals may become when a part is lowered.
struct PartLimits {
    TerminalLimits terminals;
    std::size_t positions;  // of all terminals
};

class LinkedPart {
public:
    // Rules that may wait.
    LinkedPart(RulePrograms rules, const PartLimits& limits, std::shared_ptr<PartVocabularies> vocabularies);
    // A part that is made.
    explicit LinkedPart(std::shared_ptr<Engine> machine);

    static bool may_wait(const RulePrograms& rules, const PartLimits& limits);

    // Made by the first who asks. Throws LimitExceeded.
    const std::shared_ptr<Engine>& machine();
    // Null while nobody has asked.
    std::shared_ptr<Engine> made();
    // The vocabulary that its machine is over, without the ends; null where it was handed over with its machine.
    std::shared_ptr<VocabularyIndex> index() const { return vocabularies_ ? vocabularies_->index() : nullptr; }
    std::size_t bytes();

private:
    std::shared_ptr<Engine> make() const;

    RulePrograms rules_;
    PartLimits limits_{};
    std::shared_ptr<PartVocabularies> vocabularies_;
    std::mutex lock_;
    std::shared_ptr<Engine> machine_;  // does not change once it is there
};

}  // namespace psc
