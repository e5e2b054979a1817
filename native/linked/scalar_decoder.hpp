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
#include <string>

namespace psc {

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
    // Characters of a string, if the one that has begun is one, of a text that has come to so many units; at least as many as there are.
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
    std::string power_;        // digits, without zeros before them
};

}  // namespace psc
