#include "json/string_formats.hpp"

#include <array>
#include <mutex>
#include <string>

#include "base/cancellation.hpp"
#include "json/strings.hpp"
#include "patterns/ecma_pattern.hpp"

namespace psc {

namespace {

using PatternText = std::u32string;

TextAutomaton whole_text(const PatternText& pattern) { return pattern_automaton(U"^(?:" + pattern + U")$"); }

PatternText format_number(int n) {
    PatternText digits;
    for (char c : std::to_string(n)) digits.push_back(static_cast<char32_t>(c));
    return digits;
}

PatternText two_digits(int n) { return {static_cast<char32_t>(U'0' + n / 10), static_cast<char32_t>(U'0' + n % 10)}; }

// --- dates and times

const PatternText& kFullDate = *new PatternText(
    U"(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))"
    U"|(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)");

// The local times at which it is 23:59 in UTC, with their offsets. A zone's offset has been of whole minutes since there are leap
// seconds, and nearly all are of half hours: with those of single minutes the automaton would have 8,000 states.
PatternText leap_second() {
    PatternText options = U"23:59:60(?:\\.\\d+)?[Zz]";
    for (int local = 29; local < 24 * 60; local += 30) {
        const int east = (local + 1) % (24 * 60), west = (24 * 60 - east) % (24 * 60);
        const auto clock = [](int minutes) { return two_digits(minutes / 60) + U":" + two_digits(minutes % 60); };
        options += U"|";
        options += clock(local) + U":60(?:\\.\\d+)?(?:\\+" + clock(east) + U"|-" + clock(west) + U")";
    }
    return options;
}

PatternText full_time() {
    return U"(?:(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d+)?(?:[Zz]|[+\\-](?:[01]\\d|2[0-3]):[0-5]\\d)|" + leap_second() + U")";
}

const PatternText& kDuration = *new PatternText([] {
    const PatternText time = U"T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S)";
    const PatternText date = U"(?:\\d+Y(?:\\d+M(?:\\d+D)?)?|\\d+M(?:\\d+D)?|\\d+D)";
    return U"P(?:" + date + U"(?:" + time + U")?|" + time + U"|\\d+W)";
}());

// --- addresses

const PatternText& kIpv4 =
    *new PatternText(U"(?:(?:\\d|[1-9]\\d|1\\d\\d|2[0-4]\\d|25[0-5])\\.){3}(?:\\d|[1-9]\\d|1\\d\\d|2[0-4]\\d|25[0-5])");

PatternText ipv6() {
    const PatternText group = U"[0-9A-Fa-f]{1,4}", last = U"(?:" + group + U":" + group + U"|" + kIpv4 + U")";
    PatternText options = U"(?:" + group + U":){6}" + last;
    for (int after = 5; after >= 0; --after) {  // groups after the two colons, but the last two
        const int before = 5 - after;
        const PatternText left =
            before == 0 ? PatternText() : U"(?:(?:" + group + U":){0," + format_number(before - 1) + U"}" + group + U")?";
        options += U"|" + left + U"::(?:" + group + U":){" + format_number(after) + U"}" + last;
    }
    options += U"|(?:(?:" + group + U":){0,5}" + group + U")?::" + group;
    options += U"|(?:(?:" + group + U":){0,6}" + group + U")?::";
    return U"(?:" + options + U")";
}

const PatternText& kHostLabel = *new PatternText(U"[0-9A-Za-z](?:[0-9A-Za-z\\-]{0,61}[0-9A-Za-z])?");

// With `more` wherever a letter may be.
PatternText mailbox(const PatternText& more) {
    const PatternText atom = U"[0-9A-Za-z!#$%&'*+\\-/=?^_`{|}~" + more + U"]+";
    const PatternText quoted = U"\"(?:[ !#-\\[\\]-~" + more + U"]|\\\\[ -~])*\"";
    const PatternText letter = U"[0-9A-Za-z" + more + U"]";
    const PatternText label = letter + U"(?:[0-9A-Za-z\\-" + more + U"]*" + letter + U")?";
    return U"(?:" + atom + U"(?:\\." + atom + U")*|" + quoted + U")@(?:" + label + U"(?:\\." + label + U")*|\\[(?:" + kIpv4 +
           U"|[Ii][Pp][Vv]6:" + ipv6() + U")\\])";
}

const PatternText& kBeyondAscii = *new PatternText(U"\\x80-\\u{10FFFF}");

// A label may have any character beyond ASCII but full stops and some that RFC 5892 disallows, and may not begin with a mark.
PatternText idn_hostname() {
    const PatternText full_stop = U"[.\\u3002\\uFF0E\\uFF61]";
    const PatternText never = U"\\x80-\\xB6\\xB8-\\xBF\\u0640\\u07FA\\u302E\\u302F\\u3031-\\u3035\\u303B\\u3002\\uFF0E\\uFF61";
    const PatternText letter = U"(?![" + never + U"])[0-9A-Za-z\\x80-\\u{10FFFF}]";
    const PatternText inner = U"(?!l\\xB7(?!l)|[^l]\\xB7)(?![" + never + U"])[0-9A-Za-z\\-\\x80-\\u{10FFFF}]";
    const PatternText label = U"(?![\\p{M}\\xB7])(?=" + letter + U")(?:" + inner + U"){0,62}" + letter;
    return label + U"(?:" + full_stop + label + U")*";
}

// --- identifiers of resources

// What RFC 3987 has beyond RFC 3986: ucschar, and iprivate in queries.
const PatternText& kUcsChar = *new PatternText([] {
    PatternText ranges = U"\\xA0-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFEF";
    for (char32_t plane = 1; plane <= 14; ++plane) {
        ranges += static_cast<char32_t>(plane * 0x10000 + (plane == 14 ? 0x1000 : 0));
        ranges += U'-';
        ranges += static_cast<char32_t>(plane * 0x10000 + 0xFFFD);
    }
    return ranges;
}());
const PatternText& kIPrivate = *new PatternText(U"\\uE000-\\uF8FF\\u{F0000}-\\u{FFFFD}\\u{100000}-\\u{10FFFD}");

struct ResourceSyntax {
    PatternText absolute, reference;

