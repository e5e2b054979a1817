#include "linked/matcher.hpp"

#include <algorithm>
#include <atomic>

#include "base/errors.hpp"
#include "base/sole_owner.hpp"

namespace psc {

namespace {

constexpr SpelledSymbol kSpelledSpentEnd = spelled_symbol(kSpentEnd);

}  // namespace

// A long chain is destroyed in a loop: recursion would overflow the stack.
LinkedMatcher::Stage::~Stage() {
    while (below && is_sole_owner(below)) {
        auto next = std::move(below->below);
        below = std::move(next);
    }
}

LinkedMatcher::Return::~Return() {
    auto caller = std::move(position.caller);
    while (caller && is_sole_owner(caller)) {
        auto next = std::move(const_cast<Return&>(*caller).position.caller);
        caller = std::move(next);
    }
}

LinkedMatcher::LinkedMatcher(std::shared_ptr<LinkedMachine> machine) : TextMatcher(std::move(machine)) { reset(); }

LinkedMatcher::LinkedMatcher(const LinkedMatcher& other)
    : TextMatcher(other),
      max_steps_(other.max_steps_),
      top_(std::make_shared<Stage>()),
      n_steps_(other.n_steps_),
      near_(other.near_) {
    top_->below = other.top_->below;
    top_->positions = copies(other.top_->positions);
    top_->n_steps = other.top_->n_steps;
    top_->n_tokens = other.top_->n_tokens;
    top_->stopped = other.top_->stopped;
}

void LinkedMatcher::reset() {
    top_ = std::make_shared<Stage>();
    top_->positions.push_back({nullptr, LinkedMachine::kFrame, begin_part(LinkedMachine::kFrame), Budget()});
    n_steps_ = 0;
    row_ = {};
}

std::unique_ptr<Matcher> LinkedMatcher::begin_part(Word part) const {
    auto matcher = std::make_unique<Matcher>(linked().at(part));
    if (max_steps_) matcher->set_max_steps(*max_steps_);
    return matcher;
}

LinkedMatcher::Positions LinkedMatcher::copies(const Positions& positions) {
    Positions out;
    out.reserve(positions.size());
    for (const Position& position : positions) out.push_back(position.copy());
    return out;
}

LinkedMatcher::Stage& LinkedMatcher::own() {
    if (!is_sole_owner(top_)) {
        auto copy = std::make_shared<Stage>();
        copy->below = top_->below;
        copy->positions = copies(top_->positions);
        copy->n_steps = top_->n_steps;
        copy->n_tokens = top_->n_tokens;
        copy->stopped = top_->stopped;
        top_ = std::move(copy);
    }
    return *top_;
}

void LinkedMatcher::push(Positions positions, bool stopped, bool token) {
    auto stage = std::make_shared<Stage>();
    stage->below = top_;
    stage->n_tokens = top_->n_tokens + token;
    stage->positions = std::move(positions);
    stage->stopped = stopped;
    top_ = std::move(stage);
    ++n_steps_;
    row_ = {};
}

void LinkedMatcher::rollback(std::size_t n) {
    if (n > n_steps_)
        throw MatcherError("cannot take back " + std::to_string(n) + " steps: only " + std::to_string(n_steps_) +
                           " were made since the start");
    if (n == 0) return;
    n_steps_ -= n;
    row_ = {};
    while (n > top_->n_steps) {
        n -= top_->n_steps + 1;
        top_ = std::shared_ptr<Stage>(top_->below);
    }
    if (n == 0) return;
    Stage& stage = own();
    for (Position& position : stage.positions) position.matcher->rollback(n);
    stage.n_steps -= n;
}

Word LinkedMatcher::context_of(const Position& position) {
    static std::atomic<Word> last{-2};
    std::vector<Word> content{position.part, position.caller ? position.caller->context : -1, position.is_fresh};
    if (!position.matcher->add_content(content)) return --last;
    return linked().context(content);
}

// --- boundaries

void LinkedMatcher::add_called(const Position& position, Positions& out) {
    Position within = position.copy();
    if (!within.matcher->accept_bytes(kCallBytes)) return;
    // The rest of the call's symbol says which part; the bytes that can stand there are few.
    for (Word high = 0; high < kMaxParts / 64; ++high) {
        const SpelledSymbol first = spelled_symbol(kFirstCall + high * 64);
        if (!within.matcher->accept_bytes({&first[2], 1})) continue;
        for (Word part = high * 64; part < std::min(high * 64 + 64, linked().n_parts()); ++part) {
            const SpelledSymbol symbol = spelled_symbol(kFirstCall + part);
            if (!within.matcher->accept_bytes({&symbol[3], 1})) continue;
            auto back = std::make_shared<Return>();
            back->position = within.copy();
            back->position.is_fresh = false;  // what it calls has ended when something was read
            back->context = context_of(back->position);
            if (position.budget.is_counted()) back->position.budget.set_ends(ends_of(back->position));
            within.matcher->rollback(1);
            const Budget budget(back->position.budget, now(), linked().max_tokens(part), linked().has_spent_end(part));
            out.push_back({std::move(back), part, begin_part(part), budget, budget.has_limit(), begun_state(part)});
            if (out.size() > kMaxPositions) throw LimitExceeded("positions of a text in linked grammars", kMaxPositions);
        }
        within.matcher->rollback(1);
    }
}

void LinkedMatcher::add_ended(const Position& position, bool starts, Positions& out) {
    if (!position.caller || position.is_fresh) return;
    if (can_read(*position.matcher, kSpelledEnd) || (starts && position.budget.is_exhausted(now()) && can_end_spent(position))) {
        Position after = position.caller->position.copy();
        if (!position.is_unique_item() || end_item(position, after)) out.push_back(std::move(after));
    }
}

void LinkedMatcher::add_crossed(const Position& position, bool starts, Positions& out) {
    if (!starts || !must_leave(position)) add_called(position, out);
    add_ended(position, starts, out);
}

Budget::Ends LinkedMatcher::ends_of(const Position& position) {
    return {can_read(*position.matcher, kSpelledEnd), can_end_spent(position)};
}

bool LinkedMatcher::can_end_spent(const Position& position) {
    return position.budget.has_spent_end() && can_read(*position.matcher, kSpelledSpentEnd);
}

bool LinkedMatcher::must_leave(const Position& position) const {
    return position.budget.is_exhausted(now()) && !position.is_fresh && position.budget.must_leave(now(), ends_of(position));
}

std::vector<Word> LinkedMatcher::exhausted_content(const Position& position) const {
    std::vector<Word> content{can_end_spent(position)};
    position.budget.add_exhausted(now(), content);
    return content;
}

void LinkedMatcher::close(Positions& positions, bool starts) {
    Positions todo = std::move(positions);
    positions.clear();
    Distinct distinct(*this, positions);
    for (std::size_t i = 0; i < todo.size(); ++i) {  // which grows
        Position* const position = distinct.add(std::move(todo[i]));
        if (!position) continue;
        if (positions.size() > kMaxPositions) throw LimitExceeded("positions of a text in linked grammars", kMaxPositions);
        Positions crossed;
        add_crossed(*position, starts, crossed);
        for (Position& next : crossed) todo.push_back(std::move(next));
    }
}

void LinkedMatcher::drop_equals(Positions& positions) {
    if (positions.size() < 2) return;
    Positions all = std::move(positions);
    positions.clear();
    Distinct distinct(*this, positions);
    for (Position& position : all) distinct.add(std::move(position));
}

LinkedMatcher::Position* LinkedMatcher::Distinct::add(Position position) {
    if (positions_.empty()) {  // mostly there is no other one
        positions_.push_back(std::move(position));
        return &positions_.back();
    }
    if (contexts_.empty()) contexts_.push_back(matcher_.context_of(positions_[0]));
    const Word context = matcher_.context_of(position);
    for (std::size_t i = 0; i < positions_.size();) {
        const bool same = contexts_[i] == context && same_values(positions_[i], position);
        if (same && positions_[i].budget.has_as_many_left(position.budget, matcher_.now())) return nullptr;
        if (same && position.budget.has_as_many_left(positions_[i].budget, matcher_.now())) {
            positions_.erase(positions_.begin() + static_cast<std::ptrdiff_t>(i));
            contexts_.erase(contexts_.begin() + static_cast<std::ptrdiff_t>(i));
            continue;
        }
        ++i;
    }
    positions_.push_back(std::move(position));
    contexts_.push_back(context);
    return &positions_.back();
}

void LinkedMatcher::read_across(const Position& position, Bytes bytes, bool token, Positions& out) {
    Position within = position.copy();
    Positions behind;
    bool alive = true;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const bool starts = token && i == 0;
        if (alive) add_crossed(within, starts, behind);
        close(behind, starts);
        const Bytes byte = bytes.subspan(i, 1);
        std::erase_if(behind, [&](Position& b) { return !read_on(b, byte, starts); });
        alive = alive && read_on(within, byte, starts);
        if (!alive && behind.empty()) return;
    }
    for (Position& b : behind) out.push_back(std::move(b));
}

