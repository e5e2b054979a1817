"""Rules that match no text: an expression in them matches none, or they only ever need one another.

Example: of ``r: "a" r | "b" s`` and ``s: r`` neither matches a text, as each text of one would need a text of the other.

Cost: linear in the expressions, but that a rule is looked at again for each rule it refers to that turns out to have a text.
"""

from __future__ import annotations

from collections.abc import Mapping

from psc.compiler.expressions.empty_rules import is_empty
from psc.compiler.expressions.expression import Expression
from psc.compiler.expressions.fold import referred_to


def dead_rules(rules: Mapping[str, Expression]) -> set[str]:
    """The names of the rules that match no text. Rules that are referred to and not among these have texts."""
    users: dict[str, list[str]] = {}
    for name, expression in rules.items():
        for used in referred_to(expression):
            users.setdefault(used, []).append(name)
    dead = set(rules)
    todo = list(rules)
    while todo:
        name = todo.pop()
        if name in dead and not is_empty(rules[name], dead):
            dead.remove(name)
            todo += users.get(name, ())
    return dead


def way_to_dead_end(root: str, rules: Mapping[str, Expression], dead: set[str]) -> tuple[list[str], int | None]:
    """Why a rule is dead.

    Returns:
        Dead rules from the root on, each referred to by the one before; and where in it the rule begins that comes again, or None
        where the last one refers to none that is dead.
    """
    way = [root]
    while True:
        following = next((name for name in sorted(referred_to(rules[way[-1]])) if name in dead), None)
        if following is None:
            return way, None
        if following in way:
            return way, way.index(following)
        way.append(following)
