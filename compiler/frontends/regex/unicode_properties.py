"""What `\\p{...}` stands for, as far as Python's own Unicode tables say.

General categories, by short and long names, and those binary properties that Python knows exactly. Scripts, blocks and the other
derived properties are in no table of Python's; asking for one is an error that says so.

Cost: about 30 ms for the first category and 10 ms for the first use of a binary property, once a process.
Source: UAX #44 and PropertyValueAliases.txt for the names.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Final

import numpy as np

from psc.compiler.terminals.regex.codepoints import CODE_POINTS, EVERYTHING, Bounds, complement, from_ranges, union
from psc.support.readable import shortened

_CATEGORIES: Final = {
    "L": "Letter", "Lu": "Uppercase_Letter", "Ll": "Lowercase_Letter", "Lt": "Titlecase_Letter", "Lm": "Modifier_Letter",
    "Lo": "Other_Letter", "M": "Mark", "Mn": "Nonspacing_Mark", "Mc": "Spacing_Mark", "Me": "Enclosing_Mark", "N": "Number",
    "Nd": "Decimal_Number", "Nl": "Letter_Number", "No": "Other_Number", "P": "Punctuation", "Pc": "Connector_Punctuation",
    "Pd": "Dash_Punctuation", "Ps": "Open_Punctuation", "Pe": "Close_Punctuation", "Pi": "Initial_Punctuation",
    "Pf": "Final_Punctuation", "Po": "Other_Punctuation", "S": "Symbol", "Sm": "Math_Symbol", "Sc": "Currency_Symbol",
    "Sk": "Modifier_Symbol", "So": "Other_Symbol", "Z": "Separator", "Zs": "Space_Separator", "Zl": "Line_Separator",
    "Zp": "Paragraph_Separator", "C": "Other", "Cc": "Control", "Cf": "Format", "Cs": "Surrogate", "Co": "Private_Use",
    "Cn": "Unassigned",
}  # fmt: skip
_MORE_NAMES: Final = {"L&": "LC", "Cased_Letter": "LC", "Combining_Mark": "M", "digit": "Nd", "punct": "P", "cntrl": "Cc"}
_MEMBERS: Final = {"LC": ("Lu", "Ll", "Lt")}

# Beyond the planes that are read, all code points have one category: unassigned, or of private use.
_READ: Final = (range(0x40000), range(0xE0000, 0xE1000))
_NOT_READ: Final = (
    (0x40000, 0xDFFFF, "Cn"),
    (0xE1000, 0xEFFFF, "Cn"),
    (0xF0000, 0xFFFFD, "Co"),
    (0xFFFFE, 0xFFFFF, "Cn"),
    (0x100000, 0x10FFFD, "Co"),
    (0x10FFFE, 0x10FFFF, "Cn"),
)


def _plain(name: str) -> str:
    """Names are compared without regard to case, spaces, hyphens and underscores (UAX #44, LM3)."""
    return "".join(c for c in name.lower() if c not in " -_")


_CATEGORY_NAMED: Final = {
    _plain(name): short
    for names in (((k, k) for k in _CATEGORIES), ((v, k) for k, v in _CATEGORIES.items()), _MORE_NAMES.items(), [("LC", "LC")])
    for name, short in names
}


class UnknownProperty(ValueError):
    """There is no such property here; the message says what there is."""


def property_set(name: str) -> Bounds:
    """The code points of `\\\\p{name}`, surrogates included.

    Args:
        name: a general category or a binary property, or ``General_Category=…``.

    Raises:
        UnknownProperty: it is neither.
    """
    key, equals, value = name.partition("=")
    if equals:
        if _plain(key) not in ("gc", "generalcategory"):
            raise UnknownProperty(
                f"the property {shortened(key)} is not in Python's Unicode tables; write its characters as ranges, as in "
                "[\\u0370-\\u03FF], or use a general category such as \\p{L}"
            )
        if _plain(value) not in _CATEGORY_NAMED:
            raise UnknownProperty(f"there is no general category {shortened(value)!r}; there are {', '.join(_CATEGORIES)}")
        return _category(_CATEGORY_NAMED[_plain(value)])
    plain = _plain(name)
    if plain in _CATEGORY_NAMED:
        return _category(_CATEGORY_NAMED[plain])
    if plain in _BINARY:
        return _BINARY[plain]()
    raise UnknownProperty(
        f"\\p{{{shortened(name)}}} is not in Python's Unicode tables; there are the general categories "
        f"({', '.join(_CATEGORIES)}, LC) and "
        "Any, Assigned, ASCII, ASCII_Hex_Digit, Hex_Digit, Lowercase, Uppercase, White_Space, XID_Start, XID_Continue. Write other "
        "characters as ranges, as in [\\u0370-\\u03FF]"
    )


@cache
def _category(short: str) -> Bounds:
    runs = _category_runs()
    if short in runs:
        return runs[short]
    members = _MEMBERS.get(short) or tuple(c for c in runs if c.startswith(short))
    return union([runs.get(c, from_ranges(())) for c in members])


@cache
def _category_runs() -> dict[str, Bounds]:
    ranges: dict[str, list[tuple[int, int]]] = {c: [] for c in _CATEGORIES if len(c) == 2}
    for part in _READ:
        names = "".join(map(unicodedata.category, map(chr, part)))
        codes = np.frombuffer(names.encode("ascii"), "<u2")
        starts = np.flatnonzero(np.diff(codes, prepend=0)).tolist()
        for start, end in zip(starts, [*starts[1:], len(codes)], strict=True):
            ranges[names[2 * start : 2 * start + 2]].append((part.start + start, part.start + end - 1))
    for first, last, short in _NOT_READ:
        ranges[short].append((first, last))
    return {short: from_ranges(found) for short, found in ranges.items()}


def _where(holds: Callable[[str], bool]) -> Bounds:
    """The code points of which something is true; in no plane that is not read is any."""
    inside = np.zeros(CODE_POINTS + 1, bool)
    inside[: len(_READ[0])] = [holds(chr(c)) for c in _READ[0]]
    inside[_READ[1].start : _READ[1].stop] = [holds(chr(c)) for c in _READ[1]]
    bounds: Bounds = np.flatnonzero(np.diff(inside, prepend=False)).astype(np.int32)
    return bounds


_HEX: Final = [(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)]
_WIDE_HEX: Final = [(0xFF10, 0xFF19), (0xFF21, 0xFF26), (0xFF41, 0xFF46)]
WHITE_SPACE: Final = from_ranges(
    [(9, 13), (32, 32), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F),
     (0x205F, 0x205F), (0x3000, 0x3000)]
)  # fmt: skip

