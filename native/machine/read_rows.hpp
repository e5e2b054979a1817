// Rows that were found by reading tokens on a matcher's stacks, by what reading looked at.
//
// A token closes a bracket or two, so of a deep stack reading looks at a few symbols at its top: the row is the same wherever these
// are, and the lexer's states. What is looked at can depend on what was seen before, so it is stored as a tree of decisions: a node asks
// one question about the position (how many configurations there are, the lexer state of one, or a symbol of its stack), each answer
// leads to a node, and a leaf has the row.
//
// Example: inside `[[{"a": "x`, whatever the tokens are they close the string and at most, say, the object and one array. The row is a
// leaf: one configuration, in this lexer state, these four symbols at the top.
//
// Threads: one at a time may add; any number may look meanwhile.
//
// Cost: to find a row, a look-up for each question on the way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/concurrent.hpp"
#include "base/ids.hpp"

namespace psc {

class ReadRows {
public:
    ReadRows() { nodes_.push_back({kCount, {}}); }

    // A question: by `configuration` none, how many there are; by `depth` 0 its lexer state, from 1 the LR state at that depth of
    // its stack, 1 for the top, or kNothing under the bottom.
    struct Question {
        Word configuration, depth;
        bool operator==(const Question&) const = default;
    };
    static constexpr Question kCount{-1, 0};
    static constexpr Word kNothing = -2;

    // `answer(question)`: of a position, none where it has no one answer. The row that was added with the same answers.
    template <class Answer>
    Maybe<MaskRow> find(const Answer& answer) const {
        for (Word at = 0;;) {
            const Node& node = nodes_[static_cast<std::size_t>(at)];
            if (node.row) return node.row;
            const std::optional<Word> value = answer(node.question);
            const Word next = value ? edges_.find(at, *value) : -1;
            if (next < 0) return {};
            at = next;
        }
    }

    // `asked`: what the row depends on. False, and nothing is kept, where a question on the way has no answer.
    template <class Answer>
    bool add(std::vector<Question> asked, const Answer& answer, MaskRow row) {
        for (Word at = 0;;) {
            const Node& node = nodes_[static_cast<std::size_t>(at)];
            if (node.row) return true;
            const std::optional<Word> value = answer(node.question);
            if (!value) return false;
            std::erase(asked, node.question);
            Word next = edges_.find(at, *value);
            if (next < 0) {
                next = static_cast<Word>(nodes_.size());
                nodes_.push_back(asked.empty() ? Node{kCount, row} : Node{asked.front(), {}});
                edges_.insert(at, *value, next);
            }
            at = next;
        }
    }

    std::size_t bytes() const { return nodes_.size() * sizeof(Node) + edges_.bytes(); }

private:
    struct Node {
        Question question = kCount;
        Maybe<MaskRow> row = {};
    };
    StableVector<Node> nodes_;
    SharedPairMap edges_;  // (node, answer) -> node
};

}  // namespace psc
