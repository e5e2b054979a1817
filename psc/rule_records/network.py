"""Rules as a recursive transition network, made as it is visited.

A *place* is a number that stands for what is left of a rule's expression: the rest of a sequence, one repetition fewer. Place 0 has
nothing left. Counts are kept in places, so that a repetition of a million costs only what a text goes through.

Cost: a place is made once, in a few us for each alternative there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from psc.compiler.expressions.expression import Automaton, Chars, Choice, Expression, Literal, Reference, Repeat, Sequence
from psc.errors import ResourceLimitError

END: Final = 0
"""The place with nothing left."""
MAX_PLACES: Final = 1_000_000
"""Of one network, and on the way from a place without reading."""

_Read = tuple[tuple[int, ...], tuple[int, ...], int]
"""The first and the last symbols of ranges, ascending, and the place behind."""


@dataclass(slots=True)
class Moves:
    """What may come next at a place."""

    reads: list[_Read] = field(default_factory=list)
    calls: list[tuple[str, int]] = field(default_factory=list)
    """Rules, and the place behind each."""
    ends: bool = False
    """Whether nothing needs to come."""


class Network:
    """The places of some rules.

    Args:
        rules: by name; each that is referred to is among them.
    """

    def __init__(self, rules: Mapping[str, Expression]) -> None:
        self._rules = rules
        self._starts: dict[str, int] = {}
        self._expressions: list[tuple[Expression, int, int, int]] = [(Literal(""), 0, 0, END)]
        self._numbers: dict[tuple[int, int, int, int], int] = {}
        self._moves: dict[int, Moves] = {END: Moves(ends=True)}
        self._steps: dict[tuple[int, int], tuple[int, ...]] = {}
        self._arcs: dict[int, list[list[_Read]]] = {}

    def start(self, rule: str) -> int:
        """The place where a rule begins."""
        place = self._starts.get(rule)
        if place is None:
            place = self._starts[rule] = self._place(self._rules[rule], END)
        return place

    def moves(self, place: int) -> Moves:
        """What may come at a place."""
        found = self._moves.get(place)
        if found is None:
            found = self._moves[place] = self._found(place)
        return found

    def step(self, place: int, symbol: int) -> tuple[int, ...]:
        """The places behind a symbol: a code point, or a token's."""
        key = place, symbol
        found = self._steps.get(key)
        if found is None:
            targets = [_read(reads, symbol) for reads in self.moves(place).reads]
            found = self._steps[key] = tuple([target for target in targets if target is not None])
        return found

    def reads_within(self, place: int, first: int, last: int) -> bool:
        """Whether a symbol of a range can come at a place."""
        for firsts, lasts, _ in self.moves(place).reads:
            i = bisect_right(firsts, last) - 1
            if i >= 0 and lasts[i] >= first:
                return True
        return False

    def _place(self, e: Expression, rest: int, a: int | None = None, b: int | None = None) -> int:
        """The number of a place: (least, most) of a repetition are left, or so many characters were read, or a state is reached."""
        if a is None or b is None:
            a, b = (e.least, -1 if e.most is None else e.most) if isinstance(e, Repeat) else (0, 0)
        key = id(e), a, b, rest
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._expressions)
            if number >= MAX_PLACES:
                raise ResourceLimitError(f"more than {MAX_PLACES:,} places in the rules of one text, which is the limit")
            self._expressions.append((e, a, b, rest))  # which keeps the expression, and so its id
        return number

    def _found(self, start: int) -> Moves:
        moves = Moves()
        todo, seen = [start], {start}

        def go(place: int) -> None:
            if place not in seen:
                if len(todo) >= MAX_PLACES:
                    raise ResourceLimitError(f"more than {MAX_PLACES:,} places without a symbol between them, which is the limit")
                seen.add(place)
                todo.append(place)

        for place in todo:  # which grows
            if place == END:
                moves.ends = True
                continue
            e, a, b, rest = self._expressions[place]
            if isinstance(e, Literal):
                if a == len(e.text):
                    go(rest)
                else:
                    code = ord(e.text[a])
                    moves.reads.append(((code,), (code,), self._place(e, rest, a + 1, 0)))
            elif isinstance(e, Chars):
                moves.reads.append(_reading(e.ranges, rest))
            elif isinstance(e, Sequence):
                for part in reversed(e.parts):
                    rest = self._place(part, rest)
                go(rest)
            elif isinstance(e, Choice):
                for option in e.options:
                    go(self._place(option, rest))
            elif isinstance(e, Repeat):
                if a == 0:
                    go(rest)
                if b != 0:
                    go(self._place(e.body, self._place(e, rest, max(a - 1, 0), b if b < 0 else b - 1)))
            elif isinstance(e, Automaton):
                if e.accepts[a]:
                    go(rest)
                moves.reads += [(firsts, lasts, self._place(e, rest, state, 0)) for firsts, lasts, state in self._leaving(e)[a]]
            else:
                assert isinstance(e, Reference)
                moves.calls.append((e.name, rest))
        return moves

    def _leaving(self, automaton: Automaton) -> list[list[_Read]]:
        found = self._arcs.get(id(automaton))
        if found is None:
            found = self._arcs[id(automaton)] = [[] for _ in automaton.accepts]
            for (source, target), ranges in automaton.between().items():
                found[source].append(_reading(ranges, target))
        return found


def _reading(ranges: tuple[tuple[int, int], ...], target: int) -> _Read:
    return tuple([first for first, _ in ranges]), tuple([last for _, last in ranges]), target


def _read(reads: _Read, symbol: int) -> int | None:
    firsts, lasts, target = reads
    i = bisect_right(firsts, symbol) - 1
    return target if i >= 0 and symbol <= lasts[i] else None
