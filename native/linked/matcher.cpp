#include "linked/matcher.hpp"

#include <algorithm>
#include <atomic>

#include "base/errors.hpp"
#include "base/sole_owner.hpp"

namespace psc {

namespace {

constexpr SpelledSymbol kSpelledEnd = spelled_symbol(kEndOfPart), kSpelledSpentEnd = spelled_symbol(kSpentEnd);

}  // namespace

// A long chain is let go of one by one, not by recursion.
LinkedMatcher::Stage::~Stage() {
    while (below && is_sole_owner(below)) {
        auto next = std::move(below->below);
        below = std::move(next);
    }
}

LinkedMatcher::Return::~Return() {
    auto below = std::move(place.below);
    while (below && is_sole_owner(below)) {
        auto next = std::move(const_cast<Return&>(*below).place.below);
        below = std::move(next);
    }
}

LinkedMatcher::LinkedMatcher(std::shared_ptr<LinkedMachine> machine) : TextMatcher(std::move(machine)) { reset(); }

LinkedMatcher::LinkedMatcher(const LinkedMatcher& other)
    : TextMatcher(other),
      most_steps_(other.most_steps_),
      top_(std::make_shared<Stage>()),
      n_steps_(other.n_steps_),
      near_(other.near_) {
    top_->below = other.top_->below;
    top_->places = copies(other.top_->places);
    top_->n_steps = other.top_->n_steps;
    top_->n_tokens = other.top_->n_tokens;
    top_->stopped = other.top_->stopped;
}

void LinkedMatcher::reset() {
    top_ = std::make_shared<Stage>();
    top_->places.push_back({nullptr, LinkedMachine::kFrame, begin_part(LinkedMachine::kFrame)});
    n_steps_ = 0;
    row_ = {};
}

std::unique_ptr<Matcher> LinkedMatcher::begin_part(Word part) const {
    auto matcher = std::make_unique<Matcher>(linked().at(part));
    if (most_steps_) matcher->set_most_steps(*most_steps_);
    return matcher;
}

LinkedMatcher::Places LinkedMatcher::copies(const Places& places) {
    Places out;
    out.reserve(places.size());
    for (const Place& place : places) out.push_back(place.copy());
    return out;
}

LinkedMatcher::Stage& LinkedMatcher::own() {
    if (!is_sole_owner(top_)) {
        auto copy = std::make_shared<Stage>();
        copy->below = top_->below;
        copy->places = copies(top_->places);
        copy->n_steps = top_->n_steps;
        copy->n_tokens = top_->n_tokens;
        copy->stopped = top_->stopped;
        top_ = std::move(copy);
    }
    return *top_;
}

void LinkedMatcher::push(Places places, bool stopped, bool token) {
    auto stage = std::make_shared<Stage>();
    stage->below = top_;
    stage->n_tokens = top_->n_tokens + token;
    stage->places = std::move(places);
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
    for (Place& place : stage.places) place.at->rollback(n);
    stage.n_steps -= n;
}

Word LinkedMatcher::context_of(const Place& place) {
    static std::atomic<Word> last{-2};
    std::vector<Word> content{place.part, place.below ? place.below->context : -1, place.fresh};
    if (!place.at->add_content(content)) return --last;
    return linked().context(content);
}

// --- boundaries

void LinkedMatcher::add_called(const Place& place, Places& out) {
    Place within = place.copy();
    if (!within.at->accept_bytes(kCallBytes)) return;
    // The rest of the call's symbol says which part; the bytes that can stand there are few.
    for (Word high = 0; high < kMaxParts / 64; ++high) {
        const SpelledSymbol first = spelled_symbol(kFirstCall + high * 64);
        if (!within.at->accept_bytes({&first[2], 1})) continue;
        for (Word part = high * 64; part < std::min(high * 64 + 64, linked().n_parts()); ++part) {
            const SpelledSymbol symbol = spelled_symbol(kFirstCall + part);
            if (!within.at->accept_bytes({&symbol[3], 1})) continue;
            auto back = std::make_shared<Return>();
            back->place = within.copy();
            back->place.fresh = false;  // what it calls is over when something was read
            back->context = context_of(back->place);
            if (place.is_counted()) {
                back->can_end = can_read(*back->place.at, kSpelledEnd);
                back->can_end_spent = linked().has_spent_end(place.part) && can_read(*back->place.at, kSpelledSpentEnd);
            }
            within.at->rollback(1);
            const Word most = linked().most_tokens(part);
            const bool counts = most != LinkedMachine::kAnyNumber;
            const Count deadline = counts ? std::min(place.deadline, now() + most) : place.deadline;
            out.push_back({std::move(back), part, begin_part(part), now(), deadline, counts});
            if (out.size() > kMaxPlaces) throw LimitExceeded("places of a text in linked grammars", kMaxPlaces);
        }
        within.at->rollback(1);
    }
}

void LinkedMatcher::add_ended(const Place& place, bool starts, Places& out) {
    if (!place.below || place.fresh) return;
    if (can_read(*place.at, kSpelledEnd) ||
        (starts && is_spent(place) && linked().has_spent_end(place.part) && can_read(*place.at, kSpelledSpentEnd)))
        out.push_back(place.below->place.copy());
}

void LinkedMatcher::add_crossed(const Place& place, bool starts, Places& out) {
    if (!starts || !must_leave(place)) add_called(place, out);
    add_ended(place, starts, out);
}

// From the inside out, as long as each can end.
bool LinkedMatcher::must_leave(const Place& place) const {
    if (!is_spent(place) || place.fresh) return false;
    bool can_end = can_read(*place.at, kSpelledEnd);
    bool can_end_spent = !can_end && linked().has_spent_end(place.part) && can_read(*place.at, kSpelledSpentEnd);
    for (const Place* at = &place; is_spent(*at) && (can_end || can_end_spent);) {
        if (is_spent_itself(*at)) return true;
        const Return& back = *at->below;
        at = &back.place;
        can_end = back.can_end;
        can_end_spent = back.can_end_spent;
    }
    return false;
}

bool LinkedMatcher::has_as_many_left(const Place& place, const Place& other) const {
    const auto left = [&](const Place& p) { return std::max<Count>(linked().most_tokens(p.part) - (now() - p.begun), 0); };
    bool has_spent_end = false;  // to which it is no use to have more
    for (const Place *a = &place, *b = &other; a->is_counted(); a = &a->below->place, b = &b->below->place) {
        has_spent_end |= linked().has_spent_end(a->part);
        if (linked().most_tokens(a->part) == LinkedMachine::kAnyNumber) continue;
        const Count mine = left(*a), theirs = left(*b);
        if (mine < theirs || (mine > theirs && has_spent_end)) return false;
    }
    return true;
}

std::vector<Word> LinkedMatcher::spent_content(const Place& place) const {
    std::vector<Word> levels{linked().has_spent_end(place.part) && can_read(*place.at, kSpelledSpentEnd)};
    for (const Place* at = &place; at->is_counted(); at = &at->below->place)
        if (linked().most_tokens(at->part) != LinkedMachine::kAnyNumber) levels.push_back(is_spent_itself(*at));
    return levels;
}

void LinkedMatcher::close(Places& places, bool starts) {
    Places todo = std::move(places);
    places.clear();
    Distinct distinct(*this, places);
    for (std::size_t i = 0; i < todo.size(); ++i) {  // which grows
        Place* const place = distinct.add(std::move(todo[i]));
        if (!place) continue;
        if (places.size() > kMaxPlaces) throw LimitExceeded("places of a text in linked grammars", kMaxPlaces);
        Places crossed;
        add_crossed(*place, starts, crossed);
        for (Place& next : crossed) todo.push_back(std::move(next));
    }
}

void LinkedMatcher::drop_equals(Places& places) {
    if (places.size() < 2) return;
    Places all = std::move(places);
    places.clear();
    Distinct distinct(*this, places);
    for (Place& place : all) distinct.add(std::move(place));
}

LinkedMatcher::Place* LinkedMatcher::Distinct::add(Place place) {
    if (places_.empty()) {  // mostly there is no other one
        places_.push_back(std::move(place));
        return &places_.back();
    }
    if (contexts_.empty()) contexts_.push_back(matcher_.context_of(places_[0]));
    const Word context = matcher_.context_of(place);
    for (std::size_t i = 0; i < places_.size();) {
        if (contexts_[i] == context && matcher_.has_as_many_left(places_[i], place)) return nullptr;
        if (contexts_[i] == context && matcher_.has_as_many_left(place, places_[i])) {
            places_.erase(places_.begin() + static_cast<std::ptrdiff_t>(i));
            contexts_.erase(contexts_.begin() + static_cast<std::ptrdiff_t>(i));
            continue;
        }
        ++i;
    }
    places_.push_back(std::move(place));
    contexts_.push_back(context);
    return &places_.back();
}

void LinkedMatcher::read_across(const Place& place, Bytes bytes, bool token, Places& out) {
    Place within = place.copy();
    Places behind;
    bool alive = true;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const bool starts = token && i == 0;
        if (alive) add_crossed(within, starts, behind);
        close(behind, starts);
        const Bytes byte = bytes.subspan(i, 1);
        std::erase_if(behind, [&](Place& b) { return !read_on(b, byte, starts); });
        alive = alive && read_on(within, byte, starts);
        if (!alive && behind.empty()) return;
    }
    for (Place& b : behind) out.push_back(std::move(b));
}

