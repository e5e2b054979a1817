#include "linked/unique_items.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/sole_owner.hpp"

namespace psc {

UniqueValues::UniqueValues(std::shared_ptr<const UniqueValues> before, Value value)
    : before_(std::move(before)), last_(std::move(value)) {
    if (before_) sorted_ = before_->sorted_;
    const auto at = std::lower_bound(sorted_.begin(), sorted_.end(), last_, [](const Value* a, const Value& b) { return *a < b; });
    sorted_.insert(at, &last_);
}

// A long chain is destroyed in a loop: recursion would overflow the stack.
UniqueValues::~UniqueValues() {
    auto before = std::move(before_);
    while (before && is_sole_owner(before)) {
        auto next = std::move(const_cast<UniqueValues&>(*before).before_);
        before = std::move(next);
    }
}

UniqueValues::Range UniqueValues::narrowed(Range range, std::size_t depth, char16_t unit) const {
    const auto of = [&](const Value* value) { return value->size() > depth ? static_cast<int>((*value)[depth]) : -1; };
    const auto first = sorted_.begin() + static_cast<std::ptrdiff_t>(range.first),
               last = sorted_.begin() + static_cast<std::ptrdiff_t>(range.last);
    const auto low = std::partition_point(first, last, [&](const Value* value) { return of(value) < unit; });
    const auto high = std::partition_point(low, last, [&](const Value* value) { return of(value) == unit; });
    return {static_cast<std::size_t>(low - sorted_.begin()), static_cast<std::size_t>(high - sorted_.begin())};
}

UniqueValues::Range UniqueValues::beginning(const Value& value) const {
    Range range = all();
    for (std::size_t i = 0; i < value.size() && !range.empty(); ++i) range = narrowed(range, i, value[i]);
    return range;
}

bool UniqueValues::operator==(const UniqueValues& other) const {
    return std::equal(sorted_.begin(), sorted_.end(), other.sorted_.begin(), other.sorted_.end(),
                      [](const Value* a, const Value* b) { return *a == *b; });
}

JsonStringDecoder::Units JsonStringDecoder::read(std::uint8_t byte) {
    const auto one = [](std::uint32_t unit) { return Units{1, {static_cast<char16_t>(unit), 0}}; };
    if (left_ > 0) {
        if (is_hex_) {
            const int digit = byte <= '9' ? byte - '0' : (byte | 0x20) - 'a' + 10;
            character_ = character_ << 4 | static_cast<std::uint32_t>(digit & 0xf);
        } else {
            character_ = character_ << 6 | (byte & 0x3fu);
        }
        if (--left_ > 0) return {};
        const std::uint32_t c = std::exchange(character_, 0);
        is_hex_ = false;
        if (c < 0x10000) return one(c);
        return {2, {static_cast<char16_t>(0xd7c0 + (c >> 10)), static_cast<char16_t>(0xdc00 | (c & 0x3ff))}};
    }
    switch (state_) {
        case State::before:
            state_ = State::inside;
            return {};
        case State::ended:
            return {};
        case State::escape: {
            state_ = State::inside;
            if (byte == 'u') {
                is_hex_ = true;
                left_ = 4;
                return {};
            }
            constexpr char kShort[] = "bfnrt", kMeant[] = "\b\f\n\r\t";
            const char* const found = static_cast<const char*>(std::memchr(kShort, byte, 5));
            return one(found ? static_cast<std::uint8_t>(kMeant[found - kShort]) : byte);
        }
        case State::inside:
            break;
    }
    if (byte == '"') {
        state_ = State::ended;
        return {};
    }
    if (byte == '\\') {
        state_ = State::escape;
        return {};
    }
    if (byte < 0x80) return one(byte);
    left_ = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
    character_ = byte & (0x3fu >> left_);
    return {};
}

void UniqueState::read(std::span<const std::uint8_t> bytes) {
    for (std::uint8_t byte : bytes) {
        const auto units = decoder.read(byte);
        value.append(units.unit, units.n);
    }
}

RepeatingTokens::RepeatingTokens(const VocabularyIndex& index) {
    for (TokenId token{0}; token.v < index.n_tokens(); ++token.v) {
        if (!index.is_text(token)) continue;
        const std::uint8_t *at = index.bytes().data() + index.offsets()[token.index()], *const end =
                                                                                            index.bytes().data() +
                                                                                            index.offsets()[token.index() + 1];
        // The end of an item, a comma, the quote of the next one, and something in it.
        for (char mark : {'"', ',', '"'}) {
            at = std::find(at, end, static_cast<std::uint8_t>(mark));
            if (at != end) ++at;
        }
        if (at != end) tokens_.push_back(token);
    }
}

// Where a token's bytes lead: between items, or in one.
struct UniqueWalk::Place {
    bool in_item;
    JsonStringDecoder decoder;
    UniqueValues::Range range;  // of the values that begin like the item
    std::size_t depth;          // units of it
};

UniqueWalk::UniqueWalk(const VocabularyIndex& index, const UniqueValues* values, const UniqueState* item, Word runs_out_at)
    : index_(index), values_(values), item_(item), runs_out_at_(static_cast<std::size_t>(runs_out_at)) {}

// One byte. `off`: no value is like this; `hit`: the item has ended and is one.
UniqueWalk::Outcome UniqueWalk::step(Place& place, std::uint8_t byte) const {
    if (!place.in_item) {
        if (byte == '"') {
            place = {true, {}, values_->all(), 0};
            place.decoder.read(byte);
            return Outcome::on;
        }
        constexpr char kBetween[] = " \t\n\r,[";
        return std::memchr(kBetween, byte, 6) ? Outcome::on : Outcome::off;
    }
    const auto units = place.decoder.read(byte);
    for (std::uint8_t i = 0; i < units.n; ++i) place.range = values_->narrowed(place.range, place.depth++, units.unit[i]);
    if (place.range.empty()) return Outcome::off;
    if (!place.decoder.has_ended()) return Outcome::on;
    return values_->has_end(place.range, place.depth) ? Outcome::hit : Outcome::off;
}

void UniqueWalk::add_tokens(std::vector<TokenId>& out) const {
    if (!values_) return;
    Place first{false, {}, values_->all(), 0};
    if (item_) first = {true, item_->decoder, values_->beginning(item_->value), item_->value.size()};
    if (first.range.empty()) return;
    std::vector<Place> path;
    const auto add = [&](Word from, Word to) {
        for (Word i = from; i < to; ++i) out.push_back(index_.token_at(i));
    };
    for (VocabularyNode n{0}; n < index_.end();) {
        const auto& node = index_[n];
        path.resize(node.depth - std::size_t{1}, first);
        Place place = path.empty() ? first : path.back();
        const Outcome outcome = step(place, node.byte);
        if (outcome == Outcome::hit) add(node.first_token, index_.tokens_begin(node.end));
        if (outcome != Outcome::on) {
            n = node.end;
            continue;
        }
        if (place.in_item && place.decoder.characters(place.depth) >= runs_out_at_) add(node.first_token, index_.own_tokens_end(n));
        path.push_back(place);
        ++n.v;
    }
}

bool UniqueWalk::may_repeat(std::span<const std::uint8_t> token) const {
    UniqueState item;
    if (item_) item = *item_;
    bool in_item = item_ != nullptr;
    std::vector<UniqueValues::Value> own;
    const auto is_value = [&](const UniqueValues::Value& value) {
        return (values_ && values_->contains(value)) || std::find(own.begin(), own.end(), value) != own.end();
    };
    const auto begins_one = [&](const UniqueValues::Value& value) {
        return (values_ && !values_->beginning(value).empty()) ||
               std::any_of(own.begin(), own.end(), [&](const auto& other) { return other.starts_with(value); });
    };
    for (std::uint8_t byte : token) {
        if (in_item && item.decoder.has_ended()) {
            if (is_value(item.value)) return true;
            own.push_back(std::move(item.value));
            in_item = false;
        }
        if (!in_item) {
            if (byte != '"') continue;
            item = {};
            in_item = true;
        }
        item.read({&byte, 1});
    }
    if (!in_item) return false;
    if (item.decoder.has_ended()) return is_value(item.value);
    return item.decoder.characters(item.value.size()) >= runs_out_at_ && begins_one(item.value);
}

}  // namespace psc
