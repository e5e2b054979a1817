#include "json/numbers.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "base/limits.hpp"
#include "text/exploration.hpp"

namespace psc {

namespace {

constexpr int kMaxExponentDigits = limit("json_exponent_digits");
constexpr std::int64_t kTooLargeExponent = [] {
    std::int64_t power = 1;
    for (int i = 0; i < kMaxExponentDigits; ++i) power *= 10;
    return power;
}();

// The digits of a magnitude before the point (at least one) and after it.
struct WrittenOut {
    std::string whole, fraction;

    WrittenOut(const Decimal& d, std::size_t max_states) {
        const std::int64_t before = d.places_before_point(), after = -d.exponent;
        if (std::max(before, after) > static_cast<std::int64_t>(max_states / 3))
            throw LimitExceeded("digits of a number that is written out", max_states / 3);
        const std::string& digits = d.digits;
        if (before <= 0) {
            whole = "0";
            if (!digits.empty()) fraction = std::string(static_cast<std::size_t>(-before), '0') + digits;
        } else if (after <= 0) {
            whole = digits + std::string(static_cast<std::size_t>(d.exponent), '0');
        } else {
            whole = digits.substr(0, static_cast<std::size_t>(before));
            fraction = digits.substr(static_cast<std::size_t>(before));
        }
    }
};

// A set of results of comparing a magnitude with a bound's.
struct Compared {
    bool less, equal, greater;
};

// The unsigned numbers whose comparison with a magnitude is in a set. Before the point, a state is the comparison of the digits so
// far with as many of the bound's, and their count; a number with more digits than the bound is greater.
TextAutomaton plain_magnitudes(const Decimal& bound, Compared wanted, std::size_t max_states) {
    const WrittenOut written(bound, max_states);
    const Word n = static_cast<Word>(written.whole.size()), f = static_cast<Word>(written.fraction.size());
    enum Phase : Word {
        start,
        zero,
        less_so_far,
        equal_so_far,
        greater_so_far,
        longer,
        less_fraction,
        equal_fraction,
        greater_fraction
    };
    const auto whole_result = [&](Word comparison, Word count) {  // of what has ended before a point
        if (count < n || comparison == less_so_far) return less_so_far;
        if (comparison == greater_so_far || comparison == longer) return greater_so_far;
        return equal_so_far;
    };
    const auto is_wanted = [&](Word comparison) {
        return comparison == less_so_far ? wanted.less : comparison == greater_so_far ? wanted.greater : wanted.equal;
    };
    const auto at_end = [&](Word comparison) { return is_wanted(comparison == equal_so_far && f > 0 ? less_so_far : comparison); };
    const auto expand = [&](std::pair<Word, Word> state, const auto& arc) {
        const auto [phase, i] = state;
        const auto point = [&](Word comparison) {
            if (comparison == equal_so_far)
                arc('.', '.', {equal_fraction, 0});
            else if (is_wanted(comparison))
                arc('.', '.', {comparison == less_so_far ? less_fraction : greater_fraction, 0});
        };
        // The next digit beside one of the bound's.
        const auto beside = [&](Word from, Word digit, std::pair<Word, Word> less, std::pair<Word, Word> equal,
                                std::pair<Word, Word> greater) {
            if (from < digit) arc(from, digit - 1, less);
            if (from <= digit) arc(digit, digit, equal);
            if (std::max(from, digit + 1) <= '9') arc(std::max(from, digit + 1), '9', greater);
        };
        switch (phase) {
            case start: {
                const Word digit = written.whole[0];
                const Word of_zero = n > 1 || digit > '0' ? less_so_far : equal_so_far;
                arc('0', '0', {zero, of_zero});
                beside('1', digit, {less_so_far, 1}, {equal_so_far, 1}, {greater_so_far, 1});
                return false;
            }
            case zero:
                point(i);
                return at_end(i);
            case less_so_far:
            case equal_so_far:
            case greater_so_far: {
                const Word result = whole_result(phase, i);
                point(result);
                if (i == n)
                    arc('0', '9', {longer, 0});
                else if (phase == equal_so_far)
                    beside('0', written.whole[i], {less_so_far, i + 1}, {equal_so_far, i + 1}, {greater_so_far, i + 1});
                else
                    arc('0', '9', {phase, i + 1});
                return at_end(result);
            }
            case longer:
                if (!wanted.greater) return false;
                point(greater_so_far);
                arc('0', '9', {longer, 0});
                return true;
            case equal_fraction: {
                // After the bound's last digit, and before any digit: f and 0; f + 1 once there is one.
                if (i < f)
                    beside('0', written.fraction[i], {less_fraction, 1}, {equal_fraction, i + 1}, {greater_fraction, 1});
                else
                    beside('0', '0', {less_fraction, 1}, {equal_fraction, f + 1}, {greater_fraction, 1});
                return i > 0 && is_wanted(i < f ? less_so_far : equal_so_far);
            }
            default: {  // less_fraction, greater_fraction
                const bool fits = phase == less_fraction ? wanted.less : wanted.greater;
                if (fits) arc('0', '9', {phase, 1});
                return fits && i > 0;
            }
        }
    };
    return explored({start, 0}, max_states, expand);
}

const Decimal& kDecimalZero = *new Decimal{};

// The one set's magnitudes with a minus sign, the other's without.
TextAutomaton with_signs(const TextAutomaton& negative, const TextAutomaton& positive) {
    TextAutomaton draft = TextAutomaton::drafted();
    if (!is_empty(negative)) draft.add_arc('-', '-', positive.size());
    const auto append = [&](const TextAutomaton& a, Word offset) {
        for (Word s = 0; s < a.size(); ++s) {
            for (Word i = a.offsets[s]; i < a.offsets[s + 1]; ++i)
                draft.add_arc(a.arcs[i].first, a.arcs[i].last, a.arcs[i].to + offset);
            draft.add_state(a.accepts[s]);
        }
    };
    append(positive, 0);
    append(negative, positive.size());
    return minimal(draft);
}

TextAutomaton with_signs_alike(const TextAutomaton& magnitudes) { return with_signs(magnitudes, magnitudes); }

// Numbers at least as large as the bound; `downwards`: at most. x >= -3 is any magnitude without a sign, or one that is at most 3 with
// a minus sign.
TextAutomaton beyond(const Decimal& bound, bool downwards, bool exclusive, std::size_t max_states) {
    const auto magnitudes = [&](Compared wanted) { return plain_magnitudes(bound, wanted, max_states); };
    const auto on_sides = [&](const TextAutomaton& near, const TextAutomaton& far) {
        return downwards ? with_signs(near, far) : with_signs(far, near);
    };
    if (bound.is_zero()) return on_sides(magnitudes({false, !exclusive, true}), magnitudes({false, !exclusive, false}));
    if (bound.negative == downwards) return on_sides(magnitudes({false, !exclusive, true}), no_text());
    return on_sides(magnitudes({true, true, true}), magnitudes({true, !exclusive, false}));
}

}  // namespace

bool Decimal::operator==(const Decimal& other) const { return compare(*this, other) == 0; }

Decimal parse_decimal(std::string_view text) {
    std::size_t at = 0;
    const auto is_digit = [&] { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
    const auto require = [&](bool sound) {
        if (!sound) throw std::invalid_argument("not a number of JSON");
    };
    Decimal d;
    if (at < text.size() && text[at] == '-') {
        d.negative = true;
        ++at;
    }
    require(is_digit());
    const std::size_t first = at;
    while (is_digit()) d.digits.push_back(text[at++]);
    require(text[first] != '0' || at == first + 1);
    if (at < text.size() && text[at] == '.') {
        ++at;
        require(is_digit());
        for (; is_digit(); --d.exponent) d.digits.push_back(text[at++]);
    }
    std::int64_t written = 0;
    bool too_large = false;
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        ++at;
        const bool negative = at < text.size() && text[at] == '-';
        if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
        require(is_digit());
        for (; is_digit(); ++at) {
            written = written * 10 + (text[at] - '0');
            if (written >= kTooLargeExponent) {
                too_large = true;
                written = 0;
            }
        }
        if (negative) written = -written;
    }
    require(at == text.size());
    d.digits.erase(0, std::min(d.digits.find_first_not_of('0'), d.digits.size()));
    if (d.is_zero()) return {};
    if (too_large) throw LimitExceeded("digits of a number's exponent", kMaxExponentDigits);
    d.exponent += written;
    while (d.digits.back() == '0') {
        d.digits.pop_back();
        ++d.exponent;
    }
    return d;
}

int compare(const Decimal& a, const Decimal& b) {
    const auto sign = [](const Decimal& d) { return d.is_zero() ? 0 : d.negative ? -1 : 1; };
    if (sign(a) != sign(b)) return sign(a) < sign(b) ? -1 : 1;
    if (a.is_zero()) return 0;
    const std::int64_t places = a.places_before_point() - b.places_before_point();
    const int magnitude = places != 0 ? (places < 0 ? -1 : 1) : a.digits.compare(b.digits);
    return magnitude == 0 ? 0 : (magnitude < 0) == a.negative ? 1 : -1;
}

TextAutomaton plain_numbers() {
    static const auto& numbers =
        *new TextAutomaton(with_signs_alike(plain_magnitudes(kDecimalZero, {true, true, true}, kMaxTextStates)));
    return numbers;
}

TextAutomaton integers() {
    static const auto& numbers = *new TextAutomaton(multiples_of(parse_decimal("1")));
    return numbers;
}

TextAutomaton integers_without_fraction() {
    static const auto& numbers = *new TextAutomaton([] {
        TextAutomaton draft = TextAutomaton::drafted();
        draft.add_arc('-', '-', 1);
        draft.add_arc('0', '0', 2);
        draft.add_arc('1', '9', 3);
        draft.add_state(false);
        draft.add_arc('0', '0', 2);
        draft.add_arc('1', '9', 3);
        draft.add_state(false);
        draft.add_state(true);
        draft.add_arc('0', '9', 3);
        draft.add_state(true);
        return minimal(draft);
    }());
    return numbers;
}

TextAutomaton equal_to(const Decimal& value, std::size_t max_states) {
    const TextAutomaton equal = plain_magnitudes(value, {false, true, false}, max_states);
    if (value.is_zero()) return with_signs_alike(equal);
    return value.negative ? with_signs(equal, no_text()) : with_signs(no_text(), equal);
}

// As texts without zeros at the end of a fraction, and then with these; a million automata united cost ten times as much.
TextAutomaton equal_to_any(std::span<const Decimal> values, std::size_t max_states) {
    if (values.size() == 1) return equal_to(values[0]);
    std::vector<std::u32string> whole, fractions;
    for (const Decimal& value : values) {
        const WrittenOut written(value, kMaxTextStates);
        const auto add = [&](bool negative) {
            std::u32string text(negative ? U"-" : U"");
            text.append(written.whole.begin(), written.whole.end());
            if (!written.fraction.empty()) text.push_back(U'.');
            text.append(written.fraction.begin(), written.fraction.end());
            (written.fraction.empty() ? whole : fractions).push_back(std::move(text));
        };
        add(value.negative);
        if (value.is_zero()) add(true);
    }
    const TextAutomaton zeros = repeated(of_texts({U"0"}), 0, -1);
    const TextAutomaton point = concatenation(of_texts({U".0"}), zeros);
    const auto with = [&](std::vector<std::u32string> texts, const TextAutomaton& rest) {
        return texts.empty() ? no_text() : concatenation(of_texts(std::move(texts), max_states), rest, max_states);
    };
    return union_of(with(std::move(whole), union_of(point, of_texts({U""}))), with(std::move(fractions), zeros), max_states);
}

TextAutomaton at_least(const Decimal& bound, bool exclusive, std::size_t max_states) {
    return beyond(bound, false, exclusive, max_states);
}

TextAutomaton at_most(const Decimal& bound, bool exclusive, std::size_t max_states) {
    return beyond(bound, true, exclusive, max_states);
}

// The divisor is m times 10^e. For e >= 0 a state is the remainder by m of the digits but the zeros at the end, of which there are
// up to e, and how many of these there are. For e < 0 it is how many digits after the point have been read, and the remainder of
// all digits: with p more to come, by m over its common divisor with 10^p, as the same remainders by that are the same in the end.
TextAutomaton multiples_of(const Decimal& divisor, std::size_t max_states) {
    if (divisor.is_zero()) throw std::invalid_argument("there are no multiples of 0");
    constexpr const char* kRemainders = "remainders of a number by multipleOf";
    const std::int64_t limit = static_cast<std::int64_t>(max_states);
    const std::int64_t places = divisor.exponent < 0 ? -divisor.exponent : divisor.exponent;
    if (divisor.digits.size() > 15 || places >= limit) throw LimitExceeded(kRemainders, max_states);
    std::int64_t m = 0;
    for (char c : divisor.digits) m = m * 10 + (c - '0');
    const bool is_whole = divisor.exponent >= 0;
    const Word kept = is_whole ? static_cast<Word>(places) : 0, after_point = is_whole ? 0 : static_cast<Word>(places);
    // Per count of digits after the point, what the remainder is by.
    std::vector<std::int64_t> moduli(static_cast<std::size_t>(after_point) + 1, m);
    for (std::size_t i = moduli.size() - 1; i > 0; --i) moduli[i - 1] = moduli[i] / std::gcd(moduli[i], std::int64_t{10});
    std::int64_t states = 0;
    for (std::int64_t modulus : moduli)
        if ((states += modulus * (kept + 1)) > limit) throw LimitExceeded(kRemainders, max_states);
    std::vector<std::int64_t> powers{1 % moduli[0]};  // of ten, by the modulus of digits before the point
    for (Word i = 0; i < kept; ++i) powers.push_back(powers.back() * 10 % moduli[0]);

    // Otherwise a phase is a remainder: before the point from first_whole on, after it from first_fraction on.
    enum Phase : Word { start, zero, zeros_begin, zeros, first_whole };
    const Word first_fraction = first_whole + static_cast<Word>(moduli[0]);
    const auto whole_digit = [&](std::int64_t r, Word zeros_before, Word digit) -> std::pair<Word, Word> {
        if (digit == 0 && zeros_before < kept) return {first_whole + static_cast<Word>(r), zeros_before + 1};
        const std::int64_t read = digit == 0 ? r * 10 : r * powers[zeros_before] % moduli[0] * 10 + digit;
        return {first_whole + static_cast<Word>(read % moduli[0]), digit == 0 ? zeros_before : 0};
    };
    const TextAutomaton unsigned_multiples =
        explored({start, 0}, max_states + first_whole, [&](std::pair<Word, Word> state, const auto& arc) {
            const auto [phase, place] = state;
            if (phase == start) {
                arc('0', '0', {zero, 0});
                for (Word digit = 1; digit < 10; ++digit) arc('0' + digit, '0' + digit, whole_digit(0, 0, digit));
                return false;
            }
            if (phase == zeros_begin || phase == zeros) {  // after the point, where only zeros may come
                arc('0', '0', {zeros, 0});
                return phase == zeros;
            }
            if (phase < first_fraction) {
                const std::int64_t r = phase == zero ? 0 : phase - first_whole;
                const bool divides = phase == zero || (r == 0 && place == kept);
                if (!is_whole)
                    arc('.', '.', {first_fraction + static_cast<Word>(r), 0});
                else if (divides)
                    arc('.', '.', {zeros_begin, 0});
                if (phase != zero)
                    for (Word digit = 0; digit < 10; ++digit) arc('0' + digit, '0' + digit, whole_digit(r, place, digit));
                return divides;
            }
            const std::int64_t r = phase - first_fraction;
            if (place == after_point) {
                if (r == 0) arc('0', '0', {zeros, 0});
                return r == 0;
            }
            for (Word digit = 0; digit < 10; ++digit)
                arc('0' + digit, '0' + digit,
                    {first_fraction + static_cast<Word>((r * 10 + digit) % moduli[place + 1]), place + 1});
            return place > 0 && r == 0;
        });
    return with_signs_alike(unsigned_multiples);
}

}  // namespace psc