// Reads bytes without a boundary before the last of them.
bool LinkedMatcher::read_on(Position& position, Bytes bytes, bool starts) const {
    if ((starts && must_leave(position)) || !position.matcher->accept_bytes(bytes)) return false;
    position.is_fresh = false;
    return !position.is_unique_item() || read_item(position, bytes);
}

LinkedMatcher::Positions LinkedMatcher::read(Bytes bytes, bool token, bool& crossed) {
    Positions out;
    for (const Position& position : top_->positions) {
        Position within = position.copy();
        if (read_on(within, bytes, token)) out.push_back(std::move(within));
    }
    const std::size_t n = out.size();
    for (const Position& position : top_->positions) read_across(position, bytes, token, out);
    crossed = out.size() > n;
    drop_equals(out);
    return out;
}

bool LinkedMatcher::accept_bytes(Bytes bytes, bool token) {
    bool crossed = false;
    Positions after = read(bytes, token, crossed);
    if (after.empty()) return false;
    if (!crossed && after.size() == 1 && top_->positions.size() == 1 && !after[0].budget.is_counted() &&
        !after[0].is_unique_item()) {
        Stage& stage = own();
        stage.positions[0].matcher->accept_bytes(bytes);
        ++stage.n_steps;
        ++n_steps_;
        row_ = {};
        return true;
    }
    if (too_many_values(after)) throw LimitExceeded("items of an array with uniqueItems", kMaxUniqueItems);
    push(std::move(after), false, token);
    return true;
}

