"""Expressions with every part numbered once: equal parts are one node, and nodes are kept simple as they are made.

The simplifications keep the language and matter for what follows: neighbours that repeat the same body become one repetition, and
a repetition of a repetition becomes one where the counts that it allows have no gaps, so that ``ws ws`` and ``(x{1,9}){0,9}`` do
not become ambiguous. Each node carries what the lowering asks of it. Cost: constant per node made, for nodes of bounded width.
"""

from __future__ import annotations

from collections.abc import Iterable

from psc.compiler.expressions import Chars, Choice, Expression, Literal, Reference, Repeat, Sequence
from psc.errors import ResourceLimitError

LITERAL, CHARS, SEQUENCE, CHOICE, REPEAT, REFERENCE = range(6)

MAX_COUNT = 10**18
"""The largest bound of a repetition, when repetitions of repetitions have become one."""
SIZE_CAP = 1 << 40
"""Sizes are counted up to this."""

Ranges = tuple[tuple[int, int], ...]


class ExpressionGraph:
    """Nodes by number; parts have smaller numbers than what they are part of."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[object, ...], int] = {}
        self.kind: list[int] = []
        self.value: list[object] = []
        """The text of a literal, the ranges of a class, the bounds of a repetition, the name of a reference."""
        self.parts: list[tuple[int, ...]] = []
        self.size: list[int] = []
        """Positions after unrolling bounded repetitions: characters of literals, and classes; a reference counts as one."""
        self.counted: list[int] = []
        """The size of the largest repetition within that has to be unrolled because it counts."""
        self.free: list[bool] = []
        """Whether it repeats characters of a large class without limit, as the inside of a quoted text does."""
        self._has_large_class: list[bool] = []
        self.depth: list[int] = []
        self.nullable: list[bool] = []
        """Whether the empty text matches, references taken to match something."""
        self.names: list[frozenset[str]] = []
        """The rules referred to."""
        self.empty = self._new(LITERAL, "", (), 0, 1, True, _NO_NAMES)
        self.nothing = self._new(CHOICE, None, (), 0, 1, False, _NO_NAMES)
        self._rest_nonempty: dict[int, int] = {}

    def _new(
        self, kind: int, value: object, parts: tuple[int, ...], size: int, depth: int, nullable: bool, names: frozenset[str]
    ) -> int:
        number = self._numbers[kind, value, parts] = len(self.kind)
        self.kind.append(kind)
        self.value.append(value)
        self.parts.append(parts)
        self.size.append(min(size, SIZE_CAP))
        large = any([self._has_large_class[p] for p in parts])
        if kind == CHARS:
            large = sum([high - low + 1 for low, high in value]) >= _LARGE_CLASS  # type: ignore[attr-defined]
        self._has_large_class.append(large)
        repeats = kind == REPEAT and value[1] is None  # type: ignore[index]
        self.free.append((large and repeats) or any([self.free[p] for p in parts]))
        counted = max([self.counted[p] for p in parts], default=0)
        self.counted.append(self.size[-1] if kind == REPEAT and value not in _UNCOUNTED else counted)
        self.depth.append(depth)
        self.nullable.append(nullable)
        self.names.append(names)
        return number

    def literal(self, text: str) -> int:
        number = self._numbers.get((LITERAL, text, ()))
        return self._new(LITERAL, text, (), len(text), 1, False, _NO_NAMES) if number is None else number

    def chars(self, ranges: Ranges) -> int:
        if not ranges:
            return self.nothing
        if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
            return self.literal(chr(ranges[0][0]))
        number = self._numbers.get((CHARS, ranges, ()))
        return self._new(CHARS, ranges, (), 1, 1, False, _NO_NAMES) if number is None else number

    def reference(self, name: str) -> int:
        number = self._numbers.get((REFERENCE, name, ()))
        return self._new(REFERENCE, name, (), 1, 1, False, frozenset((name,))) if number is None else number

    def sequence(self, parts: Iterable[int]) -> int:
        kinds, values = self.kind, self.value
        flat: list[int] = []
        text: list[str] = []  # literals in a row, made one at the end of the row: one for each of its prefixes is quadratic
        for part in parts:
            for p in self.parts[part] if kinds[part] == SEQUENCE else (part,):
                if p == self.nothing:
                    return self.nothing
                if p == self.empty:
                    continue
                if text and kinds[p] == LITERAL:
                    text.append(str(values[p]))
                    continue
                if text:
                    flat.append(self.literal("".join(text)))
                    text = []
                if flat and (joined := self._join(flat[-1], p)) is not None:
                    flat[-1] = joined
                elif kinds[p] == LITERAL:
                    text.append(str(values[p]))
                else:
                    flat.append(p)
        if text:
            flat.append(self.literal("".join(text)))
        if len(flat) < 2:
            return flat[0] if flat else self.empty
        return self._composite(SEQUENCE, tuple(flat))

    def _join(self, left: int, right: int) -> int | None:
        """One repetition for two neighbours of which one repeats, where both are of the same body: x{a,b} x{c,d} = x{a+c,b+d}."""
        left_repeats, right_repeats = self.kind[left] == REPEAT, self.kind[right] == REPEAT
        if not (left_repeats or right_repeats):
            return None
        body = self.parts[left][0] if left_repeats else left
        if body != (self.parts[right][0] if right_repeats else right):
            return None
        a, b = self.bounds(left) if left_repeats else (1, 1)
        c, d = self.bounds(right) if right_repeats else (1, 1)
        return self.repeat(body, a + c, None if b is None or d is None else b + d)

    def choice(self, options: Iterable[int]) -> int:
        flat: dict[int, None] = {}
        characters: list[tuple[int, int]] = []
        first_characters = self.nothing
        for option in options:
            for o in self.parts[option] if self.kind[option] == CHOICE else (option,):
                if self.kind[o] == CHARS:
                    characters += self.value[o]  # type: ignore[arg-type]
                elif self.kind[o] == LITERAL and self.size[o] == 1:
                    code = ord(str(self.value[o]))
                    characters.append((code, code))
                else:
                    flat[o] = None
                    continue
                if first_characters == self.nothing:
                    first_characters = o
                flat[first_characters] = None
        if len(characters) > 1:
            flat = {self.chars(merged_ranges(characters)) if o == first_characters else o: None for o in flat}
        if len(flat) < 2:
            return next(iter(flat), self.nothing)
        if self.empty in flat and len(flat) == 2:
            (other,) = (o for o in flat if o != self.empty)
            return self.repeat(other, 0, 1)
        return self._composite(CHOICE, tuple(flat))

    def bounds(self, node: int) -> tuple[int, int | None]:
        """Of a repetition."""
        bounds: tuple[int, int | None] = self.value[node]  # type: ignore[assignment]
        return bounds

    def repeat(self, body: int, least: int, most: int | None) -> int:
        if (least, most) == (1, 1):
            return body
        if max(least, most or 0) > MAX_COUNT:
            raise ResourceLimitError(
                f"repetitions inside each other count above {MAX_COUNT:,}, which is the limit; leave a bound open"
            )
        if most == 0 or body == self.empty:
            return self.empty
        if body == self.nothing:
            return self.nothing if least else self.empty
        if self.kind[body] == REPEAT:
            a, b = self.bounds(body)
            # Of k bodies, k*a to k*b are possible; no gap to those of k+1 from k = least on.
            seamless = least == most or b is None or least * b + 1 >= (least + 1) * a
            if a == 0 or (seamless and not (b is None and a > 1 and least == 0)):
                most_inner = None if b is None or most is None else b * most
                return self.repeat(self.parts[body][0], a * least, most_inner)
        if self.nullable[body] and not self.names[body] and self.separable(body):
            return self.repeat(self.nonempty(body), 0, most)
        number = self._numbers.get((REPEAT, (least, most), (body,)))
        if number is not None:
            return number
        size = self.size[body] * (max(least, 1) if most is None else most)
        nullable = least == 0 or self.nullable[body]
        return self._new(REPEAT, (least, most), (body,), size, self.depth[body] + 1, nullable, self.names[body])

    def _composite(self, kind: int, parts: tuple[int, ...]) -> int:
        number = self._numbers.get((kind, None, parts))
        if number is not None:
            return number
        nullable = (all if kind == SEQUENCE else any)([self.nullable[p] for p in parts])
        names = frozenset().union(*[self.names[p] for p in parts])
        depth = max([self.depth[p] for p in parts]) + 1
        return self._new(kind, None, parts, sum([self.size[p] for p in parts]), depth, nullable, names)

    def rebuild(self, node: int, parts: list[int]) -> int:
        """The node with other parts, simplified."""
        kind = self.kind[node]
        if kind == SEQUENCE:
            return self.sequence(parts)
        if kind == CHOICE:
            return self.choice(parts)
        if kind == REPEAT:
            return self.repeat(parts[0], *self.bounds(node))
        return node

    def separable(self, node: int) -> bool:
        """Whether :meth:`nonempty` stays small: no sequence of many parts that can all be empty."""
        if not self.nullable[node] or not self.parts[node]:
            return True
        parts = self.parts[node]
        return (self.kind[node] != SEQUENCE or len(parts) <= _MOST_NULLABLE_PARTS) and all([self.separable(p) for p in parts])

    def nonempty(self, node: int) -> int:
        """The same language without the empty text, of a node without references. Cost: quadratic in a sequence's width."""
        if not self.nullable[node]:
            return node
        if node == self.empty:
            return self.nothing
        known = self._rest_nonempty.get(node)
        if known is not None:
            return known
        parts = self.parts[node]
        if self.kind[node] == CHOICE:
            found = self.choice([self.nonempty(p) for p in parts])
        elif self.kind[node] == REPEAT:
            least, most = self.bounds(node)
            found = self.repeat(self.nonempty(parts[0]), max(1, least) if not self.nullable[parts[0]] else 1, most)
        else:
            found = self.choice([self.sequence((self.nonempty(p), *parts[i + 1 :])) for i, p in enumerate(parts)])
        self._rest_nonempty[node] = found
        return found

    def expression(self, node: int) -> Expression:
        """The node as an expression. Recursive: for nodes of bounded depth."""
        kind, value = self.kind[node], self.value[node]
        if kind == LITERAL:
            return Literal(str(value))
        if kind == CHARS:
            return Chars(value)  # type: ignore[arg-type]
        if kind == REFERENCE:
            return Reference(str(value))
        parts = [self.expression(p) for p in self.parts[node]]
        if kind == REPEAT:
            return Repeat(parts[0], *self.bounds(node))
        return Sequence(tuple(parts)) if kind == SEQUENCE else Choice(tuple(parts))


def merged_ranges(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The ranges ascending, with those that overlap or touch made one."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


_NO_NAMES: frozenset[str] = frozenset()
_MOST_NULLABLE_PARTS = 16
_LARGE_CLASS = 128
_UNCOUNTED = ((0, None), (1, None), (0, 1))
