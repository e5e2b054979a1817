#include "linked/scalar_decoder.hpp"

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace psc {

namespace {

// Digits of a number above 0, and the number plus something.
std::string sum(std::string digits, std::int64_t more) {
    for (std::size_t i = digits.size(); more != 0 && i-- > 0;) {
        std::int64_t digit = digits[i] - '0' + more % 10;
        more /= 10;
        if (digit < 0) digit += 10, --more;
        if (digit > 9) digit -= 10, ++more;
        digits[i] = static_cast<char>('0' + digit);
    }
    return more > 0 ? std::to_string(more) + digits : digits.erase(0, digits.find_first_not_of('0'));
}

}  // namespace

bool ScalarDecoder::begins_with(std::uint8_t byte) { return byte != 0 && std::strchr("\"-0123456789tfn", byte) != nullptr; }

bool ScalarDecoder::ends_before(std::uint8_t byte) const {
    return ends_with_its_text() && std::string_view(" \t\n\r,]}").find(static_cast<char>(byte)) != std::string_view::npos;
}

bool ScalarDecoder::is_other(std::uint8_t byte) const {
    return state_ == State::number && !ends_before(byte) &&
           std::string_view("0123456789.eE+-").find(static_cast<char>(byte)) == std::string_view::npos;
}

void ScalarDecoder::read(std::uint8_t byte, Units& units) {
    switch (state_) {
        case State::before:
            if (byte == '-' || (byte >= '0' && byte <= '9')) {
                state_ = State::number;
                units.push_back(u'0');
                return read_number(byte, units);
            }
            state_ = byte == '"' ? State::inside : State::word;
            units.push_back(byte);
            return;
        case State::number:
            return read_number(byte, units);
        case State::word:
            units.push_back(byte);
            return;
        case State::ended:
            return;
        case State::inside:
        case State::escape:
            return read_text(byte, units);
    }
}

void ScalarDecoder::read_number(std::uint8_t byte, Units& units) {
    if (byte < '0' || byte > '9') {
        if (byte == '-') (is_power_ ? is_power_negative_ : is_negative_) = true;
        if (byte == '.') is_behind_point_ = true;
        if (byte == 'e' || byte == 'E') {
            is_power_ = true;
            places_ = has_digits_ ? places_ - std::exchange(zeros_, 0) : 0;
        }
        return;
    }
    if (is_power_) {
        if (has_digits_ && !(power_.empty() && byte == '0')) power_.add(static_cast<char>(byte));
        return;
    }
    places_ += is_behind_point_;
    if (byte == '0') {
        zeros_ += has_digits_;
        return;
    }
    if (!has_digits_ && is_negative_) units.push_back(u'-');
    has_digits_ = true;
    units.append(static_cast<std::size_t>(std::exchange(zeros_, 0)), u'0');
    units.push_back(byte);
}

void ScalarDecoder::read_text(std::uint8_t byte, Units& units) {
    if (left_ > 0) {
        if (is_hex_) {
            const int digit = byte <= '9' ? byte - '0' : (byte | 0x20) - 'a' + 10;
            character_ = character_ << 4 | static_cast<std::uint32_t>(digit & 0xf);
        } else {
            character_ = character_ << 6 | (byte & 0x3fu);
        }
        if (--left_ > 0) return;
        const std::uint32_t c = std::exchange(character_, 0);
        is_hex_ = false;
        if (c >= 0x10000) units.push_back(static_cast<char16_t>(0xd7c0 + (c >> 10)));
        units.push_back(static_cast<char16_t>(c >= 0x10000 ? 0xdc00 | (c & 0x3ff) : c));
        return;
    }
    if (state_ == State::escape) {
        state_ = State::inside;
        if (byte == 'u') {
            is_hex_ = true;
            left_ = 4;
            return;
        }
        constexpr char kShort[] = "bfnrt", kMeant[] = "\b\f\n\r\t";
        const char* const found = static_cast<const char*>(std::memchr(kShort, byte, 5));
        units.push_back(static_cast<std::uint8_t>(found ? kMeant[found - kShort] : byte));
        return;
    }
    if (byte == '"') {
        state_ = State::ended;
    } else if (byte == '\\') {
        state_ = State::escape;
    } else if (byte < 0x80) {
        units.push_back(byte);
    } else {
        left_ = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
        character_ = byte & (0x3fu >> left_);
    }
}

void ScalarDecoder::end(Units& units) const {
    if (state_ != State::number) return;
    units.push_back(u'e');
    if (!has_digits_) return;
    const std::int64_t shift = zeros_ - places_;
    std::string power = std::to_string(is_power_negative_ ? -shift : shift);
    // A shift has fewer digits than a long power.
    if (!power_.empty()) {
        const std::int64_t more = is_power_negative_ ? -shift : shift;
        power = (*power_).size() > 18 ? sum(*power_, more) : std::to_string(std::stoll(*power_) + more);
    }
    if (is_power_negative_) power = power.front() == '-' ? power.substr(1) : power == "0" ? power : "-" + power;
    units.append(power.begin(), power.end());
}

ScalarDecoder ScalarDecoder::without_zeros() const {
    ScalarDecoder out = *this;
    if (is_behind_point()) {
        out.places_ = has_digits_ ? places_ - zeros_ : 0;
        out.zeros_ = 0;
    }
    return out;
}

}  // namespace psc
