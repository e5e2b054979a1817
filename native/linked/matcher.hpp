// A matcher of linked machines (linked/machine.hpp): where one generated text is.
//
// A position is a matcher of one of the engines and, in a part, a stack of callers: the positions at which the text goes on when the part
// and those around it have ended. Where several ways lead on there are several positions. While nothing but the part itself can read
// what comes, a step is one step of its matcher. Where a token goes over a boundary, or the text has several positions, the positions
// after it are new ones: a new *stage*. Stages are linked to those before, which stay as they were and are shared by forks, so rollback()
// goes back to a stage, and takes the remaining steps back in its matchers.
//
// Example: the frame `"<t>" CALL0 "</t>"` calls part 0, the schema of {"a": integer}. Its text `<t>{"a":1}</t>`, in five tokens:
//
//     token    what is read                                        positions after it             stage
//     <t>{"    frame: <t>, then over CALL0; part 0: {"             part 0, caller: frame at </t>  1, new
//     a        part 0                                              likewise                       1
//     ":1      part 0; nothing says yet that the number has ended  likewise                       1
//     }</      part 0: }, then over its END; the caller: </        frame in </t>                  2, new
//     t>       frame                                               frame at its END               2
//
// The mask before the fourth token is the row of part 0's matcher: digits and `}`. The row says that a boundary is near as well: the
// boundary token `}` END is in it, so a token that begins with `}` may go on after the part. The tokens below `}` in the vocabulary's
// trie are read from the caller's position, and `}</` and `}</t>` are allowed, too. Which row that makes is cached by the row of the
// part and what the text goes on with.
//
// A boundary is not crossed before a byte after it is read: a text that could end a part is in the part. Parts may have a limit of tokens
// (linked/budget.hpp). Of positions that differ in nothing but their budgets, one that has more tokens left stays, since it can do all
// that the others can, unless a part has an end for when its tokens are exhausted.
//
// Cost: of a step in a part, what it costs there and a look-up; of a token over a boundary, some steps of a byte for each position.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_set.hpp"
#include "base/limits.hpp"
#include "linked/budget.hpp"
#include "linked/machine.hpp"
#include "matcher/matcher.hpp"

namespace psc {

class LinkedMatcher final : public TextMatcher {
public:
    explicit LinkedMatcher(std::shared_ptr<LinkedMachine> machine);
    LinkedMatcher(const LinkedMatcher& other);
    std::unique_ptr<TextMatcher> fork() const override { return std::make_unique<LinkedMatcher>(*this); }

