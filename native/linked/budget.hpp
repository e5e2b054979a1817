// How many tokens may still have bytes in a part's text, where that is limited.
//
// A part that is called for at most N tokens counts each token with a byte in its text: one that is read there, one that goes on after
// its end, and one that began before it, but not one that leaves it at its first byte. Once N have, its budget is *exhausted*. If its text
// can end then, with the texts of the parts that are open in it, the next token leaves it at its first byte (*must leave*); where it cannot
// end, it goes on, and its budget stays exhausted. A part may have a second end that can be read only then, the *spent end*.
//
// Budgets are nested as calls are: a text is in all parts that are open. Each knows the budget around it, and the first count at which
// one of them is exhausted, so a text whose parts have no limit, or have not reached it, costs one comparison.
//
// Example: a part p of at most 2 tokens, `a*`, in `root ::= p "<"`. After the tokens `a`, `a` it is exhausted and can end: `aa` is not
// allowed any more, `<` is. After `a`, `a<` the second token has left p within itself. With p `(a+ b)+` and at most 1 token, after `a` p is
// exhausted and cannot end: `a`, `b` and `ab` go on, and after `b` p must leave.
//
// Cost: is_exhausted() one comparison; the others the number of parts that are open.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/intern.hpp"

namespace psc {

class Budget {
public:
    using Count = std::int64_t;                                           // of tokens since the start of the text
    static constexpr Word kAnyNumber = std::numeric_limits<Word>::max();  // of tokens: no limit
    // With which ends a text can end where it is.
    struct Ends {
        bool plain = false;
        bool spent = false;  // with the spent end, of a part that has one
    };

    Budget() = default;  // of the frame
    // Of a part that is called after `now` tokens, in a text that has `around` and stays.
    Budget(const Budget& around, Count now, Word max_tokens, bool has_spent_end)
        : around_(&around), begun_(now), max_tokens_(max_tokens), has_spent_end_(has_spent_end) {
        deadline_ = has_limit() ? std::min(around.deadline_, now + max_tokens) : around.deadline_;
    }
    // How this text can end, to where it goes on after the call that was just read. For budgets that are `around` others.
    void set_ends(Ends ends) { ends_ = ends; }

    bool has_limit() const { return max_tokens_ != kAnyNumber; }
    bool has_spent_end() const { return has_spent_end_; }
    // Whether this part has a limit, or one that it is open in.
    bool is_counted() const { return deadline_ != kNever; }
    bool is_exhausted(Count now) const { return now >= deadline_; }  // likewise

    // Whether the next token leaves the part, which can end so, at its first byte.
    bool must_leave(Count now, Ends ends) const {
        for (const Budget* at = this; at->is_exhausted(now) && (ends.plain || ends.spent); at = at->around_) {
            if (at->is_exhausted_itself(now)) return true;
            ends = at->around_->ends_;
        }
        return false;
    }
    // Whether a text can do all that another one with the same calls can, as no part in it has fewer tokens left, nor more where more
    // keep it from a spent end.
    bool has_as_many_left(const Budget& other, Count now) const {
        bool has_spent_end = false;
        for (const Budget *a = this, *b = &other; a->is_counted(); a = a->around_, b = b->around_) {
            has_spent_end |= a->has_spent_end_;
            if (!a->has_limit()) continue;
            const Count mine = a->left(now), theirs = b->left(now);
            if (mine < theirs || (mine > theirs && has_spent_end)) return false;
        }
        return true;
    }
    // Appends, from the inside out, which of the parts with limits are exhausted.
    void add_exhausted(Count now, std::vector<Word>& out) const {
        for (const Budget* at = this; at->is_counted(); at = at->around_)
            if (at->has_limit()) out.push_back(at->is_exhausted_itself(now));
    }

private:
    static constexpr Count kNever = std::numeric_limits<Count>::max();

    bool is_exhausted_itself(Count now) const { return has_limit() && now - begun_ >= max_tokens_; }
    Count left(Count now) const { return std::max<Count>(max_tokens_ - (now - begun_), 0); }

    const Budget* around_ = nullptr;
    Count begun_ = 0;          // the tokens before the one in which the part's text began
    Count deadline_ = kNever;  // the number of tokens at which it, or a part around it, is exhausted
    Word max_tokens_ = kAnyNumber;
    bool has_spent_end_ = false;
    Ends ends_;
};

}  // namespace psc
