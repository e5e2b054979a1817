"""Rules that do not need themselves, written as an automaton: a rule for each state.

A state is the set of lexemes that may begin next, and whether the text may end: all that follows the lexemes which one text was
read as (the subset construction over Glushkov's positions). So each state knows exactly which of its lexemes end early, and what
these leave to the others. Texts that more than one lexeme has lead to a state of their own.

Cost: a rule for each state, `MAX_STATES` at most, and an automaton for each group of texts that lead from one state to another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from psc._core import TextAutomaton
from psc.compiler.expressions.expression import EMPTY, Choice, Expression, Literal, Reference, Sequence
from psc.compiler.expressions.text_sets import expression_of
from psc.compiler.frontends.llguidance.lexemes import empty_text
from psc.support.limits import limit

MAX_STATES: Final = limit("early_states")
"""States of a grammar."""


class TooManyStates(Exception):
    """There are more than `MAX_STATES`."""


@dataclass(frozen=True)
class Positions:
    """The lexemes of a rule that refers to no others, and how they follow each other."""

    first: frozenset[str]
    last: frozenset[str]
    follows: dict[str, frozenset[str]]
    is_empty: bool
    """Whether the empty text is one of its texts."""
    strings: dict[str, str]
    """The lexemes that are strings."""
    opaque: dict[str, Expression]
    """The lexemes that are no text."""


_State = tuple[frozenset[str], bool]


@dataclass
class _Group:
    """Texts that lead to the same state."""

    strings: list[str]
    texts: TextAutomaton
    names: list[str]


def written_by_state(
    positions: Positions, left: Callable[[frozenset[str], str], TextAutomaton], start: str, add: Callable[[Expression, str], str]
) -> dict[str, Expression]:
    """The rules, one for each state.

    Args:
        positions: of the rule.
        left: the texts that are left to a lexeme among those that may begin in a state.
        start: the name of the first state's rule; the names of the others begin with it.
        add: gives a name to what is read between two states, and to one of the lexemes that it was.

    Raises:
        TooManyStates: see `MAX_STATES`.
    """
    names: dict[_State, str] = {(positions.first, positions.is_empty): start}
    states = list(names)
    rules: dict[str, Expression] = {}
    for state in states:  # grows while it is read
        options: list[Expression] = [EMPTY] if state[1] else []
        steps = [(step, add(positions.opaque[name], name)) for name, step in _opaque_steps(positions, state[0])]
        for step, group in _steps(positions, state[0], left).items():
            found: list[Expression] = [Literal(text) for text in sorted(group.strings)]
            if not group.texts.is_empty():
                found.append(expression_of(group.texts))
            steps.append((step, add(found[0] if len(found) == 1 else Choice(tuple(found)), group.names[0])))
        for step, lexeme in steps:
            if step not in names:
                if len(names) >= MAX_STATES:
                    raise TooManyStates
                names[step] = f"{start} {len(names)}"
                states.append(step)
            options.append(Sequence((Reference(lexeme), Reference(names[step]))))
        rules[names[state]] = Choice(tuple(options))
    return rules


def _behind(positions: Positions, read: frozenset[str]) -> _State:
    """The state behind a text that was read as these lexemes."""
    return frozenset[str]().union(*[positions.follows[name] for name in read]), bool(read & positions.last)


def _opaque_steps(positions: Positions, begun: frozenset[str]) -> list[tuple[str, _State]]:
    return [(name, _behind(positions, frozenset((name,)))) for name in sorted(begun & positions.opaque.keys())]


def _steps(
    positions: Positions, begun: frozenset[str], left: Callable[[frozenset[str], str], TextAutomaton]
) -> dict[_State, _Group]:
    """The texts that may be read in a state, by the state that comes next."""
    atoms: list[tuple[TextAutomaton, frozenset[str]]] = []
    strings: dict[str, set[str]] = {}
    for name in sorted(begun - positions.opaque.keys()):
        if name in positions.strings:
            if not left(begun, name).is_empty():
                strings.setdefault(positions.strings[name], set()).add(name)
            continue
        rest = left(begun, name).difference(empty_text())
        split: list[tuple[TextAutomaton, frozenset[str]]] = []
        for texts, read in atoms:
            both = texts.intersection(rest)
            if both.is_empty():
                split.append((texts, read))
                continue
            split.append((both, read | {name}))
            if not (alone := texts.difference(rest)).is_empty():
                split.append((alone, read))
            rest = rest.difference(texts)
        atoms = split if rest.is_empty() else [*split, (rest, frozenset((name,)))]
    steps: dict[_State, _Group] = {}

    def group(read: frozenset[str]) -> _Group:
        found = steps.setdefault(_behind(positions, read), _Group([], TextAutomaton.empty(), []))
        found.names += sorted(read)
        return found

    for text, read_as in strings.items():
        also = [read for texts, read in atoms if texts.matches(text)]
        group(frozenset(read_as).union(*also)).strings.append(text)
    all_strings = TextAutomaton.texts(list(strings))
    for texts, read in atoms:
        if not (others := texts.difference(all_strings)).is_empty():
            into = group(read)
            into.texts = into.texts.union(others)
    return steps
