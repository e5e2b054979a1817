"""Rules with limits on their texts: a greatest number of characters, texts that must not be inside, the shortest texts only.

A limit is a regular set, and a rule's texts are one where the rule refers to itself at its ends only (``r ::= [a-z] r | "."``). So
a rule with limits becomes a deterministic automaton over characters, and the automaton of each limit runs beside it. What needs
none of it (a repetition of a class, parts of known length) is bounded as an expression, whatever the limit is.

A token counts as one character, and no excluded text reaches across a token.

Cost: states of the rule's automaton times those of the limits; `MAX_STATES` bounds them, with 5 us for each and for each arc.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Final

from psc.compiler.expressions.automata import Arc, arcs_by_state, explored, trimmed
from psc.compiler.expressions.expression import (
    EMPTY,
    MAX_CODE_POINT,
    NOTHING,
    Automaton,
    Chars,
    Choice,
    Expression,
    Literal,
    Reference,
    Repeat,
    Sequence,
)
from psc.compiler.expressions.text_sets import expression_of, without
from psc.errors import GrammarError, ResourceLimitError
from psc.support.limits import limit

MAX_STATES: Final = limit("limited_rule_states")
"""Of an automaton, deterministic or not."""
MAX_DEPTH: Final = limit("limited_rule_depth")
"""Expressions and rules within each other."""


@dataclass(frozen=True)
class TextLimits:
    """What a rule's texts are limited to."""

    max_chars: int | None = None
    """Characters; None is without limit."""
    excludes: tuple[str, ...] = ()
    """No text has one of these inside."""
    shortest: bool = False
    """Only texts of which no beginning is a text of the rule."""

    def __bool__(self) -> bool:
        return self.max_chars is not None or bool(self.excludes) or self.shortest


def limited_rules(rules: Mapping[str, Expression], limits: Mapping[str, TextLimits]) -> dict[str, Expression]:
    """The rules, of which some are limited.

    Args:
        rules: by name; each that is referred to is among them.
        limits: of some of them.

    Raises:
        GrammarError: a limited rule refers to itself, or to one that does, in another place than its end.
        ResourceLimitError: an automaton has too many states.
    """
    return _Limiter(rules, limits).all()


