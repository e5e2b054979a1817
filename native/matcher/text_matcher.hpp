// What follows one generated text, whatever its grammar is made of: one machine (matcher/matcher.hpp), or several that are linked
// (linked/matcher.hpp).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "matcher/stops.hpp"

namespace psc {

class TextMatcher {
public:
    virtual ~TextMatcher() = default;
    TextMatcher& operator=(const TextMatcher&) = delete;

    // A second one at the same place, with the same past. Cost: O(1).
    virtual std::unique_ptr<TextMatcher> fork() const = 0;

    // These tokens, and no others, end the text.
    void set_stop_tokens(const std::vector<TokenId>& tokens) {
        forget_steps();
        stops_.set(*base_, tokens);
    }
    // No token ends the text: is_terminated() once it is a sentence, and more text may still be accepted.
    void set_terminates_when_complete() {
        forget_steps();
        stops_.set_terminates_when_complete(*base_);
    }
    const std::vector<TokenId>& stop_tokens() const { return stops_.tokens(*base_); }
    // Work for one mask, or for one token without its bytes, where others wait for it (see base/work.hpp).
    virtual void set_max_steps(std::size_t steps) = 0;

    // The id of the row of allowed tokens in cache().rows; throws MatcherError once a stop token was accepted.
    virtual MaskRow mask_row() = 0;
    // Looks for the row where all that it needs is there, for an accept() or a mask_row() that comes next, and builds nothing.
    virtual void find_cached_row() {}
    virtual bool accept(TokenId token) = 0;
    // Reads text, all of it or nothing. One step for rollback().
    virtual bool accept_text(std::span<const std::uint8_t> bytes) = 0;
    // Reads text as far as it has a continuation: the number of bytes read. One step for rollback(), if any was.
    virtual std::size_t accept_prefix(std::span<const std::uint8_t> bytes) = 0;
    // Takes back the last `n` steps; throws MatcherError when there are fewer.
    virtual void rollback(std::size_t n) = 0;
    virtual void reset() = 0;

    virtual std::size_t n_steps() const = 0;
    virtual bool stopped() const = 0;
    bool is_terminated() { return stopped() || (stops_.terminates_when_complete() && is_complete()); }
    virtual bool is_complete() = 0;  // the text may end here
    // The bytes that any continuation begins with, up to where the text may end; fewer where finding more would cost too much.
    virtual std::string forced_text() = 0;
    virtual std::vector<Terminal> expected_terminals() = 0;  // terminals that the parser can take next, the end of text among them

    // What the rows are of.
    const std::shared_ptr<Machine>& machine() const { return base_; }
    const std::shared_ptr<RowCache>& shared_cache() const { return cache_; }
    RowCache& cache() const { return *cache_; }

protected:
    explicit TextMatcher(std::shared_ptr<Machine> machine)
        : cache_(machine->cache()), stops_(*machine), base_(std::move(machine)) {}
    TextMatcher(const TextMatcher&) = default;

    // The rows that the matcher has of its positions are not those of its cache, or not with its stop tokens.
    virtual void forget_rows() { row_ = {}; }
    // Nor do its tokens lead where they did.
    virtual void forget_steps() { forget_rows(); }
    // Changes over to the machine's cache when ours was given up.
    void refresh() {
        if (cache_->retired.load(std::memory_order_relaxed)) change_over();
    }
    void change_over() {
        cache_ = base_->cache();
        stops_.change_over();
        forget_rows();
    }

    // A step of a text in a batch waits for memory: what each step reads comes first here, and in a matcher.
    std::shared_ptr<RowCache> cache_;
    Maybe<MaskRow> row_;  // of the current position, once it was requested
    Stops stops_;
    std::shared_ptr<Machine> base_;
};

}  // namespace psc
