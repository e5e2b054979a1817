// Positions in arrays whose items must differ (linked/unique_items.hpp).
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/errors.hpp"
#include "linked/matcher.hpp"

namespace psc {

namespace {

using Role = LinkedMachine::Role;

constexpr Word kOfOnePosition = -2;  // in the key of a row that is not cached
constexpr std::size_t kMaxBeginnings = 100'000;

}  // namespace

std::shared_ptr<const UniqueState> LinkedMatcher::begun_state(Word part) const {
    const Role role = linked().role(part);
    if (role == Role::text) return nullptr;
    auto state = std::make_shared<UniqueState>();
    state->is_item = role != Role::unique_array;
    return state;
}

// Of the items before; null where there is none.
const UniqueValues* LinkedMatcher::values_before(const Position& position) {
    const auto& array = position.unique->is_item ? position.caller->position.unique : position.unique;
    return array ? array->values.get() : nullptr;
}

// Of positions with equal contexts.
bool LinkedMatcher::same_values(const Position& a, const Position& b) {
    if (!a.unique || !b.unique) return a.unique == b.unique;
    if (a.unique->decoder != b.unique->decoder || a.unique->value != b.unique->value) return false;
    const UniqueValues *of_a = values_before(a), *of_b = values_before(b);
    return of_a == of_b || (of_a && of_b && *of_a == *of_b);
}

// Adds the item's value to those of its array, which goes on; false where it is one of them.
bool LinkedMatcher::end_item(const Position& item, Position& array) {
    const auto& before = array.unique->values;
    auto value = item.unique->ended_value();
    if (before && before->contains(value)) return false;
    auto state = std::make_shared<UniqueState>();
    state->values = std::make_shared<UniqueValues>(before, std::move(value));
    array.unique = std::move(state);
    return true;
}

bool LinkedMatcher::too_many_values(const Positions& positions) {
    return std::any_of(positions.begin(), positions.end(), [](const Position& position) {
        const UniqueValues* const values = position.unique ? values_before(position) : nullptr;
        return values && values->size() >= kMaxUniqueItems + (position.unique->is_item ? 0 : 1);
    });
}

// Follows an item's text; false where all that it can become is there.
bool LinkedMatcher::read_item(Position& position, Bytes bytes) const {
    auto state = std::make_shared<UniqueState>(*position.unique);
    state->read(bytes);
    position.unique = std::move(state);
    return has_other_value(position);
}

// Whether the item can become a value that is not there. Beginnings that spell the same are looked at once. Zeros behind a point may go
// on for ever, and spell the same if no other digit follows; if one can where the zeros repeat, there are endlessly many values.
bool LinkedMatcher::has_other_value(const Position& position) const {
    const UniqueValues* const values = values_before(position);
    const UniqueState& item = *position.unique;
    if (!values || values->beginning(item.value).empty()) return true;
    if (item.decoder.has_ended()) return !values->contains(item.value);
    if (item.decoder.is_string() &&
        item.decoder.characters(item.value.size()) < static_cast<std::size_t>(linked().runs_out_at(position.part)))
        return true;
    struct Beginning {
        std::unique_ptr<Matcher> matcher;
        UniqueState item;
    };
    using Spelling = std::tuple<UniqueValues::Value, ScalarDecoder, std::vector<Word>>;
    std::vector<Beginning> todo;
    std::map<Spelling, int> times;
    const auto begin = [&](const Matcher& matcher, UniqueState begun) {
        Spelling spelling{begun.value, begun.decoder.without_zeros(), {}};
        auto& content = std::get<2>(spelling);
        if (begun.decoder.ends_with_its_text() && !matcher.add_content(content)) content = {-2, static_cast<Word>(times.size())};
        if (times.size() > kMaxBeginnings) throw LimitExceeded("beginnings of items that must differ", kMaxBeginnings);
        const int n = ++times[std::move(spelling)];
        if (n > (begun.decoder.is_behind_point() ? 2 : 1)) return false;
        todo.push_back({std::make_unique<Matcher>(matcher), std::move(begun)});
        if (n == 1) return false;
        for (std::uint8_t digit = '1'; digit <= '9'; ++digit)
            if (can_read(*todo.back().matcher, {&digit, 1})) return true;
        return false;
    };
    begin(*position.matcher, item);
    while (!todo.empty()) {
        const Beginning at = std::move(todo.back());
        todo.pop_back();
        if (at.item.decoder.ends_with_its_text() && can_read(*at.matcher, kSpelledEnd) && !values->contains(at.item.ended_value()))
            return true;
        for (int i = 0; i < kFirstSymbolByte; ++i) {
            const auto byte = static_cast<std::uint8_t>((i + 0x20) % kFirstSymbolByte);  // blanks and letters first
            if (!at.matcher->accept_bytes({&byte, 1})) continue;
            UniqueState next = at.item;
            next.read({&byte, 1});
            const auto range = values->beginning(next.value);
            if (range.empty()) return true;
            if (next.decoder.has_ended()) {
                if (!values->has_end(range, next.value.size())) return true;
                at.matcher->rollback(1);
                continue;
            }
            if (begin(*at.matcher, std::move(next))) return true;
            at.matcher->rollback(1);
        }
    }
    return false;
}

bool LinkedMatcher::can_read_token(const Position& position, TokenId token) {
    const Bytes text = base_->vocabulary().text(token);
    Position within = position.copy();
    if (read_on(within, text, true)) return true;
    Positions across;
    read_across(position, text, true, across);
    if (!across.empty() || !linked().speaks_of_tokens()) return !across.empty();
    across.push_back(position.copy());
    return !as_itself(token, std::move(across)).empty();
}

// The position in an array of which nothing is known.
LinkedMatcher::Position LinkedMatcher::without_values(const Position& position) {
    Position out = position.copy();
    out.unique = nullptr;
    if (!position.unique->is_item) {
        out.unique = std::make_shared<UniqueState>();
        return out;
    }
    auto back = std::make_shared<Return>();
    back->position = position.caller->position.copy();
    back->position.unique = std::make_shared<UniqueState>();
    back->context = position.caller->context;
    out.caller = std::move(back);
    return out;
}

LinkedMachine::LinkedRow LinkedMatcher::unique_row(Position& position) {
    position.matcher->mask_row();  // which the copy has then
    const LinkedMachine::LinkedRow shared = shared_row(without_values(position));
    const UniqueValues* values = values_before(position);
    const UniqueState* item = position.unique->is_item ? position.unique.get() : nullptr;
    std::shared_ptr<const UniqueValues> with_own;
    if (item && item->decoder.has_ended()) {
        with_own = std::make_shared<UniqueValues>(position.caller->position.unique->values, item->value);
        values = with_own.get();
        item = nullptr;
    }
    const VocabularyIndex& index = linked().tokens();
    const UniqueWalk walk(index, values, item, linked().runs_out_at(position.part));
    auto words = std::make_unique_for_overwrite<std::uint32_t[]>(base_->n_words());
    cache_->rows.copy(shared.row, words.get());
    const auto allowed = [&](TokenId token) { return (words[token.index() >> 5] >> (token.index() & 31) & 1) != 0; };
    std::vector<TokenId> tokens;
    walk.add_tokens(tokens);
    for (TokenId token : linked().repeating_tokens().tokens())
        if (allowed(token) && walk.may_repeat(base_->vocabulary().text(token))) tokens.push_back(token);
    std::erase_if(tokens, [&](TokenId token) { return !allowed(token) || can_read_token(position, token); });
    if (tokens.empty()) return shared;
    for (TokenId token : tokens) words[token.index() >> 5] &= ~(1u << (token.index() & 31));
    const MaskRow inner = position.matcher->mask_row();
    return linked().add(*cache_, position.matcher->shared_cache(), {position.part, inner, kOfOnePosition}, words, shared);
}

}  // namespace psc