bool LinkedMatcher::accept_text(Bytes bytes) {
    if (stopped() || has_symbol_byte(bytes)) return false;
    return accept_bytes(bytes, false);
}

std::size_t LinkedMatcher::accept_prefix(Bytes bytes) {
    if (stopped()) return 0;
    // Where a text has a continuation all its beginnings have one.
    std::size_t low = 0, high = bytes.size();
    while (low < high) {
        const std::size_t middle = (low + high + 1) / 2;
        bool crossed = false;
        const Bytes some = bytes.first(middle);
        if (!has_symbol_byte(some) && !read(some, false, crossed).empty())
            low = middle;
        else
            high = middle - 1;
    }
    if (low > 0) accept_bytes(bytes.first(low), false);
    return low;
}

// The positions after a token that the grammar requests as such. Each machine has its own symbols.
LinkedMatcher::Positions LinkedMatcher::as_itself(TokenId token, Positions all) {
    close(all, true);
    std::erase_if(all, [&](Position& position) {
        const Word* symbols = position.matcher->machine()->vocabulary().symbols;
        return !symbols || symbols[token.index()] < 0 || !read_on(position, spelled_symbol(symbols[token.index()]), true);
    });
    drop_equals(all);
    return all;
}

bool LinkedMatcher::accept(TokenId token) {
    if (stopped() || token.v < 0 || token.v >= base_->vocabulary().size) return false;
    const bool stops = stops_.has(*base_, token);
    if (!stops && row_ && !near_ && top_->positions.size() == 1 && !top_->positions[0].budget.is_counted() &&
        !top_->positions[0].is_unique_item()) {
        Stage& stage = own();
        if (!stage.positions[0].matcher->accept(token)) return false;
        ++stage.n_steps;
        ++n_steps_;
        row_ = {};
        return true;
    }
    Positions after = linked().speaks_of_tokens() ? as_itself(token, copies(top_->positions)) : Positions();
    bool crossed = false;
    if (!stops && linked().tokens().is_text(token)) {
        const Bytes text = base_->vocabulary().text(token);
        if (after.empty() && !has_symbol_byte(text)) return accept_bytes(text, true);
        if (!has_symbol_byte(text))
            for (Position& position : read(text, true, crossed)) after.push_back(std::move(position));
        drop_equals(after);
    }
    if (!after.empty()) {
        if (too_many_values(after)) throw LimitExceeded("items of an array with uniqueItems", kMaxUniqueItems);
        push(std::move(after), false);
        top_->stopped = stops && !stops_.terminates_when_complete() && complete(top_->positions);
        return true;
    }
    if (!stops || stops_.terminates_when_complete() || !complete(top_->positions)) return false;
    push(copies(top_->positions), true);
    return true;
}