_BINARY: Final[dict[str, Callable[[], Bounds]]] = {
    "any": lambda: EVERYTHING,
    "assigned": cache(lambda: complement(_category("Cn"))),
    "ascii": lambda: from_ranges([(0, 127)]),
    "asciihexdigit": lambda: from_ranges(_HEX),
    "ahex": lambda: from_ranges(_HEX),
    "hexdigit": lambda: from_ranges(_HEX + _WIDE_HEX),
    "hex": lambda: from_ranges(_HEX + _WIDE_HEX),
    "whitespace": lambda: WHITE_SPACE,
    "wspace": lambda: WHITE_SPACE,
    "space": lambda: WHITE_SPACE,
    # Python's tables have the derived properties, not just the letters.
    "uppercase": cache(lambda: _where(str.isupper)),
    "upper": cache(lambda: _where(str.isupper)),
    "lowercase": cache(lambda: _where(str.islower)),
    "lower": cache(lambda: _where(str.islower)),
    "xidstart": cache(lambda: _where(lambda c: c.isidentifier() and c != "_")),
    "xids": cache(lambda: _where(lambda c: c.isidentifier() and c != "_")),
    "xidcontinue": cache(lambda: _where(lambda c: ("a" + c).isidentifier())),
    "xidc": cache(lambda: _where(lambda c: ("a" + c).isidentifier())),
}
