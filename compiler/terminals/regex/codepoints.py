"""Sets of code points, and the set that each single-character construct of Python's `re` stands for.

A set is an inversion list: a sorted array of boundaries b0 < b1 < ..., of which [b0, b1), [b2, b3), ... belong to
the set. Literals, ranges and negation are arithmetic on such arrays. The Unicode tables behind `\\w`, `\\d` and `\\s`
are read off `re` itself, by one scan over the planes that have letters. Case-insensitive matching is asked of `re` too, but
only for the cased code points (about 2,900): for all others, folding changes nothing, and the case-sensitive set is right.

Cost: about 4 ms for each of `\\w`, `\\d`, `\\s` and the cased code points, once a process; microseconds afterwards.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from functools import cache, lru_cache
from types import FunctionType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from psc._core import stop_if_cancelled

Bounds = npt.NDArray[np.int32]
"""Inversion list of code points, shape (2 * number of ranges,)."""

CODE_POINTS: Final = 0x110000
FIRST_SURROGATE: Final = 0xD800
LAST_SURROGATE: Final = 0xDFFF

# Untyped on purpose: type checkers know next to nothing of these modules.
parser: Final[Any] = importlib.import_module("re._parser")
sre: Final[Any] = importlib.import_module("re._constants")


class _WatchedTokenizer(parser.Tokenizer):  # type: ignore[misc]
    """The characters of a pattern, for a parser that can be called off: it takes a second for some hundred thousand."""

    def get(self) -> Any:
        """The character that is next."""
        stop_if_cancelled()
        return super().get()


watched_parse: Final[Any] = FunctionType(
    parser.parse.__code__, {**vars(parser), "Tokenizer": _WatchedTokenizer}, "parse", parser.parse.__defaults__
)
"""Python's parser of patterns, the same code, but for its tokenizer."""

sre_module: Final[Any] = importlib.import_module("_sre")
_OTHER_CASES: Final[dict[int, tuple[int, ...]]] = importlib.import_module("re._casefix")._EXTRA_CASES

# What else matches an ASCII letter in Unicode: dotted and dotless i, the Kelvin sign, the long s.
_KIN_OF_ASCII: Final = {ord("i"): {0x130, 0x131}, ord("k"): {0x212A}, ord("s"): {0x17F}}

# What may change which characters a construct matches; everything else is kept out of the cache keys.
_RELEVANT: Final = re.IGNORECASE | re.ASCII | re.DOTALL

_CATEGORIES: Final[dict[Any, tuple[str, bool]]] = {
    sre.CATEGORY_WORD: (r"\w", False),
    sre.CATEGORY_NOT_WORD: (r"\w", True),
    sre.CATEGORY_DIGIT: (r"\d", False),
    sre.CATEGORY_NOT_DIGIT: (r"\d", True),
    sre.CATEGORY_SPACE: (r"\s", False),
    sre.CATEGORY_NOT_SPACE: (r"\s", True),
}


def _bounds(values: Iterable[int]) -> Bounds:
    result = np.fromiter(values, dtype=np.int32)
    result.setflags(write=False)
    return result


EMPTY: Final = _bounds(())
EVERYTHING: Final = _bounds((0, CODE_POINTS))
NEWLINE: Final = _bounds((10, 11))