bool LinkedMatcher::complete(const Positions& positions) {
    Positions all = copies(positions);
    close(all, true);
    return std::any_of(all.begin(), all.end(),
                       [](const Position& position) { return !position.caller && can_read(*position.matcher, kSpelledEnd); });
}

bool LinkedMatcher::is_complete() { return stopped() || complete(top_->positions); }

std::string LinkedMatcher::forced_text() {
    if (stopped()) throw MatcherError("the matcher has terminated: a stop token was accepted; rollback() or reset() it first");
    LinkedMatcher here(*this);
    std::string out;
    try {
        while (out.size() < kMaxForced) {
            const Positions& positions = here.own().positions;
            const bool alone = positions.size() == 1;
            // Text alone does not say when the tokens of a part are exhausted, nor that an item is another one's.
            const bool is_text = std::none_of(positions.begin(), positions.end(),
                                              [](const Position& p) { return p.budget.is_counted() || p.is_unique_item(); });
            std::string piece = alone ? positions[0].matcher->forced_text() : std::string();
            if (piece.empty() && is_text) piece = here.forced_byte();
            if (piece.empty()) break;
            out += piece;
            if (!is_text || !here.accept_text({reinterpret_cast<const std::uint8_t*>(piece.data()), piece.size()})) break;
        }
    } catch (const LimitExceeded&) {
        // What was found is forced all the same.
    }
    return out;
}

// The byte that comes next, over boundaries or not; empty where the text may end or there is a choice.
std::string LinkedMatcher::forced_byte() {
    std::string only;
    if (is_complete()) return only;
    for (int i = 0; i < kFirstSymbolByte; ++i) {
        const auto byte = static_cast<std::uint8_t>((i + ' ') % kFirstSymbolByte);  // most choices have characters of ASCII
        bool crossed = false;
        if (read({&byte, 1}, false, crossed).empty()) continue;
        if (!only.empty()) return {};
        only.push_back(static_cast<char>(byte));
    }
    if (only.empty() || !linked().speaks_of_tokens()) return only;
    const MaskRow row = mask_row();  // a token that is named may come instead
    const auto tokens = cache().rows.tokens(row);
    const bool is_choice = std::any_of(tokens.begin(), tokens.end(), [&](TokenId t) { return !linked().tokens().is_text(t); });
    return is_choice ? std::string() : only;
}

std::vector<Terminal> LinkedMatcher::expected_terminals() {
    Positions all = copies(top_->positions);
    close(all, true);
    std::vector<Terminal> out;
    for (Position& position : all) {
        if (must_leave(position)) continue;
        Word first = 0;
        for (Word part = LinkedMachine::kFrame; part < position.part; ++part) first += linked().at(part)->lr().n_terminals;
        for (Terminal t : position.matcher->expected_terminals()) out.push_back({first + t.v});
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

}  // namespace psc
