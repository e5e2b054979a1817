"""Parts of a regex with what `^` and `$` make of them: one variant for each way in which a part can lie in the whole text.

The regex has to match a whole text, so `^` holds exactly where nothing of the text is before it, and `$` where nothing is after. A
part is therefore up to four expressions: whether or not the text begins where the part begins, and ends where it ends. Without
anchors they are one. A sequence asks its other parts whether they are empty; where they can be both, empty and not, the anchor
would split the sequence into cases, and is refused instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from psc.compiler.expressions.expression import EMPTY, NOTHING, Chars, Choice, Expression, Literal, Repeat, Sequence


@dataclass(frozen=True, slots=True)
class Variant:
    """An expression, and whether the empty text and other texts match it."""

    expression: Expression
    empty: bool
    nonempty: bool


Combine = Callable[[list[Variant | None]], Variant | None]

NO_TEXT = Variant(NOTHING, False, False)
EMPTY_TEXT = Variant(EMPTY, True, False)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a regex.

    Attributes:
        variants: indexed by 2 * (the text begins here) + (the text ends here); None where it is not an expression.
        anchor: where the first anchor inside stands in the pattern, or None if there is none.
    """

    variants: tuple[Variant | None, Variant | None, Variant | None, Variant | None]
    anchor: int | None = None

    @property
    def always_empty(self) -> bool:
        return not any(v is None or v.nonempty for v in self.variants)

    @property
    def never_empty(self) -> bool:
        return not any(v is None or v.empty for v in self.variants)


def plain(variant: Variant) -> Piece:
    """A piece without anchors."""
    return Piece((variant, variant, variant, variant))


def characters(chars: Chars) -> Piece:
    """One character."""
    return plain(Variant(chars, False, bool(chars.ranges)))


@lru_cache(maxsize=1024)
def literal(character: str) -> Piece:
    """This character."""
    return plain(Variant(Literal(character), False, True))


def start_anchor(at: int, *, multiline: bool) -> Piece:
    """`^`, which begins lines too if `multiline`."""
    inside = None if multiline else NO_TEXT
    return Piece((inside, inside, EMPTY_TEXT, EMPTY_TEXT), at)


def end_anchor(at: int, *, before_newline: bool) -> Piece:
    """`$`, which may be true before a line end if `before_newline`."""
    inside = None if before_newline else NO_TEXT
    return Piece((inside, EMPTY_TEXT, inside, EMPTY_TEXT), at)


def sequence(parts: list[Piece]) -> Piece:
    """The parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    anchor = _first_anchor(parts)
    if anchor is None:
        return plain(_joined([p.variants[0] for p in parts]) or NO_TEXT)
    before = _known_empty(parts)
    after = list(reversed(_known_empty(parts[::-1])))
    chosen: list[list[Variant | None]] = [[], [], [], []]
    for part, empty_before, empty_after in zip(parts, before, after, strict=True):
        for i in range(4):
            cases = [part.variants[2 * b + e] for b in _cases(i >> 1, empty_before) for e in _cases(i & 1, empty_after)]
            chosen[i].append(cases[0] if all(c is cases[0] for c in cases) else None)
    return _combined(chosen, _joined, anchor)


def choice(options: list[Piece]) -> Piece:
    """Any one of the options."""
    if len(options) == 1:
        return options[0]
    return _by_variant(options, _chosen)


def repeat(body: Piece, least: int, most: int | None) -> Piece:
    """The body, `least` to `most` times."""
    alike = all(v is body.variants[0] for v in body.variants)
    if alike or most in (0, 1):
        return _by_variant([body], lambda variants: None if variants[0] is None else _repeated(variants[0], least, most))
    return Piece((None, None, None, None), body.anchor)


def _cases(whole: int, empty: bool | None) -> tuple[int, ...]:
    """Whether the text begins (or ends) at a part of a sequence where `whole` says so of the sequence."""
    if not whole or empty is False:
        return (0,)
    return (1,) if empty else (0, 1)


def _known_empty(parts: list[Piece]) -> list[bool | None]:
    """Per part, whether those before it match nothing but the empty text: yes, no, or it depends."""
    known: list[bool | None] = []
    empty: bool | None = True
    for part in parts:
        known.append(empty)
        if part.never_empty:
            empty = False
        elif empty is True and not part.always_empty:
            empty = None
    return known


def _first_anchor(pieces: list[Piece]) -> int | None:
    return min((p.anchor for p in pieces if p.anchor is not None), default=None)


def _by_variant(pieces: list[Piece], combine: Combine) -> Piece:
    anchor = _first_anchor(pieces)
    if anchor is None:
        variant = combine([p.variants[0] for p in pieces])
        return Piece((variant, variant, variant, variant))
    return _combined([[p.variants[i] for p in pieces] for i in range(4)], combine, anchor)


def _combined(chosen: list[list[Variant | None]], combine: Combine, anchor: int) -> Piece:
    """What does not depend on where it lies stays one variant, so that it is seen not to."""
    known: dict[tuple[int, ...], Variant | None] = {}
    for variants in chosen:
        key = tuple(map(id, variants))
        if key not in known:
            known[key] = combine(variants)
    a, b, c, d = (known[tuple(map(id, variants))] for variants in chosen)
    return Piece((a, b, c, d), anchor)


def _joined(variants: Iterable[Variant | None]) -> Variant | None:
    found: list[Variant] = []
    impossible = unknown = False
    for v in variants:
        if v is None:
            unknown = True
        elif not (v.empty or v.nonempty):
            impossible = True
        else:
            found.append(v)
    if impossible or unknown:
        return NO_TEXT if impossible else None
    parts: list[Expression] = []
    text: list[str] = []
    for v in found:
        if isinstance(v.expression, Literal):
            text.append(v.expression.text)
            continue
        if text and any(text):
            parts.append(Literal("".join(text)))
        text = []
        parts.append(v.expression)
    if any(text):
        parts.append(Literal("".join(text)))
    whole = parts[0] if len(parts) == 1 else Sequence(tuple(parts)) if parts else EMPTY
    return Variant(whole, all(v.empty for v in found), any(v.nonempty for v in found))


def _chosen(variants: list[Variant | None]) -> Variant | None:
    found: list[Variant] = []
    for v in variants:
        if v is None:
            return None
        if v.empty or v.nonempty:
            found.append(v)
    if len(found) < 2:
        return found[0] if found else NO_TEXT
    options = Choice(tuple(v.expression for v in found))
    return Variant(options, any(v.empty for v in found), any(v.nonempty for v in found))


def _repeated(body: Variant, least: int, most: int | None) -> Variant:
    if least == most == 1:
        return body
    if most == 0 or (least == 0 and not body.nonempty):
        return EMPTY_TEXT
    if not body.nonempty:  # the empty text alone, or nothing
        return body
    return Variant(Repeat(body.expression, least, most), least == 0 or body.empty, True)