class _Limiter:
    def __init__(self, rules: Mapping[str, Expression], limits: Mapping[str, TextLimits]) -> None:
        self._rules = rules
        self._limits = {name: limit for name, limit in limits.items() if limit}
        self._done: dict[str, Expression] = {}
        self._under_way: list[str] = []

    def all(self) -> dict[str, Expression]:
        """Every rule, with the limits that it has."""
        return {name: self._limited(name) if name in self._limits else e for name, e in self._rules.items()}

    def _limited(self, name: str) -> Expression:
        if name not in self._done:
            self._under_way.append(name)
            self._done[name] = self._apply(name, self._limits[name])
            self._under_way.pop()
        return self._done[name]

    def _apply(self, name: str, limit: TextLimits) -> Expression:
        expression = self._rules[name]
        if limit.excludes or limit.shortest:
            expression = self._automaton(name)
        most = limit.max_chars
        bounded = expression if most is None else _bounded(expression, most)
        if bounded is None and most is not None:
            counted = self._automaton(name) if expression is self._rules[name] else expression
            bounded = counted if not isinstance(counted, Automaton) else _product(counted, _count(most), f"max_chars={most}", name)
        assert bounded is not None
        return bounded

    def _automaton(self, name: str) -> Expression:
        limit = self._limits[name]
        automaton: Expression = _deterministic(self._nfa(name))
        if limit.excludes and isinstance(automaton, Automaton):
            searching = expression_of(without(limit.excludes))
            assert isinstance(searching, Automaton)  # there are always characters that begin none of them
            automaton = _product(automaton, _following(searching), "excludes", name)
        if limit.shortest and isinstance(automaton, Automaton):
            accepts = automaton.accepts
            automaton = trimmed(
                accepts, [[] if over else arcs for over, arcs in zip(accepts, arcs_by_state(automaton), strict=True)]
            )
        return automaton

    def _nfa(self, name: str) -> _Nfa:
        nfa = _Nfa(name)
        final = nfa.new()
        open_rules: dict[str, tuple[int, int]] = {}
        self._write(nfa, Reference(name), nfa.start, final, open_rules, 0)
        nfa.final = final
        return nfa

    def _write(self, nfa: _Nfa, e: Expression, start: int, end: int, open_rules: dict[str, tuple[int, int]], depth: int) -> None:
        """Writes ways from a state to another one that read the texts of an expression."""
        if depth > MAX_DEPTH:
            raise ResourceLimitError(
                f"rule {nfa.rule!r}, whose texts are limited: expressions are nested more than {MAX_DEPTH} deep, which is the limit"
            )
        if isinstance(e, Literal):
            for c in e.text[:-1]:
                start = nfa.step(start, ((ord(c), ord(c)),))
            if e.text:
                nfa.arc(start, ((ord(e.text[-1]), ord(e.text[-1])),), end)
            else:
                nfa.empty[start].append(end)
        elif isinstance(e, Chars):
            nfa.arc(start, e.ranges, end)
        elif isinstance(e, Sequence):
            for part in e.parts[:-1]:
                after = nfa.new()
                self._write(nfa, part, start, after, open_rules, depth + 1)
                start = after
            self._write(nfa, e.parts[-1] if e.parts else EMPTY, start, end, open_rules, depth + 1)
        elif isinstance(e, Choice):
            for option in e.options:
                self._write(nfa, option, start, end, open_rules, depth + 1)
        elif isinstance(e, Repeat):
            self._write_repeat(nfa, e, start, end, open_rules, depth)
        elif isinstance(e, Automaton):
            states = [start, *(nfa.new() for _ in e.accepts[1:])]
            if any(target == 0 for _, _, _, target in e.arcs):  # what comes back must not be taken for what comes in
                states[0] = nfa.new()
                nfa.empty[start].append(states[0])
            for source, first, last, target in e.arcs:
                nfa.arc(states[source], ((first, last),), states[target])
            for state, accepts in zip(states, e.accepts, strict=True):
                if accepts:
                    nfa.empty[state].append(end)
        else:
            self._write_rule(nfa, e.name, start, end, open_rules, depth)

    def _write_rule(self, nfa: _Nfa, name: str, start: int, end: int, open_rules: dict[str, tuple[int, int]], depth: int) -> None:
        if name in open_rules:
            begin, its_end = open_rules[name]
            if end != its_end:
                raise GrammarError(
                    f"rule {nfa.rule!r}: limits on its texts need rules that are recursive at their ends only, and {name!r} is "
                    "recursive elsewhere; write it with * or +, or leave the limits out"
                )
            nfa.empty[start].append(begin)
            return
        if name in self._limits:
            if name in self._under_way and depth:  # at depth 0 it is the rule itself
                raise GrammarError(
                    f"rule {nfa.rule!r}: limits on its texts need rules that do not need each other, and {name!r}, which is "
                    "limited, needs it; limit one of them"
                )
            if depth:
                self._write(nfa, self._limited(name), start, end, {}, depth + 1)
                return
        begin = nfa.new()
        nfa.empty[start].append(begin)
        self._write(nfa, self._rules[name], begin, end, {**open_rules, name: (begin, end)}, depth + 1)

    def _write_repeat(self, nfa: _Nfa, e: Repeat, start: int, end: int, open_rules: dict[str, tuple[int, int]], depth: int) -> None:
        for _ in range(e.least):
            after = nfa.new()
            self._write(nfa, e.body, start, after, open_rules, depth + 1)
            start = after
        if e.most is None:
            loop = nfa.new()
            nfa.empty[start].append(loop)
            back = nfa.new()
            self._write(nfa, e.body, loop, back, open_rules, depth + 1)
            nfa.empty[back].append(loop)
            nfa.empty[loop].append(end)
            return
        for _ in range(e.most - e.least):
            nfa.empty[start].append(end)
            after = nfa.new()
            self._write(nfa, e.body, start, after, open_rules, depth + 1)
            start = after
        nfa.empty[start].append(end)


@dataclass
class _Nfa:
    rule: str
    """The one whose texts are limited, for messages."""
    arcs: list[list[Arc]] = field(default_factory=lambda: [[]])
    empty: list[list[int]] = field(default_factory=lambda: [[]])
    start: int = 0
    final: int = 0

    def new(self) -> int:
        if len(self.arcs) >= MAX_STATES:
            raise _too_large(self.rule, "its texts")
        self.arcs.append([])
        self.empty.append([])
        return len(self.arcs) - 1

    def arc(self, source: int, ranges: tuple[tuple[int, int], ...], target: int) -> None:
        self.arcs[source] += [(first, last, target) for first, last in ranges]

    def step(self, source: int, ranges: tuple[tuple[int, int], ...]) -> int:
        target = self.new()
        self.arc(source, ranges, target)
        return target

    def closure(self, states: set[int]) -> frozenset[int]:
        found, todo = set(states), list(states)
        while todo:
            for state in self.empty[todo.pop()]:
                if state not in found:
                    found.add(state)
                    todo.append(state)
        return frozenset(found)


