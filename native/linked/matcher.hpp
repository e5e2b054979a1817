// A matcher of linked machines (linked/machine.hpp): where one generated text is.
//
// A position is a *place*: a matcher of one of the machines, and in a part what follows behind it, a stack of places to return to; where
// several ways lead on, several places. While nothing but the part itself can read what comes, a step is a step of its matcher, in place.
// Where a token goes over a boundary, or the text is at several places, the places behind it are new ones: a new *stage*. Stages are
// linked to those before, which stay as they were and are shared by forks, so going back is going back to a stage and there so many steps.
//
// Where a part is called for so many tokens at most, those that have had bytes in its text count: each token that is read there, one
// that goes on behind it, and one that began before it, but not one that leaves it at its first byte. Where it is *spent*, since as
// many have, and its text can end, with those that are open inside it ending too, the next token leaves it at its first byte (*must
// leave*); where it cannot end, it goes on. Of places that differ in nothing else the one that has more tokens left stays, since it
// can do all that the others can, unless there is an end for parts that are spent.
//
// Boundaries are not crossed before a byte behind them is read: a text that could end a part is in the part.
//
// Cost: of a step in a part, what it costs there and a lookup; of a token over a boundary, some steps of a byte for each place.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_set.hpp"
#include "linked/machine.hpp"
#include "matcher/matcher.hpp"

namespace psc {

class LinkedMatcher final : public TextMatcher {
public:
    explicit LinkedMatcher(std::shared_ptr<LinkedMachine> machine);
    LinkedMatcher(const LinkedMatcher& other);
    std::unique_ptr<TextMatcher> fork() const override { return std::make_unique<LinkedMatcher>(*this); }

    void set_most_steps(std::size_t steps) override {
        most_steps_ = steps;
        for (Place& place : own().places) place.at->set_most_steps(steps);
    }

    MaskRow mask_row() override;
    bool accept(TokenId token) override;
    bool accept_text(std::span<const std::uint8_t> bytes) override;
    std::size_t accept_prefix(std::span<const std::uint8_t> bytes) override;
    void rollback(std::size_t n) override;
    void reset() override;

    std::size_t n_steps() const override { return n_steps_; }
    bool stopped() const override { return top_->stopped; }
    bool is_complete() override;
    std::string forced_text() override;
    // Those of the frame's machine come first, then those of each part, numbered on.
    std::vector<Terminal> expected_terminals() override;

private:
    struct Return;
    using Count = std::int64_t;  // of tokens since the start
    static constexpr Count kNever = std::numeric_limits<Count>::max();
    struct Place {
        std::shared_ptr<const Return> below;  // null in the frame itself
        Word part;
        std::unique_ptr<Matcher> at;
        Count begun = 0;          // the tokens before the one in which this text of the part began
        Count deadline = kNever;  // with so many it is spent, or one of those that it is inside of
        bool fresh = false;       // nothing was read of this text, which is of a part that is not called for the empty one

        Place copy() const { return {below, part, std::make_unique<Matcher>(*at), begun, deadline, fresh}; }
        bool is_counted() const { return deadline != kNever; }
    };
    // Where the text goes on when a part has ended: behind its call.
    struct Return {
        Place place;
        Word context;  // its content, and of what is below
        // Of one that is counted, whether the text can end there, and be over where it is spent.
        bool can_end = false, can_end_spent = false;

        ~Return();
    };
    using Places = std::vector<Place>;
    struct Stage {
        std::shared_ptr<Stage> below;  // null for the first
        Places places;
        std::size_t n_steps = 0;  // made in place
        Count n_tokens = 0;       // that count
        bool stopped = false;

        ~Stage();
    };
    using Bytes = std::span<const std::uint8_t>;
    // The most places of one text, and of one row the most bytes that are read behind boundaries.
    static constexpr std::size_t kMaxPlaces = 256, kMaxRead = 4'000'000;

    std::unique_ptr<Matcher> begin_part(Word part) const;
    static Places copies(const Places& places);
    static bool can_read(const Matcher& at, Bytes bytes) { return Matcher(at).accept_bytes(bytes); }
    // The top stage, of which nobody else has a hold.
    Stage& own();
    void push(Places places, bool stopped, bool token = true);
    // The content of a place, or of none that can be told: then it is like no other.
    Word context_of(const Place& place);

    // What is behind the boundaries at which a place is. `starts`: a token's first byte comes next, where budgets hold.
    void add_crossed(const Place& place, bool starts, Places& out);
    void add_called(const Place& place, Places& out);
    void add_ended(const Place& place, bool starts, Places& out);
    // The same, over and over.
    void close(Places& places, bool starts);
    void drop_equals(Places& places);
    // Places of which none can do all that another one can.
    class Distinct {
    public:
        Distinct(LinkedMatcher& matcher, Places& places) : matcher_(matcher), places_(places) {}
        // Null where one that is there can do all that it can.
        Place* add(Place place);

    private:
        LinkedMatcher& matcher_;
        Places& places_;
        std::vector<Word> contexts_;
    };

    // What is counted: of a place in a part with a limit, or in a part that one calls.
    Count now() const { return top_->n_tokens; }
    bool is_spent(const Place& place) const { return now() >= place.deadline; }  // or what it is inside of
    bool is_spent_itself(const Place& place) const {
        const Word most = linked().most_tokens(place.part);
        return most != LinkedMachine::kAnyNumber && now() - place.begun >= most;
    }
    bool must_leave(const Place& place) const;
    // Whether a place can do all that another one of the same content can.
    bool has_as_many_left(const Place& place, const Place& other) const;
    // Whether it can end now that it is spent, and which of those that it is in are.
    std::vector<Word> spent_content(const Place& place) const;
    // The places after `bytes`, on each way that leads over a boundary before the last of them.
    void read_across(const Place& place, Bytes bytes, bool token, Places& out);
    bool read_on(Place& place, Bytes bytes, bool starts) const;
    // All places after them; `crossed`: whether any of them is behind a boundary. `token`: they are one token's.
    Places read(Bytes bytes, bool token, bool& crossed);
    Places as_itself(TokenId token);
    MaskRow with_stops(MaskRow row, bool complete);
    bool accept_bytes(Bytes bytes, bool token);
    bool complete(const Places& places);

    LinkedMachine::Known known(const Place& place);
    LinkedMachine::Known own_row(const Place& place, MaskRow inner, Word context);
    static ByteSet first_bytes(const Places& places);
    // Sets the bits of the tokens that go over one of these boundaries, which are near a place, behind a first byte.
    void add_over(const Place& place, const std::vector<LinkedMachine::Boundary>& near, std::uint32_t* words);
    // Sets the bits of the tokens below a node of which the rest can be read from these places, which begin with these bytes.
    void add_tokens(VocabularyNode node, const Places& places, const ByteSet& first, std::uint32_t* words);

    LinkedMachine& linked() const { return static_cast<LinkedMachine&>(*base_); }

    std::optional<std::size_t> most_steps_;  // where it is not what a matcher has
    std::shared_ptr<Stage> top_;
    std::size_t n_steps_ = 0;
    bool near_ = false;  // whether a boundary is near the current position, once its mask was requested
};

}  // namespace psc
