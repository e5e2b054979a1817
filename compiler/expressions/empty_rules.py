"""Rules that match no text because an expression that matches none, as an empty choice or class, is needed for each of their texts.

Rules that always need themselves are not among them: these are a mistake in the text of the grammar, which a later step reports.

Cost: linear in the expressions; a rule is checked again for each rule that it refers to and that turns out to be empty.
"""

from __future__ import annotations

from psc.compiler.expressions.expression import Automaton, Chars, Choice, Expression, Reference, Repeat, RuleSet, Sequence
from psc.compiler.expressions.fold import fold, referred_to


def empty_rules(rule_set: RuleSet) -> frozenset[str]:
    """The names of the rules that match no text."""
    users: dict[str, list[str]] = {}
    found: set[str] = set()
    for name, expression in rule_set.rules.items():
        for used in referred_to(expression):
            users.setdefault(used, []).append(name)
        if is_empty(expression, frozenset()):
            found.add(name)
    todo = list(found)
    while todo:
        for user in users.get(todo.pop(), ()):
            if user not in found and is_empty(rule_set.rules[user], found):
                found.add(user)
                todo.append(user)
    return frozenset(found)


def is_empty(expression: Expression, empty: frozenset[str] | set[str]) -> bool:
    """Whether an expression matches no text, where the rules of these names match none."""

    def combine(e: Expression, parts: list[bool]) -> bool:
        if isinstance(e, Reference):
            return e.name in empty
        if isinstance(e, Chars):
            return not e.ranges
        if isinstance(e, Choice):
            return all(parts)
        if isinstance(e, Sequence):
            return any(parts)
        if isinstance(e, Automaton):
            return 0 not in living_states(e)
        return isinstance(e, Repeat) and e.least > 0 and parts[0]

    return fold(expression, combine)


def living_states(automaton: Automaton) -> set[int]:
    """The states from which an accepting one can be reached."""
    before: dict[int, list[int]] = {}
    for source, _, _, target in automaton.arcs:
        before.setdefault(target, []).append(source)
    todo = [state for state, is_accepting in enumerate(automaton.accepts) if is_accepting]
    living = set(todo)
    while todo:
        new = set(before.get(todo.pop(), ())) - living
        living |= new
        todo += new
    return living
