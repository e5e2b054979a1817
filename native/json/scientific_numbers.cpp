#include "json/scientific_numbers.hpp"

#include <algorithm>

#include "json/number_bounds.hpp"
#include "text/exploration.hpp"

namespace psc {

namespace {

// How what has been read compares; the numbers are parts of a state's first word.
enum Comparison : Word { kLess, kEqual, kGreater };

// A state's first word is one of these, and comparisons with it. Its second word counts digits, up to the bound's.
enum ScientificPhase : Word {
    kBegin,
    kFirstDigit,  // of the mantissa
    kPoint,
    kFraction,
    kMarked,  // after e
    kSigned,
    kZeros,   // of the exponent, in front
    kDigits,  // of the exponent
    kTooMany,
};

struct ScientificState {
    ScientificPhase phase;
    Comparison mantissa, exponent;
    bool minus;
    Word count;

    std::pair<Word, Word> packed() const { return {((phase * 3 + mantissa) * 3 + exponent) * 2 + minus, count}; }
    static ScientificState unpacked(std::pair<Word, Word> p) {
        return {static_cast<ScientificPhase>(p.first / 18), static_cast<Comparison>(p.first / 6 % 3),
                static_cast<Comparison>(p.first / 2 % 3), p.first % 2 != 0, p.second};
    }
};

Comparison compared_digits(Word digit, Word other) { return digit < other ? kLess : digit > other ? kGreater : kEqual; }

TextAutomaton scientific_magnitudes(const Decimal& bound, Compared wanted, std::size_t max_states) {
    if (bound.digits.size() > max_states) throw LimitExceeded("digits of a number that is written out", max_states);
    const std::string& digits = bound.digits;
    const Word n = static_cast<Word>(digits.size());
    const std::int64_t exponent = bound.places_before_point() - 1;
    const bool small = exponent < 0;  // the bound's exponent has a minus sign
    std::string exponent_digits = exponent == 0 ? "" : std::to_string(small ? -exponent : exponent);
    const Word n_exponent = static_cast<Word>(exponent_digits.size());

    // Of the number, where the exponents' magnitudes compare so.
    const auto result = [&](const ScientificState& s, Comparison exponents) {
        if (n == 0) return kGreater;  // than zero
        Comparison signed_exponents = exponents;
        if (small)
            signed_exponents = !s.minus ? kGreater : static_cast<Comparison>(kGreater - exponents);
        else if (s.minus)
            signed_exponents = n_exponent == 0 && exponents == kEqual ? kEqual : kLess;
        return signed_exponents == kEqual ? s.mantissa : signed_exponents;
    };
    const auto is_wanted = [&](Comparison c) { return c == kLess ? wanted.less : c == kGreater ? wanted.greater : wanted.equal; };

    return explored(ScientificState{kBegin, kEqual, kEqual, false, 0}.packed(), max_states,
                    [&](std::pair<Word, Word> p, const auto& arc) {
                        const ScientificState s = ScientificState::unpacked(p);
                        const auto to = [&](Word first, Word last, ScientificState next) { arc(first, last, next.packed()); };
                        // A digit beside the bound's: one that it does not have is 0.
                        const auto mantissa_digits = [&](Word from, ScientificPhase phase) {
                            for (Word d = from; d <= '9'; ++d) {
                                ScientificState next = s;
                                next.phase = phase;
                                next.count = std::min(s.count + 1, n);
                                if (s.mantissa == kEqual) next.mantissa = compared_digits(d, s.count < n ? digits[s.count] : '0');
                                if (next.mantissa != kEqual) next.count = 0;
                                to(d, d, next);
                            }
                        };
                        const auto mark = [&] {
                            ScientificState next{kMarked, s.mantissa, kEqual, false, 0};
                            if (s.mantissa == kEqual && s.count < n) next.mantissa = kLess;
                            to('E', 'E', next);
                            to('e', 'e', next);
                        };
                        const auto exponent_digit = [&](Word from) {
                            if (from == '0') {
                                ScientificState zeros = s;
                                zeros.phase = kZeros;
                                to('0', '0', zeros);
                            }
                            for (Word d = '1'; d <= '9'; ++d) {
                                ScientificState next = s;
                                next.phase = n_exponent == 0 ? kTooMany : kDigits;
                                next.count = n_exponent == 0 ? 0 : 1;
                                next.exponent = n_exponent == 0 ? kGreater : compared_digits(d, exponent_digits[0]);
                                to(d, d, next);
                            }
                        };
                        switch (s.phase) {
                            case kBegin:
                                mantissa_digits('1', kFirstDigit);
                                return false;
                            case kFirstDigit: {
                                ScientificState point = s;
                                point.phase = kPoint;
                                to('.', '.', point);
                                mark();
                                return false;
                            }
                            case kPoint:
                                mantissa_digits('0', kFraction);
                                return false;
                            case kFraction:
                                mantissa_digits('0', kFraction);
                                mark();
                                return false;
                            case kMarked: {
                                ScientificState next = s;
                                next.phase = kSigned;
                                to('+', '+', next);
                                next.minus = true;
                                to('-', '-', next);
                                exponent_digit('0');
                                return false;
                            }
                            case kSigned:
                                exponent_digit('0');
                                return false;
                            case kZeros:
                                exponent_digit('0');
                                return is_wanted(result(s, n_exponent == 0 ? kEqual : kLess));
                            case kDigits:
                                for (Word d = '0'; d <= '9'; ++d) {
                                    ScientificState next = s;
                                    if (s.count == n_exponent) {
                                        next.phase = kTooMany;
                                        next.count = 0;
                                        next.exponent = kGreater;
                                    } else {
                                        ++next.count;
                                        if (s.exponent == kEqual) next.exponent = compared_digits(d, exponent_digits[s.count]);
                                    }
                                    to(d, d, next);
                                }
                                return is_wanted(result(s, s.count < n_exponent ? kLess : s.exponent));
                            default:  // kTooMany
                                to('0', '9', s);
                                return is_wanted(result(s, kGreater));
                        }
                    });
}

}  // namespace

TextAutomaton scientific_numbers() {
    static const auto& numbers = *new TextAutomaton([] {
        const TextAutomaton all = scientific_magnitudes({}, {true, true, true}, kMaxTextStates);
        return with_signs(all, all);
    }());
    return numbers;
}

TextAutomaton scientific_equal_to(const Decimal& value, std::size_t max_states) {
    return equal_on_both_sides(value, [&](Compared wanted) { return scientific_magnitudes(value, wanted, max_states); });
}

TextAutomaton scientific_at_least(const Decimal& bound, bool exclusive, std::size_t max_states) {
    return beyond(bound, false, exclusive, [&](Compared wanted) { return scientific_magnitudes(bound, wanted, max_states); });
}

TextAutomaton scientific_at_most(const Decimal& bound, bool exclusive, std::size_t max_states) {
    return beyond(bound, true, exclusive, [&](Compared wanted) { return scientific_magnitudes(bound, wanted, max_states); });
}

}  // namespace psc
