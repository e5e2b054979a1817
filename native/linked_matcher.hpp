// A matcher of linked machines (linked_machine.hpp): where one generated text is.
//
// A position is a *place*: a matcher of one of the machines, and in a part what follows behind it, a stack of places to return to; where
// several ways lead on, several places. While nothing but the part itself can read what comes, a step is a step of its matcher, in place.
// Where a token goes over a boundary, or the text is at several places, the places behind it are new ones: a new *stage*. Stages are
// linked to those before, which stay as they were and are shared by forks, so going back is going back to a stage and there so many steps.
//
// Where a part is called for so many tokens at most, a place counts those that have had bytes in the part's text: each token that is read
// there, one that goes on behind it, and one that began before it, but not one that leaves it at its first byte. Of places that differ
// in nothing else the one with fewer tokens stays, since it can do all that the others can.
//
// Boundaries are not crossed before a byte behind them is read: a text that could end a part is in the part.
//
// Cost: of a step in a part, what it costs there and a lookup; of a token over a boundary, some steps of a byte for each place.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "linked_machine.hpp"
#include "matcher.hpp"

namespace psc {

class LinkedMatcher final : public TextMatcher {
public:
    explicit LinkedMatcher(std::shared_ptr<LinkedMachine> machine);
    LinkedMatcher(const LinkedMatcher& other);
    std::unique_ptr<TextMatcher> fork() const override { return std::make_unique<LinkedMatcher>(*this); }

    void set_stop_tokens(const std::vector<TokenId>& tokens) override;
    void set_terminates_when_complete() override;
    const std::vector<TokenId>& stop_tokens() const override { return *stops_; }

    MaskRow mask_row() override;
    bool accept(TokenId token) override;
    bool accept_text(std::span<const std::uint8_t> bytes) override;
    std::size_t accept_prefix(std::span<const std::uint8_t> bytes) override;
    void rollback(std::size_t n) override;
    void reset() override;

    std::size_t n_steps() const override { return n_steps_; }
    bool stopped() const override { return top_->stopped; }
    bool is_terminated() override { return stopped() || (terminates_when_complete_ && is_complete()); }
    bool is_complete() override;
    std::string forced_text() override;
    // Those of the frame's machine come first, then those of each part, numbered on.
    std::vector<Terminal> expected_terminals() override;

    const std::shared_ptr<Machine>& machine() const override { return base_; }
    const std::shared_ptr<Machine::Cache>& shared_cache() const override { return cache_; }

private:
    struct Return;
    struct Place {
        std::shared_ptr<const Return> below;  // null in the frame itself
        Word part;
        std::unique_ptr<Matcher> at;
        Word n_tokens = 0;  // that have had bytes in this text of the part, where the frame calls it for so many at most

        Place copy() const { return {below, part, std::make_unique<Matcher>(*at), n_tokens}; }
    };
    // Where the text goes on when a part has ended: behind its call.
    struct Return {
        Place place;
        Word context;  // its content, and of what is below
    };
    using Places = std::vector<Place>;
    struct Stage {
        std::shared_ptr<Stage> below;  // null for the first
        Places places;
        std::size_t n_steps = 0;  // made in place
        bool stopped = false;

        ~Stage();
    };
    using Bytes = std::span<const std::uint8_t>;
    // The most places of one text, and of one row the most bytes that are read behind boundaries.
    static constexpr std::size_t kMaxPlaces = 256, kMaxRead = 4'000'000;

    static Places copies(const Places& places);
    // The top stage, of which nobody else has a hold.
    Stage& own();
    void push(Places places, bool stopped);
    void refresh();
    // The content of a place, or of none that can be told: then it is like no other.
    Word context_of(const Place& place);

    // What is behind the boundaries at which a place is.
    void add_crossed(const Place& place, Places& out);
    void add_called(const Place& place, Places& out);
    void add_ended(const Place& place, Places& out);
    // The same, over and over; `places` have been looked at up to `from`.
    void close(Places& places, std::size_t from = 0);
    void drop_equals(Places& places);
    // The places after `bytes`, on each way that leads over a boundary before the last of them.
    void read_across(const Place& place, Bytes bytes, bool token, Places& out);
    // All places after them; `crossed`: whether any of them is behind a boundary. `token`: they are one token's.
    Places read(Bytes bytes, bool token, bool& crossed);
    bool counts(const Place& place) const { return machine_->most_tokens(place.part) != LinkedMachine::kAnyNumber; }
    bool is_full(const Place& place) const { return place.n_tokens >= machine_->most_tokens(place.part); }
    Places as_itself(TokenId token);
    MaskRow with_stops(MaskRow row, bool complete);
    bool accept_bytes(Bytes bytes, bool token);
    bool complete(const Places& places);

    LinkedMachine::Known known(const Place& place);
    LinkedMachine::Known own_row(const Place& place, MaskRow inner, Word context);
    // Sets the bits of the tokens that begin with `before` and go on from these places.
    void add_tokens(Bytes before, Places places, std::uint32_t* words);

    std::shared_ptr<LinkedMachine> machine_;
    std::shared_ptr<Machine> base_;  // the same
    std::shared_ptr<Machine::Cache> cache_;
    std::shared_ptr<Stage> top_;
    std::size_t n_steps_ = 0;
    // Of the current position, once its mask was asked for.
    Maybe<MaskRow> row_;
    bool near_ = false;  // a boundary is
    bool terminates_when_complete_ = false;
    std::shared_ptr<const std::vector<TokenId>> stops_;
    StopSet stop_sets_[2];                 // of the machine: where the text is not complete, where it is
    std::vector<TokenId> text_or_itself_;  // stop tokens of which a row does not say which they are
};

}  // namespace psc
