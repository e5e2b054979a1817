"""Rules as a recursive transition network, made as it is visited.

A state is a number that stands for what is left of a rule's expression: the rest of a sequence, one repetition fewer. State 0 has
nothing left. Counts are part of states, so a repetition of a million costs only the states that a text visits.

Cost: a state is made once, in a few us for each alternative there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NewType

from psc.compiler.expressions.expression import Automaton, Chars, Choice, Expression, Literal, Reference, Repeat, Sequence
from psc.errors import ResourceLimitError
from psc.support.limits import limit

NetworkState = NewType("NetworkState", int)
END: Final = NetworkState(0)
"""The state with nothing left."""
MAX_STATES: Final = limit("record_positions")
"""Of one network, and on the way from a state without reading."""

_Read = tuple[tuple[int, ...], tuple[int, ...], NetworkState]
"""The first and the last symbols of ranges, ascending, and the state after them."""
_Arc = tuple[tuple[int, ...], tuple[int, ...], int]
"""The same, with a state of an `Automaton`."""


@dataclass(slots=True)
class Moves:
    """What may come next in a state."""

    reads: list[_Read] = field(default_factory=list)
    calls: list[tuple[str, NetworkState]] = field(default_factory=list)
    """Rules, and the state after each."""
    ends: bool = False
    """Whether the rule may end here."""


class Network:
    """The states of some rules.

    Args:
        rules: by name, with all those that they refer to.
    """

    def __init__(self, rules: Mapping[str, Expression]) -> None:
        self._rules = rules
        self._starts: dict[str, NetworkState] = {}
        self._expressions: list[tuple[Expression, int, int, NetworkState]] = [(Literal(""), 0, 0, END)]
        self._numbers: dict[tuple[int, int, int, NetworkState], NetworkState] = {}
        self._moves: dict[NetworkState, Moves] = {END: Moves(ends=True)}
        self._steps: dict[tuple[NetworkState, int], tuple[NetworkState, ...]] = {}
        self._arcs: dict[int, list[list[_Arc]]] = {}

    def start(self, rule: str) -> NetworkState:
        """The state where a rule begins."""
        state = self._starts.get(rule)
        if state is None:
            state = self._starts[rule] = self._state(self._rules[rule], END)
        return state

    def moves(self, state: NetworkState) -> Moves:
        """What may come next in a state."""
        moves = self._moves.get(state)
        if moves is None:
            moves = self._moves[state] = self._explore(state)
        return moves

    def step(self, state: NetworkState, symbol: int) -> tuple[NetworkState, ...]:
        """The states after a symbol: a code point, or a token's."""
        key = state, symbol
        after = self._steps.get(key)
        if after is None:
            targets = [_read(reads, symbol) for reads in self.moves(state).reads]
            after = self._steps[key] = tuple([target for target in targets if target is not None])
        return after

    def reads_within(self, state: NetworkState, first: int, last: int) -> bool:
        """Whether a state can read a symbol of a range."""
        for firsts, lasts, _ in self.moves(state).reads:
            i = bisect_right(firsts, last) - 1
            if i >= 0 and lasts[i] >= first:
                return True
        return False

    def _state(self, e: Expression, rest: NetworkState, a: int | None = None, b: int | None = None) -> NetworkState:
        """The number of a state: the rest of `e`, then `rest`.

        (a, b) are the repetitions left, least and most; or `a` is the number of characters read, or the automaton's state.
        """
        if a is None or b is None:
            a, b = (e.least, -1 if e.most is None else e.most) if isinstance(e, Repeat) else (0, 0)
        key = id(e), a, b, rest
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = NetworkState(len(self._expressions))
            if number >= MAX_STATES:
                raise ResourceLimitError(f"more than {MAX_STATES:,} places in the rules of one text, which is the limit")
            self._expressions.append((e, a, b, rest))  # which keeps the expression alive, and so its id unique
        return number

    def _explore(self, start: NetworkState) -> Moves:
        moves = Moves()
        todo, seen = [start], {start}

        def go(state: NetworkState) -> None:
            if state not in seen:
                if len(todo) >= MAX_STATES:
                    raise ResourceLimitError(f"more than {MAX_STATES:,} places without a symbol between them, which is the limit")
                seen.add(state)
                todo.append(state)

        for state in todo:  # which grows
            if state == END:
                moves.ends = True
                continue
            e, a, b, rest = self._expressions[state]
            if isinstance(e, Literal):
                if a == len(e.text):
                    go(rest)
                else:
                    code = ord(e.text[a])
                    moves.reads.append(((code,), (code,), self._state(e, rest, a + 1, 0)))
            elif isinstance(e, Chars):
                moves.reads.append((*_bounds(e.ranges), rest))
            elif isinstance(e, Sequence):
                for part in reversed(e.parts):
                    rest = self._state(part, rest)
                go(rest)
            elif isinstance(e, Choice):
                for option in e.options:
                    go(self._state(option, rest))
            elif isinstance(e, Repeat):
                if a == 0:
                    go(rest)
                if b != 0:
                    go(self._state(e.body, self._state(e, rest, max(a - 1, 0), b if b < 0 else b - 1)))
            elif isinstance(e, Automaton):
                if e.accepts[a]:
                    go(rest)
                moves.reads += [(firsts, lasts, self._state(e, rest, target, 0)) for firsts, lasts, target in self._leaving(e)[a]]
            else:
                assert isinstance(e, Reference)
                moves.calls.append((e.name, rest))
        return moves

    def _leaving(self, automaton: Automaton) -> list[list[_Arc]]:
        arcs = self._arcs.get(id(automaton))
        if arcs is None:
            arcs = self._arcs[id(automaton)] = [[] for _ in automaton.accepts]
            for (source, target), ranges in automaton.between().items():
                arcs[source].append((*_bounds(ranges), target))
        return arcs


def _bounds(ranges: tuple[tuple[int, int], ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple([first for first, _ in ranges]), tuple([last for _, last in ranges])


def _read(reads: _Read, symbol: int) -> NetworkState | None:
    firsts, lasts, target = reads
    i = bisect_right(firsts, symbol) - 1
    return target if i >= 0 and symbol <= lasts[i] else None
