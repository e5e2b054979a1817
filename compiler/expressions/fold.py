"""Bottom-up walks of an expression, without recursion: expressions from other front ends may be nested deeper than Python's stack.

Cost: linear in the number of nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from psc.compiler.expressions.expression import Choice, Expression, Reference, Repeat, Sequence

Result = TypeVar("Result")


def parts_of(expression: Expression) -> tuple[Expression, ...]:
    """The expressions that this one is made of, in order."""
    if isinstance(expression, Sequence):
        return expression.parts
    if isinstance(expression, Choice):
        return expression.options
    if isinstance(expression, Repeat):
        return (expression.body,)
    return ()


def rebuilt(e: Expression, parts: list[Expression]) -> Expression:
    """The expression with other parts; itself, where it has none."""
    if isinstance(e, Sequence):
        return Sequence(tuple(parts))
    if isinstance(e, Choice):
        return Choice(tuple(parts))
    return Repeat(parts[0], e.least, e.most) if isinstance(e, Repeat) else e


def fold(expression: Expression, combine: Callable[[Expression, list[Result]], Result]) -> Result:
    """``combine(node, results of its parts)`` for every node, parts first; the result of the whole."""
    parts = parts_of(expression)
    if not parts:
        return combine(expression, [])
    stack: list[tuple[Expression, tuple[Expression, ...], list[Result]]] = [(expression, parts, [])]
    while True:
        node, parts, results = stack[-1]
        if len(results) < len(parts):
            part = parts[len(results)]
            inner = parts_of(part)
            if inner:
                stack.append((part, inner, []))
            else:
                results.append(combine(part, []))
            continue
        stack.pop()
        result = combine(node, results)
        if not stack:
            return result
        stack[-1][2].append(result)


def referred_to(expression: Expression) -> set[str]:
    """The names of the rules that an expression refers to."""
    found = set()

    def combine(e: Expression, _: list[None]) -> None:
        if isinstance(e, Reference):
            found.add(e.name)

    fold(expression, combine)
    return found
