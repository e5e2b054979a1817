// What ends a text: its stop tokens, or that it is complete; and their bits in the rows of its positions.
//
// The rows of most machines have the grammar's stop tokens where the text may end. A matcher whose stop tokens are others has them put
// into each row (RowCache::other_stops). Where a machine's rows do not say whether the text may end, every matcher has them put in.
//
// Cost: nothing for the grammar's own stop tokens; for others, a lookup for each row, and that whether the text may end is found out.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "machine/machine.hpp"

namespace psc {

class Stops {
public:
    explicit Stops(const Machine& machine) {
        if (machine.ends_apart()) set(machine, machine.stop_tokens());
    }

    // These tokens, and no others, end the text.
    void set(const Machine& machine, const std::vector<TokenId>& tokens) {
        const bool rows_say_end = !machine.ends_apart() && !machine.stop_tokens().empty();
        own_ = std::make_shared<const Own>(Own{tokens, machine.text_or_itself(tokens), rows_say_end});
        set_ = {};
    }
    // No token ends the text. Stop tokens of the matcher's own are still never text.
    void set_terminates_when_complete(const Machine& machine) {
        if (!own_) set(machine, machine.stop_tokens());
        terminates_when_complete_ = true;
    }
    // The matcher's rows are in another cache from now on.
    void change_over() { set_ = {}; }

    bool terminates_when_complete() const { return terminates_when_complete_; }
    const std::vector<TokenId>& tokens(const Machine& machine) const { return own_ ? own_->tokens : machine.stop_tokens(); }
    bool has(const Machine& machine, TokenId token) const {
        return own_ ? std::ranges::find(own_->tokens, token) != own_->tokens.end() : machine.vocabulary().is_stop[token.index()];
    }
    // Whether they are put into rows.
    bool in_rows_of_their_own() const { return own_ != nullptr; }

    // The row with them. `complete`: whether the text is. `is_requested(token)`: whether the grammar requests one of them as such, for
    // tokens that are text as well.
    template <class IsRequested>
    MaskRow put_into(MaskRow row, Machine& machine, RowCache& cache, bool complete, const IsRequested& is_requested) {
        const bool may_end = complete && !terminates_when_complete_;
        if (own_->text_or_itself.empty()) {
            if (!set_) set_ = machine.stop_set(cache, own_->tokens);
            return machine.with_stops(cache, row, may_end ? StopSets::at_end(*set_) : *set_);
        }
        std::vector<TokenId> requested;
        for (TokenId token : own_->text_or_itself)
            if (is_requested(token)) requested.push_back(token);
        const StopSet set = machine.stop_set(cache, own_->tokens, requested);
        return machine.with_stops(cache, row, may_end ? StopSets::at_end(set) : set);
    }
    // A number for what of a row depends on them; none where a row does not say whether the text may end.
    std::optional<Word> in_steps() const {
        if (!own_) return -1;
        if (!set_ || !own_->rows_say_end) return {};
        return set_.v | (terminates_when_complete_ ? 1 : 0);
    }

private:
    struct Own {
        std::vector<TokenId> tokens;
        std::vector<TokenId> text_or_itself;  // those of which a row does not say which they are
        bool rows_say_end;                    // whether the machine's rows are others where the text may end
    };
    std::shared_ptr<const Own> own_;  // null: the machine's
    Maybe<StopSet> set_;              // of the cache, once a row has them
    bool terminates_when_complete_ = false;
};

}  // namespace psc
