r"""What is inside quotes and brackets of ANTLR 4: escapes, and the ranges of a set.

Taken: ``\n \r \t \b \f \\ \' \] \- \uXXXX \u{X…}``, and in a set ``\p{…}`` and ``\P{…}``. A high and a low surrogate written
with ``\u`` are one character.

Cost: linear in the text.
"""

from __future__ import annotations

import re
from typing import Final

from psc.compiler.expressions.expression import MAX_CODE_POINT, merged_ranges
from psc.compiler.frontends.ebnf.lexer import Source

Ranges = tuple[tuple[int, int], ...]

_CONTROL: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "\\": "\\"}
_UNIT: Final = re.compile(
    r"\\u(?P<high>[Dd][89ABab][0-9A-Fa-f]{2})\\u(?P<low>[Dd][C-Fc-f][0-9A-Fa-f]{2})"
    r"|\\u(?P<four>[0-9A-Fa-f]{4})|\\u\{(?P<many>[0-9A-Fa-f]+)\}|\\(?P<property>[pP])\{(?P<named>[^}]*)\}"
    r"|\\(?P<escaped>.)|(?P<plain>.)",
    re.S,
)


def literal_text(written: str, offset: int, source: Source) -> str:
    """The text of a literal, which is written with its quotes."""
    return "".join(chr(_code(unit, "'", offset, source)) for unit in _UNIT.finditer(written, 1, len(written) - 1))


def set_ranges(written: str, offset: int, source: Source) -> Ranges:
    """The ranges of a set, which is written with its brackets."""
    units = list(_UNIT.finditer(written, 1, len(written) - 1))
    if not units:
        raise source.error(offset, "this set is empty; write the characters that it has, as in [a-z]")
    ranges: list[tuple[int, int]] = []
    i = 0
    while i < len(units):
        unit = units[i]
        if unit["property"]:
            ranges += _property(unit, offset, source)
            i += 1
            continue
        low = high = _code(unit, "]-", offset, source)
        if i + 2 < len(units) and units[i + 1].group() == "-":
            high = _code(units[i + 2], "]-", offset, source)
            if high < low:
                shown = written[unit.start() : units[i + 2].end()]
                raise source.error(offset + unit.start(), f"the range {shown} runs backwards; write the lower character first")
            i += 2
        ranges.append((low, high))
        i += 1
    return tuple(ranges)


def both_cases(ranges: Ranges) -> Ranges:
    """The ranges with each letter's other case, as ANTLR's `caseInsensitive` adds it."""
    more = list(ranges)
    for low, high in ranges:
        if high - low > 0x3000:  # all letters of a script and more, which have their other cases among them
            continue
        for code in range(low, high + 1):
            more += [(ord(other), ord(other)) for other in (chr(code).lower(), chr(code).upper()) if len(other) == 1]
    return merged_ranges(more)


def _code(unit: re.Match[str], more: str, offset: int, source: Source) -> int:
    at = offset + unit.start()
    if unit["plain"] is not None:
        return ord(unit["plain"])
    if unit["high"] is not None:
        return 0x10000 + ((int(unit["high"], 16) - 0xD800) << 10) + int(unit["low"], 16) - 0xDC00
    digits = unit["four"] or unit["many"]
    if digits is not None:
        code = int(digits, 16) if len(digits.lstrip("0")) <= 6 else MAX_CODE_POINT + 1
        if code > MAX_CODE_POINT:
            raise source.error(at, f"there is no character \\u{{{digits[:20]}}}; the last one is \\u{{10FFFF}}")
        return code
    escaped = unit["escaped"]
    if escaped is not None and escaped in _CONTROL:
        return ord(_CONTROL[escaped])
    if escaped is not None and escaped in more:
        return ord(escaped)
    raise source.error(at, f"ANTLR has no escape {unit.group()[:20]} here; there are \\n \\r \\t \\b \\f \\\\ \\uXXXX and \\u{{…}}")


def _property(unit: re.Match[str], offset: int, source: Source) -> Ranges:
    from psc.compiler.frontends.regex.unicode_properties import UnknownProperty, property_set
    from psc.compiler.terminals.regex.codepoints import complement

    try:
        found = property_set(unit["named"])
    except UnknownProperty as e:
        raise source.error(offset + unit.start(), str(e)) from None
    bounds = (complement(found) if unit["property"] == "P" else found).tolist()
    return tuple((low, high - 1) for low, high in zip(bounds[::2], bounds[1::2], strict=True))
