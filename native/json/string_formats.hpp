// The formats of JSON Schema that are assertions about texts, as sets of texts.
//
// | format | by | besides |
// | date-time, date, time | RFC 3339 | lengths of months, leap years; T, t, Z, z; leap seconds: see below |
// | duration | RFC 3339, appendix A | |
// | email | RFC 5321, Mailbox | quoted local parts, address literals of IPv4 and IPv6; no limits of length |
// | hostname | RFC 1123 | labels of up to 63 characters; see max_characters; an A-label (xn--) is not decoded |
// | ipv4, ipv6 | RFC 3986 (RFC 4291) | no leading zeros in IPv4, no zones |
// | uri, uri-reference | RFC 3986 | |
// | iri, iri-reference | RFC 3987 | |
// | uri-template | RFC 6570 | as corrected: an apostrophe is a literal |
// | uuid | RFC 4122 | digits of either case, any version |
// | json-pointer, relative-json-pointer | RFC 6901 and its draft | |
// | idn-email, idn-hostname | | not exact: most characters beyond ASCII are taken for letters |
// | regex | | not exact: any text |
//
// A second 60 is one where it is 23:59:60 in UTC, at offsets of whole and half hours; with those of single minutes the automaton
// would have thousands of states. The days that have leap seconds are not checked.
//
// Cost: one thread builds an automaton on first use, in 0.1 to 5 ms; it stays for the life of the process.
// Threads: any number.
#pragma once

#include <string_view>

#include "text/automaton.hpp"

namespace psc {

struct StringFormat {
    TextAutomaton texts;
    // The greatest length of the texts, which `texts` does not enforce, or -1. A host name has at most 253 characters, which would
    // be over 20,000 states.
    std::int64_t max_characters = -1;
    // False: the texts are a superset.
    bool exact = true;
    TextAutomaton spelled = {};  // the texts as strings of JSON, with their quotes
};

// Null for an unknown name.
const StringFormat* string_format(std::string_view name);

// Its texts of any length.
const TextAutomaton* format_automaton(std::string_view name);

}  // namespace psc
