"""Expressions over text: what EBNF rules, regular expressions and terminals are made of, before they become a grammar.

Characters are Unicode code points; UTF-8 comes with the byte automata. Every front end but Lark's yields a :class:`RuleSet`, and
Lark's terminals are expressions where they have no lookaround and no lazy quantifier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from psc.errors import GrammarError

MAX_CODE_POINT = 0x10FFFF


@dataclass(frozen=True, slots=True)
class Literal:
    """This text; the empty text is ``Literal("")``."""

    text: str


@dataclass(frozen=True, slots=True)
class Chars:
    """One character out of these ranges; a token may be one, see `psc.compiler.expressions.tokens`."""

    ranges: tuple[tuple[int, int], ...]
    """Inclusive ranges of code points, or of symbols, ascending, disjoint, not adjacent; surrogates are never in one. None: no
    character."""


@dataclass(frozen=True, slots=True)
class Sequence:
    """The parts, one after the other."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Any one of the options; with none, nothing matches."""

    options: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """The body, at least ``least`` times and at most ``most``; ``None`` is without limit."""

    body: Expression
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Reference:
    """The rule of this name."""

    name: str


@dataclass(frozen=True, slots=True)
class Automaton:
    """The texts that a deterministic automaton accepts; it starts in state 0."""

    accepts: tuple[bool, ...]
    """Per state."""
    arcs: tuple[tuple[int, int, int, int], ...]
    """(from, first, last, to): a character of this inclusive range leads on. Ascending; those that leave a state are disjoint."""

    def between(self) -> dict[tuple[int, int], tuple[tuple[int, int], ...]]:
        """The ranges that lead from one state to another one, by (from, to), in the order of the arcs."""
        ranges: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for source, first, last, target in self.arcs:
            ranges.setdefault((source, target), []).append((first, last))
        return {states: tuple(some) for states, some in ranges.items()}


Expression = Literal | Chars | Sequence | Choice | Repeat | Reference | Automaton


@dataclass(frozen=True, slots=True)
class Ending:
    """What a rule's text is made of: a body, then a marker that shows that it is over; both are rules of the same rule set."""

    body: str
    marker: str
    is_hidden: bool
    """Whether the marker is no part of the captured text of enclosing rules either."""
    captured_as: str | None = None
    """The name under which the marker is captured."""


@dataclass(frozen=True, slots=True)
class RuleMark:
    """The options of a rule: for callers that ask a matcher which rules are open or over, and for the count of its tokens."""

    capture: str | None = None
    """The name under which the rule's texts are captured."""
    temperature: float | None = None
    """At which tokens are sampled while the rule is open."""
    ending: Ending | None = None
    max_tokens: int | None = None
    """Once this many tokens have had bytes in a text of the rule, it ends before the next one that begins where it can end."""
    spent: str | None = None
    """The rule of those texts at which it may then end as well."""

    def __bool__(self) -> bool:
        return self != RuleMark()


@dataclass(frozen=True)
class RuleSet:
    """Named rules and the one that a whole text must match."""

    rules: Mapping[str, Expression]
    root: str
    source: str
    """The text that it was read from."""
    source_name: str
    """A file name or a label, for messages."""
    lines: Mapping[str, int]
    """Where each rule is defined, counted from 1."""
    language: str = "ebnf"
    """What ``source`` is written in: a name in the registry of front ends."""
    settings: str = ""
    """The text of the language's own options, see ``Settings.text`` in `psc.compiler.frontends.front_end`."""
    reads_names: bool = False
    """Whether the text names tokens, so that it has to be read for a vocabulary."""
    marks: Mapping[str, RuleMark] = field(default_factory=dict)
    """Of the rules that have one."""
    imports: tuple[tuple[str, str], ...] = ()
    """Files of bundled grammars that the text names, each with the sha256 of its text."""
    if_empty: Callable[[], GrammarError] | None = field(default=None, compare=False)
    """Makes the error about rules that match no text, where the rules are not what the user wrote. Can be pickled."""


EMPTY = Literal("")
NOTHING = Choice(())


def merged_ranges(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The ranges ascending, with those that overlap or touch made one."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)
