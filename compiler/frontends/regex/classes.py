"""Sets of characters in a regex: `.`, escapes such as `\\d` and `\\p{L}`, and bracketed classes.

The dialects differ in what the shorthands mean:

* ``ecma`` (JSON Schema, XGrammar, llama.cpp): `\\d` and `\\w` are ASCII, `\\s` is the white space and line ends of ECMA-262, `.` is
  all but the line ends U+000A, U+000D, U+2028 and U+2029, `[]` has no character and `[^]` has all;
* ``python``: `\\d`, `\\w` and `\\s` are Unicode's unless `(?a:...)` says ASCII, `.` is all but U+000A, and a `]` that comes first
  is a member;
* ``rust`` (llguidance): the same, by the definitions of Unicode rather than of Python, and classes as in :mod:`.rust_classes`.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final, Literal

from psc.compiler.frontends.regex.rust_classes import intersection, rust_class, rust_shorthand, without
from psc.compiler.frontends.regex.source import Source
from psc.compiler.frontends.regex.unicode_properties import UnknownProperty, property_set
from psc.compiler.terminals.regex.codepoints import (
    EMPTY,
    EVERYTHING,
    NEWLINE,
    Bounds,
    category,
    character_set,
    closed_under_case,
    complement,
    from_ranges,
    sre,
    union,
)

Dialect = Literal["ecma", "python", "rust"]

_TURKISH: Final = from_ranges([(0x130, 0x131)])
_LINE_ENDS: Final = from_ranges([(0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)])
_ECMA_SPACE: Final = from_ranges(
    [(9, 13), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F),
     (0x3000, 0x3000), (0xFEFF, 0xFEFF)]
)  # fmt: skip

_CONTROLS: Final = {"n": 0x0A, "r": 0x0D, "t": 0x09, "f": 0x0C, "v": 0x0B, "a": 0x07}
_HEX: Final = re.compile(r"[0-9A-Fa-f]+")
_POSIX: Final = re.compile(r"\[[:.=]\^?[A-Za-z]+[:.=]\]")


def any_character(dialect: Dialect, flags: int) -> Bounds:
    """The set of `.`."""
    if flags & re.DOTALL:
        return EVERYTHING
    return complement(_LINE_ENDS if dialect == "ecma" else NEWLINE)


def ignoring_case(bounds: Bounds, flags: int, dialect: Dialect) -> Bounds:
    """The set, and with the flag `i` what differs from its members in case only."""
    if not flags & re.IGNORECASE or not len(bounds):
        return bounds
    if dialect == "rust":  # which folds as Unicode does: the Turkish letters are none of i's
        folded = ignoring_case(without(bounds, _TURKISH), flags, "python")
        return union([without(folded, _TURKISH), intersection(bounds, _TURKISH)])
    if flags & re.ASCII:
        ends = bounds.tolist()
        items = tuple((sre.RANGE, (a, b - 1)) for a, b in zip(ends[0::2], ends[1::2], strict=True))
        found = character_set(sre.IN, items, flags)
        assert found is not None
        return found
    if len(bounds) == 2 and bounds[0] + 1 == bounds[1]:
        found = character_set(sre.LITERAL, int(bounds[0]), flags | re.UNICODE)
        assert found is not None
        return found
    return closed_under_case(bounds)


def shorthand(source: Source, dialect: Dialect, flags: int) -> Bounds | None:
    """Reads `\\d`, `\\w`, `\\s`, `\\p{...}` or their complements behind a backslash; None if something else is there."""
    at = source.at
    name = source.peek()
    if name and name in "dDwWsS":
        source.at += 1
        return _negated(name.isupper(), _of_letter(name.lower(), dialect, flags))
    if name and name in "pP":
        source.at += 1
        if dialect == "rust" and source.peek().isalpha():
            end = source.at + 1
        elif not source.take("{"):
            raise source.error(at - 1, f"\\{name} needs a property in braces, as in \\{name}{{L}}")
        else:
            end = source.text.find("}", source.at)
        if end < 0:
            raise source.error(at - 1, f"\\{name}{{ is not closed; write \\{name}{{L}}")
        try:
            found = property_set(source.text[source.at : end])
        except UnknownProperty as e:
            raise source.error(at - 1, str(e)) from None
        source.at = end + (source.text[end : end + 1] == "}")
        return _negated(name == "P", ignoring_case(found, flags, dialect))
    return None


def _of_letter(letter: str, dialect: Dialect, flags: int) -> Bounds:
    if dialect == "rust":
        return rust_shorthand(letter)
    if dialect == "ecma":
        return _ECMA_SPACE if letter == "s" else category(f"\\{letter}", True)
    return category(f"\\{letter}", bool(flags & re.ASCII))


def _negated(negated: bool, bounds: Bounds) -> Bounds:
    return complement(bounds) if negated else bounds


def escaped_character(source: Source, dialect: Dialect) -> int:
    """Reads the escape of one character behind a backslash, outside and inside brackets."""
    at = source.at - 1
    if source.at_end:
        raise source.error(at, "the pattern ends in a backslash; write \\\\ for a backslash")
    c = source.next()
    if c in _CONTROLS:
        return _CONTROLS[c]
    if c == "0" and not (source.peek() and source.peek() in "0123456789"):
        return 0
    if c in "0123456789":
        raise source.error(at, f"Backreference \\{c} is not supported; {_OTHER_THAN_BACKREFERENCE}" if c != "0" else _OCTAL)
    if c == "x":
        return _braced(source, at) if dialect == "rust" and source.take("{") else _hex(source, at, 2)
    if c == "u":
        if source.take("{"):
            return _braced(source, at)
        point = _hex(source, at, 4)
        if 0xD800 <= point < 0xDC00 and source.text.startswith("\\u", source.at):
            back = source.at
            source.at += 2
            low = _hex(source, back, 4)
            if 0xDC00 <= low < 0xE000:
                return 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00)
            source.at = back
        return _no_surrogate(source, at, point)
    if c == "U":
        return _no_surrogate(source, at, _hex(source, at, 8))
    if c == "c":
        letter = source.peek()
        if not (letter.isascii() and letter.isalpha()):
            raise source.error(at, "\\c needs a letter, as in \\cA for U+0001")
        source.at += 1
        return ord(letter) % 32
    if c == "N" and source.take("{"):
        end = source.text.find("}", source.at)
        name = source.text[source.at : max(end, source.at)]
        try:
            point = ord(unicodedata.lookup(name))
        except (KeyError, TypeError):
            raise source.error(at, f"there is no character named {name[:60]!r}") from None
        source.at = end + 1
        return point
    if c.isascii() and c.isalpha():
        raise source.error(at, f"there is no escape \\{c}; write {c} for the letter itself")
    return ord(c)


_OTHER_THAN_BACKREFERENCE: Final = (
    "no finite automaton can follow it. Write what the group matches once more, or a character as \\xHH"
)
_OCTAL: Final = "\\0 is an octal escape, which not all dialects read alike; write \\xHH"
_HEX_DIGITS: Final = {2: "two", 4: "four", 8: "eight"}


def _hex(source: Source, at: int, digits: int) -> int:
    found = _HEX.match(source.text, source.at, source.at + digits)
    if found is None or len(found.group()) < digits:
        letter = source.text[at + 1]
        more = {"u": " or braces, as in \\u{1F600}", "x": "; for other code points write \\u{H...}"}.get(letter, "")
        raise source.error(at, f"\\{letter} must be followed by {_HEX_DIGITS[digits]} hexadecimal digits{more}")
    source.at = found.end()
    return int(found.group(), 16)


def _braced(source: Source, at: int) -> int:
    found = _HEX.match(source.text, source.at)
    if found is None or source.text[found.end() : found.end() + 1] != "}":
        raise source.error(at, "\\u{ needs hexadecimal digits and a closing brace, as in \\u{1F600}")
    source.at = found.end() + 1
    return _no_surrogate(source, at, int(found.group(), 16))


def _no_surrogate(source: Source, at: int, point: int) -> int:
    if point > 0x10FFFF:
        raise source.error(at, f"{f'{point:X}'[:20]} is beyond the Unicode range, which ends at U+10FFFF")
    if 0xD800 <= point < 0xE000:
        raise source.error(at, f"U+{point:04X} is half of a surrogate pair, not a character; write both halves, or \\u{{H...}}")
    return point


def bracketed(source: Source, dialect: Dialect, flags: int) -> Bounds:
    """Reads a class behind its opening bracket."""
    if dialect == "rust":
        return rust_class(
            source,
            lambda s: _member(s, dialect, flags),
            lambda bounds: ignoring_case(bounds, flags, dialect),
            spaced=bool(flags & re.VERBOSE),
        )
    opened = source.at - 1
    negated = source.take("^")
    ranges: list[tuple[int, int]] = []
    sets: list[Bounds] = []
    first = True
    while True:
        if source.at_end:
            hint = "" if dialect == "ecma" else ", and a ] that comes first is a member"
            raise source.error(opened, f"[ is not closed; write \\[ for the character itself{hint}")
        at = source.at
        if source.peek() == "]" and not (first and dialect == "python"):
            source.at += 1
            break
        first = False
        low = _member(source, dialect, flags)
        if source.peek() == "-" and source.text[source.at + 1 : source.at + 2] not in ("", "]"):
            source.at += 1
            high = _member(source, dialect, flags)
            if not isinstance(low, int) or not isinstance(high, int):
                written = source.text[at : source.at]
                raise source.error(at, f"{written}: a shorthand cannot end a range; write \\- for a hyphen")
            if low > high:
                raise source.error(at, f"the range {source.text[at : source.at]} is empty: it ends before it begins")
            ranges.append((low, high))
        elif isinstance(low, int):
            ranges.append((low, low))
        else:
            sets.append(low)
    found = union([ignoring_case(from_ranges(ranges), flags, dialect), *sets]) if ranges or sets else EMPTY
    return _negated(negated, found)


def _member(source: Source, dialect: Dialect, flags: int) -> int | Bounds:
    at = source.at
    c = source.next()
    if dialect != "rust" and c == "[" and (posix := _POSIX.match(source.text, at)):
        raise source.error(at, f"{posix.group()} is a POSIX class; write \\d, \\s, \\w, \\p{{L}} or ranges, or \\[ for a bracket")
    if c != "\\":
        return ord(c)
    found = shorthand(source, dialect, flags)
    if found is not None:
        return found
    if source.take("b"):
        return 0x08
    return escaped_character(source, dialect)
