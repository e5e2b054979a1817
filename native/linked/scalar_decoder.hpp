// Reads a string, a number, true, false or null of JSON byte by byte as units: equal values have equal units, however they are spelled,
// and what is read of a value has a beginning of its units.
//
//   "a\u0062"       "ab        a quote, and the characters in UTF-16
//   -10.50, -105e-1 0-105e-1   a 0, the sign, the digits without zeros around them, and the power of ten once the number has ended
//   true            true
//
// Zeros are kept until another digit follows, and the sign until the first digit that is not 0.
//
// Cost: constant for each byte. Threads: immutable but for read().
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>

namespace psc {

// Digits that most values have none of: empty, they cost a pointer, and copies of them nothing. As a string in each decoder they made
// masks of strings that must differ a fifth slower.
class SeldomDigits {
public:
    SeldomDigits() = default;
    SeldomDigits(const SeldomDigits& other) : digits_(other.digits_ ? std::make_unique<std::string>(*other.digits_) : nullptr) {}
    SeldomDigits(SeldomDigits&&) = default;
    SeldomDigits& operator=(SeldomDigits other) {
        digits_ = std::move(other.digits_);
        return *this;
    }
    ~SeldomDigits() = default;

    void add(char digit) {
        if (!digits_) digits_ = std::make_unique<std::string>();
        digits_->push_back(digit);
    }
    bool empty() const { return !digits_; }
    // Not empty.
    const std::string& operator*() const { return *digits_; }
    bool operator==(const SeldomDigits& other) const { return (*this <=> other) == 0; }
    std::strong_ordering operator<=>(const SeldomDigits& other) const {
        if (!digits_ || !other.digits_) return !empty() <=> !other.empty();
        return *digits_ <=> *other.digits_;
    }

private:
    std::unique_ptr<std::string> digits_;
};

class ScalarDecoder {
public:
    using Units = std::u16string;

    // Appends the units that the byte completes. The text is one: others have checked that.
    void read(std::uint8_t byte, Units& units);
    // Whether the value is a string that has ended.
    bool has_ended() const { return state_ == State::ended; }
    // Whether the value is a number or a word, which has no end of its own, and this byte is none of it.
    bool ends_before(std::uint8_t byte) const;
    bool is_string() const { return state_ == State::inside || state_ == State::escape || state_ == State::ended; }
    // Whether the byte is certainly neither of the value nor behind it.
    bool is_other(std::uint8_t byte) const;
    bool ends_with_its_text() const { return state_ == State::number || state_ == State::word; }
    // Whether the byte is a character of a string, and a unit.
    bool takes_as_it_is(std::uint8_t byte) const {
        return state_ == State::inside && left_ == 0 && byte < 0x80 && byte != '"' && byte != '\\';
    }
    // Appends the units that the end of the value completes.
    void end(Units& units) const;
    static bool begins_with(std::uint8_t byte);
    // Of a string that has come to `n_units`: its characters, and the one that has begun. A surrogate pair counts twice, so there may
    // be fewer.
    std::size_t characters(std::size_t n_units) const { return n_units - (n_units > 0) + is_within(); }
    // Whether the value is a number behind whose point zeros may repeat.
    bool is_behind_point() const { return state_ == State::number && is_behind_point_ && !is_power_; }
    // The same without zeros that stand last behind a point.
    ScalarDecoder without_zeros() const;
    auto operator<=>(const ScalarDecoder&) const = default;

private:
    enum class State : std::uint8_t { before, inside, escape, ended, number, word };
    bool is_within() const { return left_ > 0 || state_ == State::escape; }
    void read_number(std::uint8_t byte, Units& units);
    void read_text(std::uint8_t byte, Units& units);

    State state_ = State::before;
    // Of a string.
    bool is_hex_ = false;
    std::uint8_t left_ = 0;  // bytes of the character, or digits
    std::uint32_t character_ = 0;
    // Of a number.
    bool is_negative_ = false, has_digits_ = false, is_behind_point_ = false, is_power_ = false, is_power_negative_ = false;
    std::int64_t zeros_ = 0;   // behind the digits
    std::int64_t places_ = 0;  // behind the point, zeros among them
    SeldomDigits power_;       // without zeros before them
};

}  // namespace psc
