// What follows one generated text, whatever its grammar is made of: one machine (matcher/matcher.hpp), or several that are linked
// (linked/matcher.hpp).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "machine/machine.hpp"

namespace psc {

class TextMatcher {
public:
    virtual ~TextMatcher() = default;
    TextMatcher& operator=(const TextMatcher&) = delete;

    // A second one at the same place, with the same past. Cost: O(1).
    virtual std::unique_ptr<TextMatcher> fork() const = 0;

    // These tokens, and no others, end the text.
    virtual void set_stop_tokens(const std::vector<TokenId>& tokens) = 0;
    // No token ends the text: is_terminated() once it is a sentence, and more text may still be accepted.
    virtual void set_terminates_when_complete() = 0;
    virtual const std::vector<TokenId>& stop_tokens() const = 0;
    // Of one mask, or one token without its bytes, so many steps at most, where others wait for it (see base/work.hpp).
    virtual void set_most_steps(std::size_t steps) = 0;

    // The id of the row of allowed tokens in cache().rows; throws MatcherError once a stop token was accepted.
    virtual MaskRow mask_row() = 0;
    // Looks for the row where all that it needs is there, for an accept() or a mask_row() that comes next, and builds nothing.
    virtual void find_known_row() {}
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
    virtual bool is_terminated() = 0;
    virtual bool is_complete() = 0;  // the text may end here
    // The bytes that any continuation begins with, up to where the text may end; fewer where finding more would cost too much.
    virtual std::string forced_text() = 0;
    virtual std::vector<Terminal> expected_terminals() = 0;  // terminals that the parser can take next, the end of text among them

    // What the rows are of.
    virtual const std::shared_ptr<Machine>& machine() const = 0;
    virtual const std::shared_ptr<Machine::Cache>& shared_cache() const = 0;
    Machine::Cache& cache() const { return *shared_cache(); }

protected:
    TextMatcher() = default;
    TextMatcher(const TextMatcher&) = default;
};

}  // namespace psc
