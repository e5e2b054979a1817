"""Patterns of Python's `re` as expressions, where the language does not depend on the order in which `re` tries things.

That leaves out lazy quantifiers, assertions, atomic groups, backreferences and conditional groups. One use of lookahead is an
expression less another one, and common enough to be worth it: names that are not keywords, `(?!(?:if|else)\\b)[a-z]+`.

Cost: about 50 us for a keyword, most of it the parser of `re`; then, once a process, the Unicode tables of `codepoints`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

import numpy as np

from psc._core import stop_if_cancelled
from psc.compiler.expressions.expression import EMPTY, NOTHING, Chars, Choice, Expression, Literal, Repeat, Sequence
from psc.compiler.terminals.regex.codepoints import Bounds, category, character_set, complement, sre, union, watched_parse
from psc.compiler.terminals.regex.partition import without_surrogates

_IGNORECASE: Final = int(re.IGNORECASE)  # as a number, since a flag takes a microsecond to look at


class _NotAnExpression(Exception):
    """Something whose language is not a plain expression's."""


def literal_expression(text: str, *, ignoring_case: bool, ascii: bool = False) -> Expression:
    """The text itself, or every text that `re` finds equal to it when case is ignored, of all letters or of ASCII's."""
    flags = int(re.IGNORECASE | (re.ASCII if ascii else re.UNICODE))
    return Sequence(tuple([character_expression(ord(c), flags) for c in text])) if ignoring_case else Literal(text)


@lru_cache(maxsize=4096)
def character_expression(character: int, flags: int) -> Chars:
    """The characters that match one under flags of `re`."""
    bounds = character_set(sre.LITERAL, character, flags)
    assert bounds is not None
    return chars(bounds)


def pattern_expression(pattern: str, flags: int = 0) -> Expression | None:
    """The texts that `re.fullmatch` accepts, or None where the pattern is not a plain expression, or no pattern at all."""
    tree, flags = _parse(pattern, flags)
    try:
        return None if tree is None else _sequence(tree.data, flags)
    except (_NotAnExpression, RecursionError):
        return None


def pattern_difference(pattern: str, flags: int = 0) -> tuple[Expression, tuple[Expression, ...]] | None:
    """A pattern that starts with negative lookaheads, as an expression and the ones whose texts it must not match; or None."""
    tree, flags = _parse(pattern, flags)
    if tree is None:
        return None
    items = tree.data
    while len(items) == 1 and items[0][0] is sre.SUBPATTERN:  # flags around the whole pattern
        _, added, removed, inner = items[0][1]
        items, flags = inner.data, _with(flags, added, removed)
    split = 0
    while split < len(items) and items[split][0] is sre.ASSERT_NOT and items[split][1][0] >= 0:
        split += 1
    try:
        excepted = tuple(_begins_with(value[1].data, flags) for _, value in items[:split])
        return _sequence(items[split:], flags), excepted
    except (_NotAnExpression, RecursionError):
        return None


def _parse(pattern: str, flags: int) -> tuple[Any, int]:
    try:
        tree = watched_parse(pattern, flags)
    except (re.error, RecursionError, OverflowError):
        return None, flags
    flags |= tree.state.flags
    return tree, int(flags if flags & re.ASCII else flags | re.UNICODE)


def _with(flags: int, added: int, removed: int) -> int:
    if added & (re.ASCII | re.UNICODE):
        flags &= ~(re.ASCII | re.UNICODE)
    return int((flags | added) & ~removed)


def _sequence(items: list[Any], flags: int) -> Expression:
    parts: list[Expression] = []
    text: list[str] = []
    for op, value in items:
        stop_if_cancelled()
        if op is sre.LITERAL and not flags & _IGNORECASE:
            text.append(chr(value))
            continue
        if text:
            parts.append(Literal("".join(text)))
            text = []
        parts.append(character_expression(value, flags) if op is sre.LITERAL else _item(op, value, flags))
    if text:
        parts.append(Literal("".join(text)))
    return parts[0] if len(parts) == 1 else Sequence(tuple(parts)) if parts else EMPTY


def _item(op: Any, value: Any, flags: int) -> Expression:
    bounds = character_set(op, value, flags)
    if bounds is not None:
        return chars(bounds)
    if op is sre.SUBPATTERN:
        _, added, removed, items = value
        return _sequence(items.data, _with(flags, added, removed))
    if op is sre.BRANCH:
        return Choice(tuple(_sequence(items.data, flags) for items in value[1]))
    if op is sre.MAX_REPEAT:
        least, most, items = value
        return Repeat(_sequence(items.data, flags), int(least), None if most is sre.MAXREPEAT else int(most))
    if op is sre.FAILURE:
        return NOTHING
    raise _NotAnExpression


def chars(bounds: Bounds) -> Chars:
    """One character of the set; surrogates, which UTF-8 cannot spell, are left out."""
    return _chars_of(bounds.tobytes())


@lru_cache(maxsize=4096)
def _chars_of(bounds: bytes) -> Chars:
    ends = without_surrogates(np.frombuffer(bounds, np.int32)).tolist()
    return Chars(tuple((low, high - 1) for low, high in zip(ends[0::2], ends[1::2], strict=True)))


_ANY_TEXT = Repeat(Chars(((0, 0xD7FF), (0xE000, 0x10FFFF))), 0, None)


def _begins_with(items: list[Any], flags: int) -> Expression:
    """All texts that a lookahead with these items succeeds on. What it says about the character after them may be its last item."""
    if not items:
        return _ANY_TEXT
    op, value = items[-1]
    if op is sre.SUBPATTERN and len(items) == 1:
        _, added, removed, inner = value
        return _begins_with(inner.data, _with(flags, added, removed))
    if op is sre.AT and value is sre.AT_END_STRING:
        return _sequence(items[:-1], flags)
    not_next: Bounds | None = None
    if op is sre.ASSERT_NOT and value[0] >= 0 and len(value[1].data) == 1:
        body_op, body_value = value[1].data[0]
        not_next = character_set(body_op, body_value, flags)
    elif op is sre.AT and value is sre.AT_BOUNDARY:
        word = category(r"\w", bool(flags & re.ASCII))
        if _always_ends_in(items[:-1], flags, word):
            not_next = word
    if not_next is None:
        return Sequence((_sequence(items, flags), _ANY_TEXT))
    after = Choice((EMPTY, Sequence((chars(complement(not_next)), _ANY_TEXT))))
    return Sequence((_sequence(items[:-1], flags), after))


def _always_ends_in(items: list[Any], flags: int, characters: Bounds) -> bool:
    """Whether every text of these items certainly ends in one of the characters."""
    if not items:
        return False
    op, value = items[-1]
    last = character_set(op, value, flags)
    if last is not None:
        return np.array_equal(union([last, characters]), characters)
    if op is sre.SUBPATTERN:
        _, added, removed, inner = value
        return _always_ends_in(inner.data, _with(flags, added, removed), characters)
    if op is sre.BRANCH:
        return all(_always_ends_in(option.data, flags, characters) for option in value[1])
    if op is sre.MAX_REPEAT and value[0] >= 1:
        return _always_ends_in(value[2].data, flags, characters)
    return False
