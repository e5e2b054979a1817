#include "patterns/ecma_escapes.hpp"

#include "base/elided.hpp"
#include "text/general_categories.hpp"

namespace psc {

namespace {

bool is_ecma_digit(char32_t c) { return c >= U'0' && c <= U'9'; }
bool is_ecma_letter(char32_t c) { return (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z'); }

// WhiteSpace and LineTerminator of ECMA-262: \t \n \v \f \r, the category Zs, U+2028, U+2029 and U+FEFF.
CodePointSet ecma_spaces() {
    return {9,      13,     0x20,   0x20,   0xA0,   0xA0,   0x1680, 0x1680, 0x2000, 0x200A,
            0x2028, 0x2029, 0x202F, 0x202F, 0x205F, 0x205F, 0x3000, 0x3000, 0xFEFF, 0xFEFF};
}

}  // namespace

CodePointSet ecma_word_characters() { return {'0', '9', 'A', 'Z', '_', '_', 'a', 'z'}; }

CodePointSet EcmaEscapes::outside_class() { return escape(false).set; }

CodePointSet EcmaEscapes::character_class() {
    const std::size_t opened = at_++;
    const bool negative = at_ < text_.size() && text_[at_] == U'^';
    if (negative) ++at_;
    CodePointSet ranges;
    while (true) {
        if (at_ >= text_.size()) throw PatternError("this class is not closed", opened);
        if (text_[at_] == U']') break;
        const std::size_t position = at_;
        const Member left = class_member(opened);
        ranges.insert(ranges.end(), left.set.begin(), left.set.end());
        if (at_ + 1 >= text_.size() || text_[at_] != U'-' || text_[at_ + 1] == U']') continue;
        ++at_;
        const Member right = class_member(opened);
        if (left.single && right.single) {
            if (left.set[0] > right.set[0]) throw PatternError("the range's ends are out of order", position);
            ranges.insert(ranges.end(), {left.set[0], right.set[0]});
        } else {  // [\w-.]
            ranges.insert(ranges.end(), {'-', '-'});
            ranges.insert(ranges.end(), right.set.begin(), right.set.end());
        }
    }
    ++at_;
    const CodePointSet set = united_ranges(ranges);
    return negative ? other_code_points(set) : set;
}

EcmaEscapes::Member EcmaEscapes::class_member(std::size_t opened) {
    if (at_ >= text_.size()) throw PatternError("this class is not closed", opened);
    if (text_[at_] == U'\\') return escape(true);
    const Word c = static_cast<Word>(text_[at_++]);
    return {{c, c}, true};
}

EcmaEscapes::Member EcmaEscapes::escape(bool in_class) {
    const std::size_t position = at_++;
    if (at_ >= text_.size()) throw PatternError("the pattern ends with a backslash", position);
    const char32_t c = text_[at_++];
    const auto single = [](Word code_point) { return Member{{code_point, code_point}, true}; };
    const auto set = [](const CodePointSet& s, bool negative) { return Member{negative ? other_code_points(s) : s, false}; };
    switch (c) {
        case U'd':
        case U'D':
            return set({'0', '9'}, c == U'D');
        case U'w':
        case U'W':
            return set(ecma_word_characters(), c == U'W');
        case U's':
        case U'S':
            return set(ecma_spaces(), c == U'S');
        case U'p':
        case U'P':
            return {property(c == U'P'), false};
        case U't':
            return single('\t');
        case U'n':
            return single('\n');
        case U'v':
            return single('\v');
        case U'f':
            return single('\f');
        case U'r':
            return single('\r');
        case U'b':
            if (in_class) return single('\b');
            unknown(c, position);
        case U'c':
            if (at_ >= text_.size() || !is_ecma_letter(text_[at_])) throw PatternError("after \\c comes a letter", position);
            return single(static_cast<Word>(text_[at_++]) % 32);
        case U'x':
            if (const auto value = hexadecimal(2)) return single(*value);
            throw PatternError("after \\x come two hexadecimal digits", position);
        case U'u':
            return single(unicode_escape());
        case U'k':
            throw PatternError("backreferences are not supported", position);
        default:
            break;
    }
    if (c == U'0' && (at_ >= text_.size() || !is_ecma_digit(text_[at_]))) return single(0);
    if (is_ecma_digit(c)) {
        if (in_class || c == U'0') throw PatternError("octal escapes are not of ECMA-262; write \\x00", position);
        throw PatternError("backreferences are not supported", position);
    }
    if (is_ecma_letter(c)) unknown(c, position);
    return single(static_cast<Word>(c));
}

void EcmaEscapes::unknown(char32_t c, std::size_t position) const {
    std::string message = std::string("\\") + static_cast<char>(c) + " means nothing in ECMA-262";
    if (c == U'A') message += "; write ^ for the start";
    if (c == U'Z' || c == U'z') message += "; write $ for the end";
    throw PatternError(message, position);
}

CodePointSet EcmaEscapes::property(bool negative) {
    const std::size_t position = at_ - 2;
    const std::size_t end = text_.find(U'}', at_);
    if (at_ >= text_.size() || text_[at_] != U'{' || end == text_.npos)
        throw PatternError("after \\p comes a property in braces, as in \\p{L}", position);
    std::string name;
    for (char32_t c : text_.substr(at_ + 1, end - at_ - 1)) name.push_back(c < 0x80 ? static_cast<char>(c) : '?');
    at_ = end + 1;
    const auto set = general_category(name);
    if (!set)
        throw PatternError(
            "the property " + elided(name, 60) + " is not supported; general categories such as L, Lu, Nd, and ASCII and Any are",
            position);
    return negative ? other_code_points(*set) : *set;
}

// After \u: four digits, two such escapes for a surrogate pair, or digits in braces.
Word EcmaEscapes::unicode_escape() {
    const std::size_t position = at_ - 2;
    if (at_ < text_.size() && text_[at_] == U'{') {
        std::size_t i = at_ + 1;
        Word value = 0;
        const std::size_t begin = i;
        for (; i < text_.size() && text_[i] != U'}'; ++i) {
            const char32_t c = text_[i];
            const Word digit = is_ecma_digit(c)           ? static_cast<Word>(c - U'0')
                               : (c >= U'a' && c <= U'f') ? static_cast<Word>(c - U'a' + 10)
                               : (c >= U'A' && c <= U'F') ? static_cast<Word>(c - U'A' + 10)
                                                          : -1;
            if (digit < 0 || value * 16 + digit > 0x10FFFF) break;
            value = value * 16 + digit;
        }
        if (i >= text_.size() || text_[i] != U'}' || i == begin) throw PatternError("\\u{...} is no code point", position);
        at_ = i + 1;
        return value;
    }
    const auto value = hexadecimal(4);
    if (!value) throw PatternError("after \\u come four hexadecimal digits, or some in braces", position);
    if (*value < 0xD800 || *value > 0xDBFF || !text_.substr(at_).starts_with(U"\\u")) return *value;
    const std::size_t opened_at = at_;
    at_ += 2;
    const auto low = hexadecimal(4);
    if (low && *low >= 0xDC00 && *low <= 0xDFFF) return 0x10000 + ((*value - 0xD800) << 10) + (*low - 0xDC00);
    at_ = opened_at;
    return *value;
}

// Exactly `digits` digits, or none.
std::optional<Word> EcmaEscapes::hexadecimal(std::size_t digits) {
    if (text_.size() - at_ < digits) return std::nullopt;
    Word value = 0;
    for (char32_t c : text_.substr(at_, digits)) {
        if (is_ecma_digit(c))
            value = value * 16 + static_cast<Word>(c - U'0');
        else if (c >= U'a' && c <= U'f')
            value = value * 16 + static_cast<Word>(c - U'a') + 10;
        else if (c >= U'A' && c <= U'F')
            value = value * 16 + static_cast<Word>(c - U'A') + 10;
        else
            return std::nullopt;
    }
    at_ += digits;
    return value;
}

}  // namespace psc
