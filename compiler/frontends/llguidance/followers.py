"""Which lexemes may follow which: Glushkov's positions, within a rule and, at its end, behind the uses of the rule.

What may begin behind a lexeme may depend on the use of its rule that was read, and in a counted repetition on the count. So there
are several sets for a lexeme, one of which follows it each time, and their union. Each reference of a rule to another has a name,
its *use*, which is a position as a lexeme is.

Cost: the pairs of positions that follow each other, `MAX_PAIRS` at most, and `MAX_RETURNS` sets for each rule.
Source: V. M. Glushkov, "The abstract theory of automata" (1961).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from psc.compiler.expressions.expression import Choice, Expression, Literal, Reference, Repeat, Sequence
from psc.compiler.expressions.fold import fold, rebuilt, referred_to
from psc.compiler.frontends.llguidance.lexemes import Lexeme
from psc.compiler.frontends.llguidance.source import Source
from psc.errors import ResourceLimitError
from psc.support.limits import limit

MAX_PAIRS: Final = limit("early_pairs")
"""Pairs of lexemes of which one may follow the other."""
MAX_RETURNS: Final = limit("early_returns")
"""Different sets of lexemes that may follow the uses of a rule."""
START: Final = ""
"""What the lexemes follow that may begin a text."""
_OUTSIDE: Final = frozenset[str]()


@dataclass(frozen=True)
class Allowed:
    """What may begin behind a lexeme: all, and per use of the rule that it ends."""

    all: frozenset[str]
    per_use: frozenset[frozenset[str]]

    @property
    def always(self) -> frozenset[str]:
        """What may begin whatever the use."""
        return frozenset.intersection(*self.per_use)


@dataclass(frozen=True)
class Ends:
    """The positions that may begin and end a part of a rule, and whether it may be empty."""

    first: frozenset[str]
    last: frozenset[str]
    empty: bool


@dataclass(frozen=True)
class Pairs:
    """Which positions follow which within rules."""

    follows: Mapping[str, set[str]]
    """Per position, what may follow it."""
    again: Mapping[str, set[frozenset[str]]]
    """The sets that follow it where a count says whether they do: in `x{2} y`, either `x` or `y` follows `x`."""

    @staticmethod
    def of(positions: Collection[str]) -> Pairs:
        """None yet."""
        return Pairs({position: set() for position in positions}, {position: set() for position in positions})

    def check(self, source: Source) -> None:
        """Raises ResourceLimitError: there are too many."""
        if sum(map(len, self.follows.values())) + sum(len(some) for sets in self.again.values() for some in sets) > MAX_PAIRS:
            raise too_much(source, MAX_PAIRS, "pairs of lexemes may follow each other")


@dataclass
class Occurrences:
    """The positions of rules: lexemes, and the uses of rules."""

    lexemes: Mapping[str, Lexeme]
    uses: dict[str, str] = field(default_factory=dict)
    """The rules that are referred to, by the names of the uses."""
    empty_rules: set[str] = field(default_factory=set)
    """The rules that may be empty."""

    def named(self, body: Expression) -> Expression:
        """A rule with a name for each of its uses."""

        def combine(e: Expression, parts: list[Expression]) -> Expression:
            if isinstance(e, Reference) and e.name not in self.lexemes:
                use = f"%use {len(self.uses)}"
                self.uses[use] = e.name
                return Reference(use)
            return rebuilt(e, parts)

        return fold(body, combine)

    def find_empty_rules(self, bodies: Mapping[str, Expression]) -> None:
        """Finds the rules that may be empty."""
        changed = True
        while changed:
            changed = False
            for name, body in bodies.items():
                if name not in self.empty_rules and self.ends(body, None).empty:
                    self.empty_rules.add(name)
                    changed = True

    def ends(self, body: Expression, pairs: Pairs | None) -> Ends:
        """The ends of a rule; puts down which positions follow each other in it."""
        return fold(body, lambda e, parts: self._ends(e, parts, pairs))

    def _ends(self, e: Expression, parts: list[Ends], pairs: Pairs | None) -> Ends:
        if isinstance(e, Reference):
            only = frozenset((e.name,))
            if e.name in self.uses:
                return Ends(only, only, self.uses[e.name] in self.empty_rules)
            lexeme = self.lexemes[e.name]
            return Ends(only, only, lexeme.is_text and _may_be_empty(lexeme.expression))
        if isinstance(e, Choice):
            return Ends(union([p.first for p in parts]), union([p.last for p in parts]), any(p.empty for p in parts))
        if isinstance(e, Repeat):
            (body,) = parts
            if pairs is not None and (e.most is None or e.most > 1):
                for x in body.last:
                    if is_counted(e):
                        pairs.again[x].add(body.first)
                    else:
                        pairs.follows[x].update(body.first)
            if e.most == 0:
                return Ends(frozenset(), frozenset(), True)
            return Ends(body.first, body.last, body.empty or e.least == 0)
        first: frozenset[str] = frozenset()
        last: frozenset[str] = frozenset()
        empty = True
        for part in parts:  # of a sequence; the empty text has none
            if pairs is not None:
                for x in last:
                    pairs.follows[x].update(part.first)
            if empty:
                first |= part.first
            last = last | part.last if part.empty else part.last
            empty = empty and part.empty
        return Ends(first, last, empty)


def followers(rules: Mapping[str, Expression], lexemes: Mapping[str, Lexeme], start: str, source: Source) -> dict[str, Allowed]:
    """Per lexeme, and for the start of the text, the lexemes that may come next.

    Raises ResourceLimitError: a limit is passed.
    """
    occurrences = Occurrences(lexemes)
    uses = occurrences.uses
    bodies = {name: occurrences.named(rules[name]) for name in reachable(rules, start)}
    occurrences.find_empty_rules(bodies)
    pairs = Pairs.of([*lexemes, *uses])
    ends = {name: occurrences.ends(body, pairs) for name, body in bodies.items()}
    pairs.check(source)
    first = _first(ends, uses)

    @cache
    def begun(some: frozenset[str]) -> frozenset[str]:
        return union([first[uses[p]] if p in uses else frozenset((p,)) for p in some])

    within = {position: name for name, e in ends.items() for position in e.last}  # of the rules that a position may end
    direct = {position: begun(frozenset(some)) for position, some in pairs.follows.items()}
    returns: dict[str, set[frozenset[str]]] = {name: set() for name in bodies}
    returns[start].add(_OUTSIDE)

    def behind(position: str) -> set[frozenset[str]]:
        """The sets of lexemes that may follow a position, as far as it is known what follows the uses of its rule."""
        outer = returns[within[position]] if position in within else {_OUTSIDE}
        return {direct[position] | some for some in outer} | {begun(some) for some in pairs.again[position]}

    changed = True
    while changed:
        changed = False
        for use, name in uses.items():
            if not (new := behind(use)) <= returns[name]:
                returns[name] |= new
                changed = True
                if len(returns[name]) > MAX_RETURNS:
                    raise too_much(source, MAX_RETURNS, f"sets of lexemes may follow the rule {name!r}")
    allowed = {START: Allowed(first[start], frozenset((first[start],)))}
    for name in lexemes:
        if per_use := frozenset(behind(name)):  # else its rule is never used
            allowed[name] = Allowed(union(per_use), per_use)
    return allowed


def _first(ends: Mapping[str, Ends], uses: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """Per rule the lexemes that may begin it."""
    first = {name: frozenset(p for p in e.first if p not in uses) for name, e in ends.items()}
    changed = True
    while changed:
        changed = False
        for name, e in ends.items():
            more = first[name].union(*[first[uses[p]] for p in e.first if p in uses])
            if more != first[name]:
                first[name] = more
                changed = True
    return first


def reachable(rules: Mapping[str, Expression], start: str) -> list[str]:
    """The rules that the start needs."""
    order = [start]
    seen = set(order)
    for name in order:  # grows while it is read
        for other in sorted(referred_to(rules[name])):
            if other in rules and other not in seen:
                seen.add(other)
                order.append(other)
    return order


def _may_be_empty(expression: Expression) -> bool:
    def combine(e: Expression, parts: list[bool]) -> bool:
        if isinstance(e, Literal):
            return not e.text
        if isinstance(e, Sequence):
            return all(parts)
        if isinstance(e, Choice):
            return any(parts)
        if isinstance(e, Repeat):
            return e.least == 0 or parts[0]
        return bool(getattr(e, "accepts", (False,))[0])

    return fold(expression, combine)


def is_counted(repeat: Repeat) -> bool:
    """Whether it depends on a count if the body may come once more, or the repetition may end."""
    return repeat.least > 1 or (repeat.most is not None and repeat.most > 1)


def union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    """All that is in one of them."""
    return frozenset().union(*sets)


def too_much(source: Source, limit: int, what: str) -> ResourceLimitError:
    """The error of a limit."""
    return ResourceLimitError(f"{source.name}: more than {limit:,} {what}, which is the limit where rules end early")
