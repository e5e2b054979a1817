"""Rules with a limited number of tokens: a grammar is cut at them, for linked machines.

A grammar does not see the tokens that a text is made of. So a rule with a budget is a part with a machine of its own. A rule
that refers to it *calls* the part, and the matcher of linked machines counts the tokens of each call
(native/linked/matcher.hpp).

    start: "<" r ">"       frame   "<" call(r)? ">"
    r[max_tokens=3]: x*    part r  x* end

A part is never called for the empty text, in which there are no tokens: a rule that may be empty is a call or nothing. A rule that
matches no text is left out, as everywhere: each machine by itself may not see that, where two of them only ever need each other.

Cost: linear in the rules, for each rule with a budget in those that it needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from psc.compiler.expressions.dead_rules import dead_rules, way_to_dead_end
from psc.compiler.expressions.expression import (
    EMPTY,
    NOTHING,
    Automaton,
    Choice,
    Expression,
    Literal,
    Reference,
    Repeat,
    RuleSet,
    Sequence,
)
from psc.compiler.expressions.fold import fold, rebuilt
from psc.compiler.expressions.joined_rules import Part, has_lexers, joined_rules, marks_of
from psc.errors import GrammarError
from psc.support.limits import limit

MAX_BUDGET: Final = limit("token_budget")
"""Tokens of one rule."""


@dataclass(frozen=True)
class CountedRule:
    """A rule with a budget."""

    name: str
    """The rule that stands for a call."""
    body: str
    """The rule that has its texts."""
    most_tokens: int
    spent: str | None
    """The rule of those texts at which it may be over as well when as many tokens have had bytes in it."""


@dataclass(frozen=True)
class CutRules:
    """Rules of which some are calls."""

    outer: Mapping[str, Expression]
    """All rules but those of parts. Those with a budget are references to `calls`, or may be empty."""
    calls: Mapping[str, CountedRule]
    """By the names by which `outer` refers to them, which it does not define."""
    parts: Mapping[str, Part]
    root: str
    n_left_out: int = 0
    """How many rules with a budget are left out, as they match no text."""
    dead_end: tuple[list[str], int | None] | None = None
    """Where the root matches no text: why, see `way_to_dead_end`."""


def has_budgets(rules: RuleSet) -> bool:
    """Whether a rule, or one of a part, has a budget."""
    return any(mark.max_tokens is not None for mark in marks_of(rules).values())


def cut_at_budgets(rules: RuleSet) -> CutRules:
    """The rules, cut at those with a budget.

    Raises:
        GrammarError: a rule with a budget may begin with itself.
    """
    joined = joined_rules(rules)
    if joined is not None and not has_budgets(rules) and not any(map(has_lexers, joined.parts.values())):
        return CutRules(joined.outer, {}, joined.parts, joined.root)
    outer: dict[str, Expression] = {}
    parts: dict[str, Part] = {}
    root = _flatten(rules, "", outer, parts)
    counted = {
        name: CountedRule(name, f"{name} counted", mark.max_tokens, mark.spent)
        for name, mark in marks_of(rules).items()
        if mark.max_tokens is not None and name in outer
    }
    may_be_empty = _nullable(outer, parts)
    _check_beginnings(rules, outer, counted, may_be_empty)
    calls = {}
    for name, rule in counted.items():
        outer[rule.body] = outer[name]
        call = f"{name} call"
        calls[call] = rule
        outer[name] = Choice((Reference(call), EMPTY)) if name in may_be_empty else Reference(call)
    all_rules = outer | {call: _texts_of(rule) for call, rule in calls.items()}
    dead = dead_rules(all_rules)
    if root in dead:
        own = {name: rule.name for call, rule in calls.items() for name in (call, rule.body)}
        way, circle = way_to_dead_end(root, all_rules, dead)
        again = None if circle is None else own.get(way[circle], way[circle])
        way = list(dict.fromkeys([own.get(name, name) for name in way]))
        return CutRules(outer, calls, parts, root, dead_end=(way, None if again is None else way.index(again)))
    left_out = dead & calls.keys()
    for call in left_out:  # a machine without texts cannot be made, nor may a text begin one that never ends
        rule = calls.pop(call)
        del outer[rule.body]
        outer[rule.name] = EMPTY if rule.name in may_be_empty else NOTHING
    return CutRules(outer, calls, parts, root, n_left_out=len(left_out))


def _texts_of(rule: CountedRule) -> Expression:
    return Reference(rule.body) if rule.spent is None else Choice((Reference(rule.body), Reference(rule.spent)))


def needed(expression: Expression, outer: Mapping[str, Expression]) -> dict[str, Expression]:
    """The rules that an expression needs."""
    found: dict[str, Expression] = {}
    todo = _references(expression)
    while todo:
        name = todo.pop()
        if name in outer and name not in found:
            found[name] = outer[name]
            todo += _references(outer[name])
    return found


def _flatten(rules: RuleSet, prefix: str, outer: dict[str, Expression], parts: dict[str, Part]) -> str:
    """Adds the rules, those of parts that are to be cut themselves among them, and the other parts; names begin with a prefix."""
    own: Mapping[str, Expression] = rules.rules
    root = rules.root
    joined = joined_rules(rules)
    if joined is not None:
        own, root = joined.outer, joined.root
        for name, part in joined.parts.items():
            if isinstance(part, RuleSet) and (has_budgets(part) or has_lexers(part)):
                outer[f"{prefix}{name}"] = Reference(_flatten(part, f"{prefix}{name}.", outer, parts))
            else:
                parts[f"{prefix}{name}"] = part

    def renamed(e: Expression, inner: list[Expression]) -> Expression:
        return Reference(f"{prefix}{e.name}") if isinstance(e, Reference) else rebuilt(e, inner)

    for name, expression in own.items():
        outer[f"{prefix}{name}"] = fold(expression, renamed) if prefix else expression
    return f"{prefix}{root}"


def _references(expression: Expression) -> list[str]:
    found: list[str] = []

    def combine(e: Expression, _: list[None]) -> None:
        if isinstance(e, Reference):
            found.append(e.name)

    fold(expression, combine)
    return found


def _nullable(outer: Mapping[str, Expression], parts: Mapping[str, Part]) -> set[str]:
    """The rules and the parts that may be empty."""
    empty = {name for name, part in parts.items() if not isinstance(part, RuleSet) or part.root in _nullable(part.rules, {})}
    changed = True
    while changed:
        more = {name for name, e in outer.items() if name not in empty and _is_empty(e, empty)}
        changed = bool(more)
        empty |= more
    return empty


def _is_empty(expression: Expression, empty: set[str]) -> bool:
    def combine(e: Expression, parts: list[bool]) -> bool:
        match e:
            case Literal():
                return not e.text
            case Reference():
                return e.name in empty
            case Sequence():
                return all(parts)
            case Choice():
                return any(parts)
            case Repeat():
                return e.least == 0 or parts[0]
            case Automaton():
                return e.accepts[0]
        return False

    return fold(expression, combine)


def _check_beginnings(rules: RuleSet, outer: Mapping[str, Expression], counted: Mapping[str, CountedRule], empty: set[str]) -> None:
    """Raises GrammarError where a rule with a budget may begin with itself: before it are as many calls as one likes."""
    begins = {name: _beginnings(e, empty) & outer.keys() for name, e in outer.items()}
    for name in counted:
        met: set[str] = set()
        todo = list(begins[name])
        while todo:
            other = todo.pop()
            if other not in met:
                met.add(other)
                todo += begins[other]
        if name in met:
            line = rules.lines.get(name)
            raise GrammarError(
                f"{rules.source_name}{f':{line}' if line else ''}: max_tokens of the rule {name!r}: it may begin with itself, so "
                "that each of its texts is in any number of others, with a budget each; write a repetition, or put the rule last"
            )


def _beginnings(expression: Expression, empty: set[str]) -> set[str]:
    """The names with which an expression's texts may begin."""

    def combine(e: Expression, parts: list[tuple[frozenset[str], bool]]) -> tuple[frozenset[str], bool]:
        if isinstance(e, Reference):
            return frozenset((e.name,)), e.name in empty
        if not isinstance(e, Sequence):
            return frozenset().union(*[names for names, _ in parts]), _is_empty(e, empty)
        names: frozenset[str] = frozenset()
        for first, may_be_empty in parts:
            names |= first
            if not may_be_empty:
                return names, False
        return names, True

    return set(fold(expression, combine)[0])
