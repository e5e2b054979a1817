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

void UniqueState::read(std::span<const std::uint8_t> bytes) {
    for (std::uint8_t byte : bytes) decoder.read(byte, value);
}

UniqueValues::Value UniqueState::ended_value() const {
    UniqueValues::Value out = value;
    decoder.end(out);
    return out;
}

RepeatingTokens::RepeatingTokens(const VocabularyIndex& index, bool only_strings) {
    for (TokenId token{0}; token.v < index.n_tokens(); ++token.v) {
        if (!index.is_text(token)) continue;
        const std::uint8_t *at = index.bytes().data() + index.offsets()[token.index()], *const end =
                                                                                            index.bytes().data() +
                                                                                            index.offsets()[token.index() + 1];
        if (!only_strings) {
            if (std::any_of(std::find(at, end, std::uint8_t{','}), end, ScalarDecoder::begins_with)) tokens_.push_back(token);
            continue;
        }
        // The end of an item, a comma, the quote of the next one, and something in it.
        for (char mark : {'"', ',', '"'}) {
            at = std::find(at, end, static_cast<std::uint8_t>(mark));
            if (at != end) ++at;
        }
        if (at != end) tokens_.push_back(token);
    }
}

UniqueWalk::UniqueWalk(const VocabularyIndex& index, const UniqueValues* values, const UniqueState* item, Word runs_out_at)
    : index_(index), values_(values), item_(item), runs_out_at_(static_cast<std::size_t>(runs_out_at)) {
    if (item) first_ = {true, item->decoder, values ? values->beginning(item->value) : UniqueValues::Range{}, item->value.size()};
}

void UniqueWalk::narrow(Place& place, std::u16string_view units) const {
    for (char16_t unit : units) place.range = values_->narrowed(place.range, place.depth++, unit);
}

// One byte. `off`: no value is like this; `hit`: the item has ended and is one.
UniqueWalk::Outcome UniqueWalk::step(Place& place, std::uint8_t byte) const {
    if (!place.in_item) {
        constexpr char kBetween[] = " \t\n\r,[";
        if (std::memchr(kBetween, byte, 6)) return Outcome::on;
        if (!ScalarDecoder::begins_with(byte)) return Outcome::off;
        place = {true, {}, values_->all(), 0};
    }
    if (place.decoder.is_other(byte)) return Outcome::off;
    UniqueValues::Value units;
    const bool ends = place.decoder.ends_before(byte);
    if (ends)
        place.decoder.end(units);
    else
        place.decoder.read(byte, units);
    narrow(place, units);
    if (place.range.empty()) return Outcome::off;
    if (!ends && !place.decoder.has_ended()) return Outcome::on;
    return values_->has_end(place.range, place.depth) ? Outcome::hit : Outcome::off;
}

void UniqueWalk::add_tokens(std::vector<TokenId>& out) const {
    if (!values_) return;
    if (first_.in_item && first_.range.empty()) return;
    std::vector<Place> path;
    const auto add = [&](Word from, Word to) {
        for (Word i = from; i < to; ++i) out.push_back(index_.token_at(i));
    };
    for (VocabularyNode n{0}; n < index_.end();) {
        const auto& node = index_[n];
        path.resize(node.depth - std::size_t{1}, first_);
        const Place& before = path.empty() ? first_ : path.back();
        // Most bytes are characters with which no value goes on.
        if (before.in_item && before.decoder.takes_as_it_is(node.byte) &&
            values_->narrowed(before.range, before.depth, node.byte).empty()) {
            n = node.end;
            continue;
        }
        Place place = before;
        const Outcome outcome = step(place, node.byte);
        if (outcome == Outcome::hit) add(node.first_token, index_.tokens_begin(node.end));
        if (outcome != Outcome::on) {
            n = node.end;
            continue;
        }
        if (place.in_item && may_run_out(place.decoder, place.depth)) add(node.first_token, index_.own_tokens_end(n));
        path.push_back(std::move(place));
        ++n.v;
    }
}

bool UniqueWalk::may_repeat(std::span<const std::uint8_t> token) const {
    bool in_item = first_.in_item;
    ScalarDecoder decoder = first_.decoder;
    UniqueValues::Value value;  // as far as it was read of the item, by the token
    std::vector<UniqueValues::Value> own;
    const auto is_there = [&](const UniqueValues::Value& whole) {
        return (values_ && values_->contains(whole)) || std::find(own.begin(), own.end(), whole) != own.end();
    };
    for (std::uint8_t byte : token) {
        if (in_item && (decoder.has_ended() || decoder.ends_before(byte))) {
            decoder.end(value);
            if (item_ && own.empty()) value.insert(0, item_->value);
            if (is_there(value)) return true;
            own.push_back(std::exchange(value, {}));
            in_item = false;
        }
        if (!in_item) {
            if (!ScalarDecoder::begins_with(byte)) continue;
            decoder = {};
            in_item = true;
        }
        decoder.read(byte, value);
    }
    // add_tokens() has the tokens that end no item.
    if (!in_item || own.empty()) return false;
    if (decoder.has_ended()) return is_there(value);
    return may_run_out(decoder, value.size()) &&
           ((values_ && !values_->beginning(value).empty()) ||
            std::any_of(own.begin(), own.end(), [&](const auto& other) { return other.starts_with(value); }));
}

}  // namespace psc