def _deterministic(nfa: _Nfa) -> Expression:
    def leaving(states: frozenset[int]) -> Iterable[tuple[int, int, frozenset[int]]]:
        arcs = [arc for state in states for arc in nfa.arcs[state]]
        borders = sorted({border for low, high, _ in arcs for border in (low, high + 1)})
        for first, after in pairwise(borders):
            if reached := {target for low, high, target in arcs if low <= first <= high}:
                yield first, after - 1, nfa.closure(reached)

    too_large = partial(_too_large, nfa.rule, "its texts")
    return explored(nfa.closure({nfa.start}), leaving, lambda states: nfa.final in states, MAX_STATES, too_large)


_Step = Callable[[int, int, int], list[tuple[int, int, int]]]
"""(state, first, last) -> (first, last, next state): the parts of a range of characters that a limit lets pass."""


def _count(most: int) -> _Step:
    return lambda count, first, last: [(first, last, count + 1)] if count < most else []


def _following(searching: Automaton) -> _Step:
    arcs = arcs_by_state(searching)

    def step(state: int, first: int, last: int) -> list[tuple[int, int, int]]:
        parts = [(max(first, low), min(last, high), to) for low, high, to in arcs[state] if low <= last and first <= high]
        if last > MAX_CODE_POINT:
            parts.append((max(first, MAX_CODE_POINT + 1), last, 0))  # nothing that was read matters behind a token
        return parts

    return step


def _product(automaton: Automaton, step: _Step, limit: str, rule: str) -> Expression:
    """The texts of an automaton that a limit lets pass from its state 0 to any."""
    arcs = arcs_by_state(automaton)

    def leaving(pair: tuple[int, int]) -> Iterable[tuple[int, int, tuple[int, int]]]:
        for first, last, target in arcs[pair[0]]:
            for low, high, after in step(pair[1], first, last):
                yield low, high, (target, after)

    return explored((0, 0), leaving, lambda pair: automaton.accepts[pair[0]], MAX_STATES, partial(_too_large, rule, limit))


def _bounded(e: Expression, most: int) -> Expression | None:
    """The texts of an expression that have at most `most` characters, as an expression; None where that needs counting."""
    least, longest = _lengths(e)
    if longest is not None and longest <= most:
        return e
    if least > most:
        return NOTHING
    if isinstance(e, Choice):
        options = [_bounded(option, most) for option in e.options]
        return None if None in options else Choice(tuple([o for o in options if o is not None]))
    if isinstance(e, Repeat):
        lengths = _lengths(e.body)
        if lengths[0] == lengths[1] and lengths[0] > 0:
            return Repeat(e.body, e.least, most // lengths[0])
        return None
    if isinstance(e, Sequence):
        lengths_of = [_lengths(part) for part in e.parts]
        varying = [i for i, (low, high) in enumerate(lengths_of) if low != high]
        if len(varying) != 1:
            return None
        (at,) = varying
        part = _bounded(e.parts[at], most - least + lengths_of[at][0])
        return None if part is None else Sequence((*e.parts[:at], part, *e.parts[at + 1 :]))
    return None


def _lengths(e: Expression) -> tuple[int, int | None]:
    """How many characters the shortest and the longest text have; 0 and None where they are not looked for."""
    if isinstance(e, Literal):
        return len(e.text), len(e.text)
    if isinstance(e, Chars):
        return 1, 1
    if isinstance(e, Sequence):
        lengths = [_lengths(part) for part in e.parts]
        highs = [high for _, high in lengths if high is not None]
        return sum(low for low, _ in lengths), sum(highs) if len(highs) == len(lengths) else None
    if isinstance(e, Choice) and e.options:
        lengths = [_lengths(option) for option in e.options]
        highs = [high for _, high in lengths if high is not None]
        return min(low for low, _ in lengths), max(highs) if len(highs) == len(lengths) else None
    if isinstance(e, Repeat):
        low, high = _lengths(e.body)
        return low * e.least, high * e.most if e.most is not None and high is not None else None
    return 0, None


def _too_large(rule: str, what: str) -> ResourceLimitError:
    return ResourceLimitError(f"rule {rule!r}, {what}: more than {MAX_STATES:,} states, which is the limit; limit the rule less")