    ResourceSyntax(const PatternText& more, const PatternText& more_in_query) {
        const PatternText percent = U"%[0-9A-Fa-f]{2}", plain = U"0-9A-Za-z\\-._~!$&'()*+,;=" + more;
        const PatternText segment_character = U"(?:[" + plain + U":@]|" + percent + U")";
        const PatternText host = U"(?:\\[(?:" + ipv6() + U"|[Vv][0-9A-Fa-f]+\\.[0-9A-Za-z\\-._~!$&'()*+,;=:]+)\\]|(?:[" + plain +
                                 U"]|" + percent + U")*)";
        const PatternText authority = U"(?:(?:[" + plain + U":]|" + percent + U")*@)?" + host + U"(?::\\d*)?";
        const PatternText segments = U"(?:/" + segment_character + U"*)*";
        const PatternText from_root = U"/(?:" + segment_character + U"+" + segments + U")?";
        const PatternText after =
            U"(?:\\?(?:[" + plain + more_in_query + U":@/?]|" + percent + U")*)?(?:#(?:[" + plain + U":@/?]|" + percent + U")*)?";
        const PatternText whole = U"//" + authority + segments + U"|" + from_root + U"|";
        absolute = U"[A-Za-z][0-9A-Za-z+\\-.]*:(?:" + whole + segment_character + U"+" + segments + U"|)" + after;
        reference =
            U"(?:" + absolute + U"|(?:" + whole + U"(?:[" + plain + U"@]|" + percent + U")+" + segments + U"|)" + after + U")";
    }
};

const PatternText& kJsonPointer = *new PatternText(U"(?:/(?:[^~/]|~[01])*)*");

PatternText uri_template() {
    const PatternText percent = U"%[0-9A-Fa-f]{2}", character = U"(?:[0-9A-Za-z_]|" + percent + U")";
    const PatternText variable = character + U"(?:\\.?" + character + U")*(?::[1-9]\\d{0,3}|\\*)?";
    return U"(?:[!#-$&-;=?-\\[\\]_a-z~" + kUcsChar + kIPrivate + U"]|" + percent + U"|\\{[+#./;?&=,!@|]?" + variable + U"(?:," +
           variable + U")*\\})*";
}

// --- the table

struct FormatEntry {
    std::string_view name;
    StringFormat (*make)();
    std::once_flag once = {};
    StringFormat format = {};
};

template <class Pattern>
StringFormat exact_format(Pattern pattern) {
    return {whole_text(pattern), -1, true};
}

FormatEntry* find_format(std::string_view name) {
    static auto& formats = *new std::array<FormatEntry, 19>{{
        {"date-time", [] { return exact_format(kFullDate + U"[Tt]" + full_time()); }},
        {"date", [] { return exact_format(kFullDate); }},
        {"time", [] { return exact_format(full_time()); }},
        {"duration", [] { return exact_format(kDuration); }},
        {"email", [] { return exact_format(mailbox(U"")); }},
        {"idn-email", [] { return StringFormat{whole_text(mailbox(kBeyondAscii)), -1, false}; }},
        {"hostname", [] { return StringFormat{whole_text(kHostLabel + U"(?:\\." + kHostLabel + U")*"), 253, true}; }},
        {"idn-hostname", [] { return StringFormat{whole_text(idn_hostname()), 253, false}; }},
        {"ipv4", [] { return exact_format(kIpv4); }},
        {"ipv6", [] { return exact_format(ipv6()); }},
        {"uri", [] { return exact_format(ResourceSyntax(U"", U"").absolute); }},
        {"uri-reference", [] { return exact_format(ResourceSyntax(U"", U"").reference); }},
        {"iri", [] { return exact_format(ResourceSyntax(kUcsChar, kIPrivate).absolute); }},
        {"iri-reference", [] { return exact_format(ResourceSyntax(kUcsChar, kIPrivate).reference); }},
        {"uri-template", [] { return exact_format(uri_template()); }},
        {"uuid", [] { return exact_format(PatternText(U"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}")); }},
        {"json-pointer", [] { return exact_format(kJsonPointer); }},
        {"relative-json-pointer", [] { return exact_format(U"(?:0|[1-9]\\d*)(?:#|" + kJsonPointer + U")"); }},
        {"regex", [] { return StringFormat{any_text(), -1, false}; }},
    }};
    for (FormatEntry& entry : formats)
        if (entry.make && entry.name == name) return &entry;
    return nullptr;
}

}  // namespace

const StringFormat* string_format(std::string_view name) {
    FormatEntry* entry = find_format(name);
    if (!entry) return nullptr;
    std::call_once(entry->once, [&] {
        const Uninterrupted for_all_users;
        entry->format = entry->make();
        entry->format.spelled = quoted(spelled_as_json(entry->format.texts));
    });
    return &entry->format;
}

const TextAutomaton* format_automaton(std::string_view name) {
    const StringFormat* format = string_format(name);
    return format ? &format->texts : nullptr;
}

}  // namespace psc
