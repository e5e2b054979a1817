"""A rule of the lexer with `*?`, `+?` or `??` as the automaton of the texts that ANTLR's lexer matches with it.

ANTLR runs all ways through a rule side by side, in order: a greedy loop tries its body first, a lazy one its end. When one of them
has reached the end of the rule, the lexer drops those behind it that have passed a lazy decision. What is left may match on. So
`'/*' .*? '*/'` ends with the first `*/`, and `'a' .*? 'b' | 'a' [a-z]*` may go on behind a `b`. A state of the automaton is the
ways that are left, in their order, each with whether it has passed a lazy decision.

Cost: about 10 us a state and a range of characters; at most :data:`MAX_STATES` states.
Source: LexerATNSimulator of ANTLR's runtime, getReachableConfigSet and closure.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Final

from psc._core import stop_if_cancelled
from psc.compiler.expressions.automata import explored
from psc.compiler.expressions.expression import Chars, Choice, Expression, Literal, Repeat, Sequence
from psc.errors import ResourceLimitError

MAX_STATES: Final = 2_000
_MAX_COPIES: Final = 20_000
"""Characters and decisions of a rule with all rules in it written out."""

_Ways = tuple[tuple[int, bool], ...]
"""Places in order, each with whether a lazy decision was passed on the way to it."""


class Lazy:
    """Makes the places of one rule, from its end to its beginning, and then the automaton.

    Args:
        too_large: makes the error for a rule that exceeds a limit.
    """

    END: Final = 0

    def __init__(self, too_large: ResourceLimitError) -> None:
        self._too_large = too_large
        self._next: list[tuple[int, ...]] = [()]
        """Per place where it leads without a character, in order."""
        self._characters: list[tuple[tuple[tuple[int, int], ...], int] | None] = [None]
        """Per place, the ranges with which it leads to another one."""
        self._is_lazy: list[bool] = [False]

    def place(self, *following: int, is_lazy: bool = False) -> int:
        """A place that leads to others, the first of them first."""
        self._next.append(following)
        self._characters.append(None)
        self._is_lazy.append(is_lazy)
        if len(self._next) > _MAX_COPIES:
            raise self._too_large
        return len(self._next) - 1

    def before(self, expression: Expression, end: int) -> int:
        """The place from which an expression without references leads to an end."""
        if isinstance(expression, Literal):
            for character in reversed(expression.text):
                end = self._character(((ord(character), ord(character)),), end)
            return end
        if isinstance(expression, Chars):
            return self._character(expression.ranges, end)
        if isinstance(expression, Sequence):
            for part in reversed(expression.parts):
                end = self.before(part, end)
            return end
        if isinstance(expression, Choice):
            return self.place(*[self.before(option, end) for option in expression.options])
        assert isinstance(expression, Repeat)
        return self.repeated(lambda to: self.before(expression.body, to), expression.least, expression.most, False, end)

    def repeated(self, body: Callable[[int], int], least: int, most: int | None, is_lazy: bool, end: int) -> int:
        """The place before a repetition; `body` gives the place before one time of it."""
        if most == 1:
            inner = body(end)
            return self.place(*((end, inner) if is_lazy else (inner, end)), is_lazy=is_lazy)
        decision = self.place(is_lazy=is_lazy)
        inner = body(decision)
        self._next[decision] = (end, inner) if is_lazy else (inner, end)
        return inner if least else decision

    def _character(self, ranges: tuple[tuple[int, int], ...], end: int) -> int:
        place = self.place()
        self._characters[place] = ranges, end
        return place

    def automaton(self, start: int) -> Expression:
        """The texts from a place to the end, but for the empty one."""
        first = self._closure([(start, False)], drops=False)[0]

        def too_large() -> ResourceLimitError:
            return self._too_large

        # The state is first with whether it is the start, since no lexeme is empty.
        return explored(
            (True, first),
            lambda state: [(low, high, (False, ways)) for low, high, ways in self._leaving(state[1])],
            lambda state: not state[0] and any(place == self.END for place, _ in state[1]),
            MAX_STATES,
            too_large,
        )

    def _leaving(self, ways: _Ways) -> list[tuple[int, int, _Ways]]:
        stop_if_cancelled()
        bounds: set[int] = set()
        for place, _ in ways:
            found = self._characters[place]
            if found is not None:
                for low, high in found[0]:
                    bounds.update((low, high + 1))
        ascending = sorted(bounds)
        leaving = []
        for low, after in pairwise(ascending):
            reached = self._with(ways, low)
            if reached:
                leaving.append((low, after - 1, reached))
        return leaving

    def _with(self, ways: _Ways, character: int) -> _Ways:
        """The ways that are left behind a character."""
        reached: dict[tuple[int, bool], None] = {}
        ended = False
        for place, passed in ways:
            found = self._characters[place]
            if found is None or (ended and passed) or not any(low <= character <= high for low, high in found[0]):
                continue
            more, ended = self._closure([(found[1], passed)], drops=ended)
            reached.update(dict.fromkeys(more))
        return tuple(reached)

    def _closure(self, todo: list[tuple[int, bool]], *, drops: bool) -> tuple[_Ways, bool]:
        """What some places lead to without a character, in order, and whether the end was reached."""
        found: dict[tuple[int, bool], None] = {}
        seen: set[tuple[int, bool]] = set()
        while todo:
            place, passed = todo.pop()
            passed = passed or self._is_lazy[place]
            if (place, passed) in seen:
                continue
            seen.add((place, passed))
            if place == self.END:
                found[place, passed] = None
                drops = True
            elif self._characters[place] is not None:
                if not (drops and passed):
                    found[place, passed] = None
            else:
                todo += [(following, passed) for following in reversed(self._next[place])]
        return tuple(found), drops