def contains(bounds: Bounds, points: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Membership of each of `points`, as an array of the same shape."""
    inside: npt.NDArray[np.bool_] = (np.searchsorted(bounds, points, side="right") & 1).astype(bool)
    return inside


def from_ranges(ranges: Iterable[tuple[int, int]]) -> Bounds:
    """The set of all code points in `ranges`, whose ends are inclusive."""
    merged: list[int] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1]:
            merged[-1] = max(merged[-1], high + 1)
        else:
            merged += (low, high + 1)
    return _bounds(merged)


def union(sets: list[Bounds]) -> Bounds:
    """The union of `sets`."""
    if len(sets) == 1:
        return sets[0]
    points = np.unique(np.concatenate([EMPTY, *sets]))
    inside = np.zeros(len(points), dtype=bool)
    for bounds in sets:
        inside |= contains(bounds, points)
    return points[np.diff(inside, prepend=False)]


def difference(a: Bounds, b: Bounds) -> Bounds:
    """The symmetric difference of two sets: the boundaries that occur in one of them only."""
    return np.setxor1d(a, b, assume_unique=True)


def complement(bounds: Bounds) -> Bounds:
    """All code points outside `bounds`."""
    return difference(bounds, EVERYTHING)


# Nothing from here on is a letter, a digit or white space, or has a case; the tests look at all code points.
_LETTERS_END: Final = 0x40000
_CASED_END: Final = 0x20000


@cache
def category(escape: str, ascii_only: bool) -> Bounds:
    """The set of `\\w`, `\\d` or `\\s`."""
    if ascii_only:
        return from_ranges((m.start(), m.start()) for m in re.finditer(escape, bytes(range(128)).decode(), re.ASCII))
    # Surrogates are there too, so that an offset is a code point.
    text = np.arange(_LETTERS_END, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    return _bounds(end for m in re.finditer(escape + "+", text) for end in m.span())


@cache
def _cased() -> tuple[str, Bounds]:
    """Every code point that may match another one than itself when case is ignored, in order, as text and as an array."""
    lower = sre_module.unicode_tolower
    changed = [c for c in range(_CASED_END) if lower(c) != c]
    found = {*changed, *map(lower, changed)}
    for c, others in _OTHER_CASES.items():  # such as U+017F for s
        found.update((c, *others))
    points = sorted(found)
    return "".join(map(chr, points)), _bounds(points)


def _ignoring_case(bounds: Bounds, pattern: str, flags: int) -> Bounds:
    """`bounds`, the case-sensitive set of `pattern`, corrected at the cased code points by asking `re`."""
    cased, points = _cased()
    matched = set(re.compile(pattern, flags).findall(cased))
    before = contains(bounds, points)
    wrong = [ord(c) for c, was in zip(cased, before.tolist(), strict=True) if was != (c in matched)]
    return difference(bounds, from_ranges((c, c) for c in wrong)) if wrong else bounds


def closed_under_case(bounds: Bounds) -> Bounds:
    """All code points that match one of the set when case is ignored, as Unicode and `re` have it."""
    lower = sre_module.unicode_tolower
    _, points = _cased()
    folded: set[int] = set()
    for c in points[contains(bounds, points)].tolist():
        folded.add(lower(c))
        folded.update(_OTHER_CASES.get(lower(c), ()))
    return union([bounds, from_ranges((c, c) for c in points.tolist() if lower(c) in folded)])


def _spell(items: tuple[Any, ...]) -> str:
    """A character class with the meaning of the parsed `items`."""
    parts = ["["]
    for op, value in items:
        if op is sre.NEGATE:
            parts.append("^")
        elif op is sre.LITERAL:
            parts.append(f"\\U{value:08x}")
        elif op is sre.RANGE:
            parts.append(f"\\U{value[0]:08x}-\\U{value[1]:08x}")
        else:
            escape, negated = _CATEGORIES[value]
            parts.append(escape.upper() if negated else escape)
    return "".join(parts) + "]"


@cache
def _ascii_ignoring_case(point: int, ascii_only: bool) -> Bounds:
    """What matches an ASCII character when case is ignored: keywords are made of these, and need no table."""
    kin = {point}
    if chr(point).isalpha():
        kin |= {point ^ 0x20} | (set() if ascii_only else _KIN_OF_ASCII.get(point | 0x20, set()))
    return from_ranges((c, c) for c in kin)


@lru_cache(maxsize=4096)
def _class(items: tuple[Any, ...], flags: int) -> Bounds:
    ranges: list[tuple[int, int]] = []
    sets: list[Bounds] = []
    for op, value in items:
        if op is sre.LITERAL:
            ranges.append((value, value))
        elif op is sre.RANGE:
            ranges.append(value)
        elif op is sre.CATEGORY:
            escape, negated = _CATEGORIES[value]
            bounds = category(escape, bool(flags & re.ASCII))
            sets.append(complement(bounds) if negated else bounds)
    if ranges or not sets:
        sets.append(from_ranges(ranges))
    result = union(sets)
    if items[0][0] is sre.NEGATE:
        result = complement(result)
    if flags & re.IGNORECASE:
        result = _ignoring_case(result, _spell(items), flags)
    return result


def character_set(op: Any, value: Any, flags: int) -> Bounds | None:
    """The set that one parsed node matches, or None when the node is not a single-character construct.

    Surrogates may be members; it is for the caller to drop them.
    """
    flags &= _RELEVANT
    if op is sre.LITERAL:
        if value < 128 and flags & re.IGNORECASE:
            return _ascii_ignoring_case(value, bool(flags & re.ASCII))
        return _class(((sre.LITERAL, value),), flags)
    if op is sre.NOT_LITERAL:
        return _class(((sre.NEGATE, None), (sre.LITERAL, value)), flags)
    if op is sre.IN:
        return _class(tuple(value), flags)
    if op is sre.ANY:
        return EVERYTHING if flags & re.DOTALL else _class(((sre.NEGATE, None), (sre.LITERAL, 10)), 0)
    return None