    void set_max_steps(std::size_t steps) override {
        max_steps_ = steps;
        for (Position& position : own().positions) position.matcher->set_max_steps(steps);
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
    struct Position {
        std::shared_ptr<const Return> caller;  // where the text goes on when the part has ended; null in the frame itself
        Word part;
        std::unique_ptr<Matcher> matcher;
        Budget budget;          // whose surrounding one is the caller's
        bool is_fresh = false;  // nothing was read of this text, which is of a part that is not called for the empty one
        std::shared_ptr<const UniqueState> unique = nullptr;  // of an array whose items must differ, or such an item

        Position copy() const { return {caller, part, std::make_unique<Matcher>(*matcher), budget, is_fresh, unique}; }
        bool is_unique_item() const { return unique && unique->is_item; }
    };
    // A position after the call that was read there.
    struct Return {
        Position position;
        Word context;  // its content, and of its callers

        ~Return();
    };
    using Positions = std::vector<Position>;
    struct Stage {
        std::shared_ptr<Stage> below;  // null for the first
        Positions positions;
        std::size_t n_steps = 0;     // each a step of all its matchers
        Budget::Count n_tokens = 0;  // counted against budgets
        bool stopped = false;

        ~Stage();
    };
    using Bytes = std::span<const std::uint8_t>;
    // Positions of one text; bytes read after boundaries for one row.
    static constexpr std::size_t kMaxPositions = limit("linked_positions"), kMaxRead = limit("boundary_bytes"),
                                 kMaxUniqueItems = limit("unique_items"), kMaxForced = limit("forced_bytes");

    std::unique_ptr<Matcher> begin_part(Word part) const;
    static Positions copies(const Positions& positions);
    static constexpr SpelledSymbol kSpelledEnd = spelled_symbol(kEndOfPart);
    static bool can_read(const Matcher& at, Bytes bytes) { return Matcher(at).accept_bytes(bytes); }
    // The top stage, which no fork shares.
    Stage& own();
    void push(Positions positions, bool stopped, bool token = true);
    // A number for the content of a position. One whose content is too large has a number of its own.
    Word context_of(const Position& position);

    // Appends the positions after the boundaries that can be read here. `starts`: a token's first byte comes next, where budgets hold.
    void add_crossed(const Position& position, bool starts, Positions& out);
    void add_called(const Position& position, Positions& out);
    void add_ended(const Position& position, bool starts, Positions& out);
    // Adds to positions those after their boundaries, those after theirs, and so on.
    void close(Positions& positions, bool starts);
    void drop_equals(Positions& positions);
    // Positions of which none can do all that another one can.
    class Distinct {
    public:
        Distinct(LinkedMatcher& matcher, Positions& positions) : matcher_(matcher), positions_(positions) {}
        // Null where one that is there can do all that this one can.
        Position* add(Position position);

    private:
        LinkedMatcher& matcher_;
        Positions& positions_;
        std::vector<Word> contexts_;
    };

    std::string forced_byte();

    Budget::Count now() const { return top_->n_tokens; }
    // How the part's text can end.
    static bool can_end_spent(const Position& position);
    static Budget::Ends ends_of(const Position& position);
    bool must_leave(const Position& position) const;
    // Whether its text can end with the spent end, and which of the parts around it are exhausted.
    std::vector<Word> exhausted_content(const Position& position) const;
    // The positions after `bytes`, on each way that leads over a boundary before the last of them.
    void read_across(const Position& position, Bytes bytes, bool token, Positions& out);
    bool read_on(Position& position, Bytes bytes, bool starts) const;
    // All positions after them; `crossed`: whether any of them is behind a boundary. `token`: they are one token's.
    Positions read(Bytes bytes, bool token, bool& crossed);
    Positions as_itself(TokenId token, Positions from);
    MaskRow with_stops(MaskRow row, bool complete);
    bool accept_bytes(Bytes bytes, bool token);
    bool complete(const Positions& positions);

    // Arrays whose items must differ: linked/unique_matcher.cpp.
    static const UniqueValues* values_before(const Position& position);
    std::shared_ptr<const UniqueState> begun_state(Word part) const;
    static bool same_values(const Position& a, const Position& b);
    static bool end_item(const Position& item, Position& array);
    static bool too_many_values(const Positions& positions);
    bool read_item(Position& position, Bytes bytes) const;
    bool has_other_value(const Position& position) const;
    bool can_read_token(const Position& position, TokenId token);
    LinkedMachine::LinkedRow unique_row(Position& position);
    static Position without_values(const Position& position);

    LinkedMachine::LinkedRow linked_row(Position& position);
    LinkedMachine::LinkedRow shared_row(const Position& position);
    LinkedMachine::LinkedRow own_row(const Position& position, MaskRow inner, Word context);
    static ByteSet first_bytes(const Positions& positions);
    // Sets the bits of the tokens that go over one of these boundaries, which are near a position, after a first byte.
    void add_over(const Position& position, const std::vector<LinkedMachine::Boundary>& near, std::uint32_t* words);
    // Sets the bits of the tokens below a node of which the rest can be read from these positions, which begin with these bytes.
    void add_tokens(VocabularyNode node, const Positions& positions, const ByteSet& first, std::uint32_t* words);

    LinkedMachine& linked() const { return static_cast<LinkedMachine&>(*base_); }

    std::optional<std::size_t> max_steps_;  // where it is not what a matcher has
    std::shared_ptr<Stage> top_;
    std::size_t n_steps_ = 0;
    bool near_ = false;  // whether a boundary is near the current position, once its mask was made
};

}  // namespace psc
