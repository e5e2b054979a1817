r"""What is inside quotes and brackets: escapes, and the ranges of a character class.

Taken in both: ``\n \r \t \a \b \f \v \e \0 \\ \" \' \? \/ \[ \] \-``, ``\xHH``, ``\uHHHH``, ``\UHHHHHHHH``. A high and a low
surrogate written with ``\u`` are one character, as in JSON. In a class also ``\^ \$ \. \* \+ \( \) \{ \} \|``.

Cost: linear in the text.
"""

from __future__ import annotations

import re

from psc.compiler.expressions.expression import MAX_CODE_POINT, Chars, Expression, Literal, merged_ranges

ANY_CHARACTER = Chars(((0, 0xD7FF), (0xE000, MAX_CODE_POINT)))
"""Every code point but the surrogates, which no UTF-8 text has."""

_CONTROL = {"n": "\n", "r": "\r", "t": "\t", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "0": "\0"}
_IN_LITERAL = _CONTROL | {c: c for c in "\\\"'?/[]-"}
_IN_CLASS = _IN_LITERAL | {c: c for c in "^$.*+(){}|"}
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
_ESCAPE = (
    r"\\u([Dd][89ABab][0-9A-Fa-f]{2})\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})"
    r"|\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))"
)
_UNIT = re.compile(rf"{_ESCAPE}|([^\\])", re.S)
_UNIT_OR_TEXT = re.compile(rf"{_ESCAPE}|([\ud800-\udfff])|([^\\\ud800-\udfff]+)", re.S)


class EscapeError(ValueError):
    """What is wrong, and where: an offset into the text between the quotes or brackets."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


def literal_expression(body: str) -> Literal:
    """The literal whose text between the quotes is ``body``."""
    if "\\" not in body:
        return Literal(body)
    return Literal("".join([unit[8] or _character(unit, _IN_LITERAL) for unit in _UNIT_OR_TEXT.finditer(body)]))


def class_expression(body: str) -> Expression:
    """The character class whose text between the brackets is ``body``, with a leading ``^`` for all but these."""
    complement = body.startswith("^")
    start = 1 if complement else 0
    units = list(_UNIT.finditer(body, start))
    if not units and not complement:
        raise EscapeError('an empty class matches nothing; "" is the empty text and [^] is any character', 0)
    ranges = []
    i = 0
    while i < len(units):
        # A dash between two characters makes a range; at either end, or after a range, it is itself.
        if i + 2 < len(units) and units[i + 1].group() == "-":
            # Either end may be half of a surrogate pair: the range stands for the characters in it.
            low, high = _code_point(units[i], _IN_CLASS), _code_point(units[i + 2], _IN_CLASS)
            if high < low:
                written = body[units[i].start() : units[i + 2].end()]
                raise EscapeError(f"the range {written} runs backwards; write the lower character first", units[i].start())
            i += 2
        else:
            low = high = ord(_character(units[i], _IN_CLASS))
        ranges.append((low, high))
        i += 1
    if not complement and not without_surrogates(ranges):
        raise EscapeError("the class holds halves of surrogate pairs only, which are no characters", 0)
    return Chars(all_but(ranges) if complement else without_surrogates(ranges))


def _character(unit: re.Match[str], escapes: dict[str, str]) -> str:
    code = _code_point(unit, escapes)
    if 0xD800 <= code <= 0xDFFF:
        raise EscapeError(
            f"U+{code:04X} is half of a surrogate pair, which is no character; write both halves, or \\U with eight digits",
            unit.start(),
        )
    return chr(code)


def _code_point(unit: re.Match[str], escapes: dict[str, str]) -> int:
    plain = unit[7]
    if plain is not None:
        return ord(plain)
    if unit[1] is not None:
        return 0x10000 + ((int(unit[1], 16) & 0x3FF) << 10) + (int(unit[2], 16) & 0x3FF)
    if (letter := unit[6]) is not None:
        if (character := escapes.get(letter)) is not None:
            return ord(character)
        raise EscapeError(_unknown(letter), unit.start())
    digits = unit[3] or unit[4] or unit[5]
    code = int(digits, 16)
    if code > MAX_CODE_POINT:
        raise EscapeError(f"there is no character U+{digits}; the last one is U+10FFFF", unit.start())
    return code


def _unknown(letter: str) -> str:
    if letter in _HEX_DIGITS:
        return f"\\{letter} needs {_HEX_DIGITS[letter]} hexadecimal digits"
    if letter in "dDwWsS":
        return f"\\{letter} is a regex escape, which this language does not have; write the class out, as [0-9]"
    what = f"\\{letter}" if letter.isprintable() else f"of a backslash and U+{ord(letter):04X}"
    return f"unknown escape {what}; write \\\\ for a backslash"


def without_surrogates(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Ascending, disjoint, not adjacent, without surrogates."""
    merged = merged_ranges(ranges)
    if all(high < 0xD800 or low > 0xDFFF for low, high in merged):
        return merged
    below = [(low, min(high, 0xD7FF)) for low, high in merged if low <= 0xD7FF]
    above = [(max(low, 0xE000), high) for low, high in merged if high >= 0xE000]
    return (*below, *above)


def all_but(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """All other characters, in the same form."""
    gaps = []
    at = 0
    for low, high in without_surrogates(ranges):
        if at < low:
            gaps.append((at, low - 1))
        at = high + 1
    if at <= MAX_CODE_POINT:
        gaps.append((at, MAX_CODE_POINT))
    return without_surrogates(gaps)
