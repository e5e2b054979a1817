"""Bracketed classes and shorthands as Rust's `regex` crate has them: classes inside classes, `&&`, `--`, `~~`, `[:alpha:]`.

`&&` is intersection, `--` difference and `~~` symmetric difference; they bind loosest, all alike, from left to right. `\\w` is what
UTS #18 calls a word character, `\\s` is White_Space.

Cost: as of `classes`; a nested class is one more level of Python's stack, at most `MAX_NESTED`.
Source: the syntax that docs.rs/regex documents; UTS #18, Annex C.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Final

from psc.compiler.frontends.regex.source import Source
from psc.compiler.frontends.regex.unicode_properties import property_set
from psc.compiler.terminals.regex.codepoints import EMPTY, Bounds, category, complement, difference, from_ranges, union
from psc.support.limits import limit

MAX_NESTED: Final = limit("regex_classes")
"""Classes inside each other."""

_POSIX: Final = re.compile(r"\[:(\^?)([a-z]+):\]")
_POSIX_SETS: Final[dict[str, tuple[tuple[int, int], ...]]] = {
    "alnum": ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)),
    "alpha": ((0x41, 0x5A), (0x61, 0x7A)),
    "ascii": ((0, 0x7F),),
    "blank": ((9, 9), (0x20, 0x20)),
    "cntrl": ((0, 0x1F), (0x7F, 0x7F)),
    "digit": ((0x30, 0x39),),
    "graph": ((0x21, 0x7E),),
    "lower": ((0x61, 0x7A),),
    "print": ((0x20, 0x7E),),
    "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": ((9, 13), (0x20, 0x20)),
    "upper": ((0x41, 0x5A),),
    "word": ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)),
    "xdigit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}


def intersection(a: Bounds, b: Bounds) -> Bounds:
    """What is in both sets."""
    return complement(union([complement(a), complement(b)]))


def without(a: Bounds, b: Bounds) -> Bounds:
    """What is in the first set, and not in the second."""
    return intersection(a, complement(b))


_OPERATORS: Final[dict[str, Callable[[Bounds, Bounds], Bounds]]] = {"&&": intersection, "--": without, "~~": difference}
_SPACES: Final = [(9, 13), (0x20, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029),
                  (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)]  # fmt: skip
# The symbols that are alphabetic (circled and squared letters); the letters, marks and numbers are so by their category.
_ALPHABETIC_SYMBOLS: Final = [(0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189)]
_JOINERS: Final = [(0x200C, 0x200D)]

Member = Callable[[Source], "int | Bounds"]


@cache
def rust_shorthand(letter: str) -> Bounds:
    """The set of `\\d`, `\\w` or `\\s`."""
    if letter == "d":
        return category(r"\d", False)
    if letter == "s":
        return from_ranges(_SPACES)
    named = [property_set(name) for name in ("L", "M", "Nd", "Nl", "Pc")]
    return union([*named, from_ranges(_ALPHABETIC_SYMBOLS), from_ranges(_JOINERS)])


def rust_class(source: Source, member: Member, folded: Callable[[Bounds], Bounds], *, spaced: bool, depth: int = 1) -> Bounds:
    """Reads a class behind its opening bracket.

    Args:
        source: the pattern.
        member: reads a character or the set of an escape.
        folded: what a set stands for where case may be ignored.
        spaced: whether white space and comments are left out, as with the flag x.
        depth: how many classes are open, this one included.

    Raises:
        GrammarError: it is not closed, a range is empty, or it is no class; ResourceLimitError, one of them, past `MAX_NESTED`.
    """
    opened = source.at - 1
    if depth > MAX_NESTED:
        raise source.limit(opened, f"more than {MAX_NESTED} classes inside each other, which is the limit")
    negated = source.take("^")
    found: Bounds | None = None
    combine = _OPERATORS["&&"]
    parts: list[Bounds] = []
    first = True
    while True:
        if spaced:
            _skip_space(source)
        if source.at_end:
            raise source.error(opened, "[ is not closed; write \\[ for the character itself, and a ] that comes first is a member")
        if source.peek() == "]" and not first:
            source.at += 1
            break
        two = source.text[source.at : source.at + 2]
        if two in _OPERATORS and not (two == "--" and first):
            found = _with(found, combine, parts)
            combine, parts = _OPERATORS[two], []
            source.at += 2
        elif (posix := _POSIX.match(source.text, source.at)) is not None:
            parts.append(folded(_posix_set(source, posix)))
            source.at = posix.end()
        elif source.peek() == "[":
            source.at += 1
            parts.append(rust_class(source, member, folded, spaced=spaced, depth=depth + 1))
        else:
            parts.append(_range(source, member, folded))
        first = False
    found = _with(found, combine, parts)
    return complement(found) if negated else found


def _with(found: Bounds | None, combine: Callable[[Bounds, Bounds], Bounds], parts: list[Bounds]) -> Bounds:
    operand = union(parts) if parts else EMPTY
    return operand if found is None else combine(found, operand)


def _skip_space(source: Source) -> None:
    while not source.at_end and source.peek() in " \t\n\r\f\v":
        source.at += 1


def _posix_set(source: Source, posix: re.Match[str]) -> Bounds:
    ranges = _POSIX_SETS.get(posix.group(2))
    if ranges is None:
        raise source.error(posix.start(), f"there is no class {posix.group()}; there are {', '.join(_POSIX_SETS)}")
    bounds = from_ranges(ranges)
    return complement(bounds) if posix.group(1) else bounds


def _range(source: Source, member: Member, folded: Callable[[Bounds], Bounds]) -> Bounds:
    at = source.at
    low = member(source)
    after = source.text[source.at + 1 : source.at + 2]
    if source.peek() != "-" or after in ("", "]", "-"):
        return folded(from_ranges([(low, low)])) if isinstance(low, int) else low
    source.at += 1
    high = member(source)
    written = source.text[at : source.at]
    if not isinstance(low, int) or not isinstance(high, int):
        raise source.error(at, f"{written}: a shorthand cannot end a range; write \\- for a hyphen")
    if low > high:
        raise source.error(at, f"the range {written} is empty: it ends before it begins")
    return folded(from_ranges([(low, high)]))