// Reads bytes without a boundary before the last of them.
bool LinkedMatcher::read_on(Place& place, Bytes bytes, bool starts) const {
    if ((starts && must_leave(place)) || !place.at->accept_bytes(bytes)) return false;
    place.fresh = false;
    return true;
}

LinkedMatcher::Places LinkedMatcher::read(Bytes bytes, bool token, bool& crossed) {
    Places out;
    for (const Place& place : top_->places) {
        Place within = place.copy();
        if (read_on(within, bytes, token)) out.push_back(std::move(within));
    }
    const std::size_t n = out.size();
    for (const Place& place : top_->places) read_across(place, bytes, token, out);
    crossed = out.size() > n;
    drop_equals(out);
    return out;
}

bool LinkedMatcher::accept_bytes(Bytes bytes, bool token) {
    bool crossed = false;
    Places after = read(bytes, token, crossed);
    if (after.empty()) return false;
    if (!crossed && after.size() == 1 && top_->places.size() == 1 && !after[0].is_counted()) {
        Stage& stage = own();
        stage.places[0].at->accept_bytes(bytes);
        ++stage.n_steps;
        ++n_steps_;
        row_ = {};
        return true;
    }
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

// The places after a token that is asked for as such. Each machine has its own symbols.
LinkedMatcher::Places LinkedMatcher::as_itself(TokenId token) {
    Places all = copies(top_->places);
    close(all, true);
    std::erase_if(all, [&](Place& place) {
        const Word* symbols = place.at->machine()->vocabulary().symbols;
        return !symbols || symbols[token.index()] < 0 || !read_on(place, spelled_symbol(symbols[token.index()]), true);
    });
    drop_equals(all);
    return all;
}

bool LinkedMatcher::accept(TokenId token) {
    if (stopped() || token.v < 0 || token.v >= base_->vocabulary().size) return false;
    const bool stops = stops_.has(*base_, token);
    if (!stops && row_ && !near_ && top_->places.size() == 1 && !top_->places[0].is_counted()) {
        Stage& stage = own();
        if (!stage.places[0].at->accept(token)) return false;
        ++stage.n_steps;
        ++n_steps_;
        row_ = {};
        return true;
    }
    Places after = linked().speaks_of_tokens() ? as_itself(token) : Places();
    bool crossed = false;
    if (!stops && linked().tokens().is_text(token)) {
        const Bytes text = base_->vocabulary().text(token);
        if (after.empty() && !has_symbol_byte(text)) return accept_bytes(text, true);
        if (!has_symbol_byte(text))
            for (Place& place : read(text, true, crossed)) after.push_back(std::move(place));
        drop_equals(after);
    }
    if (!after.empty()) {
        push(std::move(after), false);
        top_->stopped = stops && !stops_.terminates_when_complete() && complete(top_->places);
        return true;
    }
    if (!stops || stops_.terminates_when_complete() || !complete(top_->places)) return false;
    push(copies(top_->places), true);
    return true;
}

bool LinkedMatcher::complete(const Places& places) {
    Places all = copies(places);
    close(all, true);
    return std::any_of(all.begin(), all.end(), [](const Place& place) { return !place.below && can_read(*place.at, kSpelledEnd); });
}

bool LinkedMatcher::is_complete() { return stopped() || complete(top_->places); }

std::string LinkedMatcher::forced_text() {
    if (stopped()) throw MatcherError("the matcher has terminated: a stop token was accepted; rollback() or reset() it first");
    // A boundary is a choice to the matcher of a part, unless it is all there is.
    if (top_->places.size() > 1) return {};
    return own().places[0].at->forced_text();
}

std::vector<Terminal> LinkedMatcher::expected_terminals() {
    Places all = copies(top_->places);
    close(all, true);
    std::vector<Terminal> out;
    for (Place& place : all) {
        if (must_leave(place)) continue;
        Word first = 0;
        for (Word part = LinkedMachine::kFrame; part < place.part; ++part) first += linked().at(part)->lr().n_terminals;
        for (Terminal t : place.at->expected_terminals()) out.push_back({first + t.v});
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

}  // namespace psc
