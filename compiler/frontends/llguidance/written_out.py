"""Rules that do not need themselves, instead of every reference to them, with lexemes of their own.

So what is left of a lexeme may be another thing at each use of its rule. `A: x{1,3}` is written out as `x (x x?)?`, since each
time is a use, too.

Cost: the lexemes that come of it, `MAX_COPIES` at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from psc.compiler.expressions.expression import Expression, Literal, Reference, Repeat, Sequence
from psc.compiler.expressions.fold import fold, rebuilt, referred_to
from psc.compiler.frontends.llguidance.followers import is_counted, reachable, too_much
from psc.compiler.frontends.llguidance.lexemes import Lexeme
from psc.compiler.frontends.llguidance.source import Source
from psc.support.limits import limit

MAX_COPIES: Final = limit("early_lexemes")
"""Lexemes, where rules are written out for each use."""


def written_out(
    rules: Mapping[str, Expression], lexemes: dict[str, Lexeme], start: str, recursive: set[str], source: Source
) -> dict[str, Expression]:
    """The start rule and those that need themselves, with all other rules instead of references to them.

    Args:
        rules: with references to rules and to lexemes.
        lexemes: those of the rules; the copies are added.
        start: the rule that a whole text must match.
        recursive: the rules that need themselves.
        source: the grammar, for messages.

    Raises:
        ResourceLimitError: see `MAX_COPIES`.
    """
    copies = 0

    def written(e: Expression, parts: list[Expression]) -> Expression:
        nonlocal copies
        if isinstance(e, Reference):
            lexeme = lexemes.get(e.name)
            if lexeme is not None:
                copies += 1
                if copies > MAX_COPIES:
                    raise too_much(source, MAX_COPIES, "lexemes when rules are written out for each use")
                name = f"%lexeme {len(lexemes)}"
                lexemes[name] = lexeme
                return Reference(name)
            return e if e.name in recursive else fold(rules[e.name], written)
        if isinstance(e, Repeat) and is_counted(e) and (e.most or e.least) <= MAX_COPIES and referred_to(e):
            return _counted_out(e, [parts[0], *(fold(e.body, written) for _ in range((e.most or e.least) - 1))])
        return rebuilt(e, parts)

    remaining = [name for name in reachable(rules, start) if name in recursive or name == start]
    return {name: fold(rules[name], written) for name in remaining}


def _counted_out(repeat: Repeat, bodies: list[Expression]) -> Expression:
    """A repetition with a body for each time."""
    if repeat.most is None:
        return Sequence((*bodies[:-1], Repeat(bodies[-1], 1, None)))
    optional: Expression = Literal("")
    for body in reversed(bodies[repeat.least :]):
        optional = Repeat(Sequence((body, optional)), 0, 1)
    return Sequence((*bodies[: repeat.least], optional))


def recursive_rules(rules: Mapping[str, Expression], start: str) -> set[str]:
    """The rules that need themselves, of those that the start needs."""
    needs = {name: {n for n in referred_to(e) if n in rules} for name, e in rules.items()}
    recursive = set()
    for name in reachable(rules, start):
        seen: set[str] = set()
        todo = list(needs[name])
        while todo:
            one = todo.pop()
            if one not in seen:
                seen.add(one)
                todo.extend(needs[one])
        if name in seen:
            recursive.add(name)
    return recursive
