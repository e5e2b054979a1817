// A part of linked machines (linked/machine.hpp): the rules of a tool's schema, say, and their engine, which is made when a text comes
// to the part first. Of the hundred tools of a request, few are called.
//
// Rules may wait only if making their engine cannot fail later, when no caller can be given the error: they match some text, every rule
// that they need is there, and they are too small to pass a limit, with what they refer to written out.
//
// Threads: any number; the first that needs the engine makes it, and the others wait. Cost: to decide whether rules may wait, linear in
// their words; to make the engine, what lowering and LR tables cost, 0.4 ms for a tool's schema.
#pragma once

#include <memory>
#include <mutex>

#include "base/byte_set.hpp"
#include "machine/engine.hpp"
#include "rules/grammar_analysis.hpp"
#include "rules/rule_programs.hpp"
#include "vocabulary/index.hpp"

namespace psc {

// A vocabulary with the ends of parts, for parts that end in one way or another. Made at their first use, and shared by several threads.
class PartVocabularies {
public:
    explicit PartVocabularies(std::shared_ptr<VocabularyIndex> index) : index_(std::move(index)) {}

    const std::shared_ptr<VocabularyIndex>& index() const { return index_; }
    // For parts whose texts end with one of these bytes. `symbols`: per token its number, or none for parts that speak of no token.
    // Cost: 5 ms for 128,000 tokens the first time.
    std::shared_ptr<VocabularyIndex> with_ends(const ByteSet& last, std::vector<Word> symbols = {});

private:
    static constexpr std::size_t kMaxCached = 6;
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
    explicit LinkedPart(std::shared_ptr<Engine> engine);

    static bool may_wait(const RulePrograms& rules, const PartLimits& limits);

    // Made by the first call. Throws LimitExceeded.
    const std::shared_ptr<Engine>& engine();
    // Null before that.
    std::shared_ptr<Engine> made();
    // The vocabulary that its engine is over, without the ends; null where it was handed over with its engine.
    std::shared_ptr<VocabularyIndex> index() const { return vocabularies_ ? vocabularies_->index() : nullptr; }
    std::size_t bytes();

private:
    std::shared_ptr<Engine> make() const;

    RulePrograms rules_;
    PartLimits limits_{};
    std::shared_ptr<PartVocabularies> vocabularies_;
    std::mutex lock_;
    std::shared_ptr<Engine> engine_;  // does not change once it is there
};

}  // namespace psc
