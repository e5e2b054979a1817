"""What lexemes that end early leave to the others that may begin at the same place.

A rule with `lazy` or `suffix=` is a lexeme that ends at its first match. Reading stops there whatever else was begun: in
`start: (head tool)* TEXT` with `head[lazy]: TEXT "<t>"`, a text that contains `<t>` is never all TEXT. So at a place where such
lexemes may begin, with Z all their texts, another lexeme is left the texts that do not begin with one of Z, and one that ends early
itself those that do not go on behind one of Z. Both are automata.

What may begin at a place is what may follow the lexeme that was read before (Glushkov's positions), within its rule and, at the
end of the rule, behind the uses of the rule. That leaves a least and a most that may begin: the least is what follows one use, the
most is what follows all uses, and all lexemes that may have been read from the same text. Where both leave the same, and the same
behind every lexeme that may come before, that is what is left. Where they do not, rules that do not need themselves are written out
for each of their uses. If that is all rules, they become one rule for each place (`places`), which is exact. If it is not, and it
still depends on more than the place, the grammar is refused.

Cost: nothing where no rule ends early. Else the pairs of lexemes that follow each other, and an automaton for each lexeme that
meets one that ends early.
Source: V. M. Glushkov, "The abstract theory of automata" (1961).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, product
from typing import Final

from psc._core import TextAutomaton
from psc.compiler.expressions.expression import Choice, Expression, Literal, Reference, Repeat, Sequence
from psc.compiler.expressions.fold import fold, rebuilt, referred_to
from psc.compiler.expressions.text_sets import begun_by, expression_of, text_set
from psc.compiler.frontends.llguidance.places import MAX_PLACES, Positions, TooManyPlaces, written_by_place
from psc.compiler.frontends.llguidance.source import Source
from psc.errors import ResourceLimitError

MAX_COPIES: Final = 20_000
"""Lexemes, where rules are written out for each use."""
MAX_PAIRS: Final = 4_000_000
"""Pairs of lexemes of which one may follow the other."""
MAX_RETURNS: Final = 1_000
"""Different sets of lexemes that may follow the uses of a rule."""
MAX_JOINT: Final = 50_000
"""Pairs of lexemes that may have been read at once."""

_START: Final = ""
_EMPTY_TEXT: Final = TextAutomaton.texts([""])
_NO_TEXT: Final = TextAutomaton.empty()


@dataclass(frozen=True)
class Lexeme:
    """A place in a rule where text of a regular language stands, or something that keeps to itself."""

    expression: Expression
    at: int
    """Where it stands in the text of the grammar."""
    terminal: str | None = None
    """The terminal that it is, by whose name it is shown."""
    lazy_rule: str | None = None
    """The rule that ends early, of which it is the text."""
    is_text: bool = True
    """False for a token, a schema or another grammar."""


@dataclass(frozen=True)
class _Ends:
    """The positions that may begin and end a part of a rule, and whether it may be empty."""

    first: frozenset[str]
    last: frozenset[str]
    empty: bool


@dataclass(frozen=True)
class _Allowed:
    """What may begin behind a lexeme: all, and per use of the rule that it ends."""

    all: frozenset[str]
    per_use: frozenset[frozenset[str]]

    @property
    def always(self) -> frozenset[str]:
        """What may begin whatever the use."""
        return frozenset.intersection(*self.per_use)


class Competition:
    """The lexemes of a document.

    Args:
        rules: with references to rules and to lexemes.
        lexemes: by their names, which no rule has.
        start: the rule that a whole text must match.
        source: the grammar, for messages.
    """

    def __init__(self, rules: dict[str, Expression], lexemes: dict[str, Lexeme], start: str, source: Source) -> None:
        self.rules = rules
        self.is_written_out = False
        """Whether the rules were put into the places of references to them, so that they are not those that they were."""
        self._lexemes = lexemes
        self._start = start
        self._source = source
        self._sets: dict[int, TextAutomaton] = {}
        self._kinds: dict[tuple[Expression | str, bool], int] = {}
        self._kind_of: dict[str, int] = {}
        self._zones: dict[frozenset[int], TextAutomaton] = {}
        self._rest: dict[tuple[int, int], TextAutomaton] = {}

    def resolved(self) -> dict[str, Expression]:
        """Per lexeme the expression that is left of it; `rules` may be written out further then.

        Raises:
            GrammarError: what is left of a lexeme depends on more than the place where it stands.
            ResourceLimitError: a limit is passed.
        """
        if not any(lexeme.lazy_rule for lexeme in self._lexemes.values()):
            return {name: _shown(lexeme) for name, lexeme in self._lexemes.items()}
        left = self._left()
        if any(len(sets) > 1 for sets in left.values()):
            recursive = self._recursive()
            self.is_written_out = True
            self._write_out(recursive)
            if not recursive:
                return self._by_place()
            left = self._left()
        made: dict[str, Expression] = {}
        shown: dict[int, Expression] = {}
        for name, lexeme in self._lexemes.items():
            sets = left.get(name, [])
            if len(sets) > 1:
                raise self._undecided(name)
            if not sets or (lexeme.lazy_rule is None and sets[0] == self._texts(name)):
                made[name] = _shown(lexeme)
            else:
                if id(sets[0]) not in shown:
                    shown[id(sets[0])] = expression_of(sets[0])
                made[name] = shown[id(sets[0])]
        return made

    # Which lexemes may follow which.

    def _followers(self) -> dict[str, _Allowed]:
        """Per lexeme, and for the start of the text, the lexemes that may come next."""
        order = self._reachable()
        uses: dict[str, str] = {}
        bodies = {name: self._with_uses(self.rules[name], uses) for name in order}
        empty = self._nullable(bodies, uses)
        follows: dict[str, set[str]] = {position: set() for position in (*self._lexemes, *uses)}
        again: dict[str, set[frozenset[str]]] = {position: set() for position in follows}
        ends = {
            name: fold(body, lambda e, parts: self._ends(e, parts, uses, empty, (follows, again))) for name, body in bodies.items()
        }
        if sum(map(len, follows.values())) + sum(len(some) for sets in again.values() for some in sets) > MAX_PAIRS:
            raise self._too_much(MAX_PAIRS, "pairs of lexemes may follow each other")
        first = self._first(ends, uses)

        known: dict[frozenset[str], frozenset[str]] = {}

        def begun(positions: frozenset[str]) -> frozenset[str]:
            if positions not in known:
                known[positions] = _all([first[uses[p]] if p in uses else frozenset((p,)) for p in positions])
            return known[positions]

        returns: dict[str, set[frozenset[str]]] = {name: set() for name in order}
        returns[self._start].add(frozenset())
        within = {position: name for name, e in ends.items() for position in e.last}  # of the rules that a position may end
        direct = {position: begun(frozenset(some)) for position, some in follows.items()}
        changed = True
        while changed:
            changed = False
            for use, name in uses.items():
                outer = returns[within[use]] if use in within else {frozenset[str]()}
                found = {direct[use] | some for some in outer} | {begun(some) for some in again[use]}
                if not found <= returns[name]:
                    returns[name] |= found
                    changed = True
                    if len(returns[name]) > MAX_RETURNS:
                        raise self._too_much(MAX_RETURNS, f"sets of lexemes may follow the rule {name!r}")
        allowed = {_START: _Allowed(first[self._start], frozenset((first[self._start],)))}
        for name in self._lexemes:
            outer = returns[within[name]] if name in within else {frozenset[str]()}
            per_use = frozenset([*(direct[name] | some for some in outer), *map(begun, again[name])])
            if per_use:  # else its rule is never used
                allowed[name] = _Allowed(_all(per_use), per_use)
        return allowed

    def _with_uses(self, expression: Expression, uses: dict[str, str]) -> Expression:
        """The rule with a name for each place where it refers to a rule, which is put down with the rule."""

        def named(e: Expression, parts: list[Expression]) -> Expression:
            if isinstance(e, Reference) and e.name not in self._lexemes:
                use = f"%use {len(uses)}"
                uses[use] = e.name
                return Reference(use)
            return rebuilt(e, parts)

        return fold(expression, named)

    def _nullable(self, bodies: dict[str, Expression], uses: dict[str, str]) -> set[str]:
        """The rules that may be empty."""
        empty: set[str] = set()
        changed = True
        while changed:
            changed = False
            for name, body in bodies.items():
                if name not in empty and fold(body, lambda e, parts: self._ends(e, parts, uses, empty, None)).empty:
                    empty.add(name)
                    changed = True
        return empty

    def _first(self, ends: dict[str, _Ends], uses: dict[str, str]) -> dict[str, frozenset[str]]:
        """Per rule the lexemes that may begin it."""
        first = {name: frozenset(p for p in e.first if p not in uses) for name, e in ends.items()}
        changed = True
        while changed:
            changed = False
            for name, e in ends.items():
                found = first[name].union(*[first[uses[p]] for p in e.first if p in uses])
                if found != first[name]:
                    first[name] = found
                    changed = True
        return first

    def _ends(
        self,
        e: Expression,
        parts: list[_Ends],
        uses: dict[str, str],
        empty_rules: set[str],
        found: tuple[dict[str, set[str]], dict[str, set[frozenset[str]]]] | None,
    ) -> _Ends:
        """The ends of a part of a rule; puts down which positions follow each other.

        Args:
            e: the part.
            parts: the ends of what it is made of.
            uses: see :meth:`_with_uses`.
            empty_rules: the rules that may be empty.
            found: per position, what may follow it; and the sets that follow it where a count says whether they do: in `x{2} y`,
                either `x` or `y` follows `x`.
        """
        if isinstance(e, Reference):
            only = frozenset((e.name,))
            if e.name in uses:
                return _Ends(only, only, uses[e.name] in empty_rules)
            lexeme = self._lexemes[e.name]
            return _Ends(only, only, lexeme.is_text and _may_be_empty(lexeme.expression))
        if isinstance(e, Choice):
            return _Ends(_all([p.first for p in parts]), _all([p.last for p in parts]), any(p.empty for p in parts))
        if isinstance(e, Repeat):
            (body,) = parts
            if found is not None and (e.most is None or e.most > 1):
                for x in body.last:
                    if _is_counted(e):
                        found[1][x].add(body.first)
                    else:
                        found[0][x].update(body.first)
            if e.most == 0:
                return _Ends(frozenset(), frozenset(), True)
            return _Ends(body.first, body.last, body.empty or e.least == 0)
        first: frozenset[str] = frozenset()
        last: frozenset[str] = frozenset()
        empty = True
        for part in parts:  # of a sequence; the empty text has none
            if found is not None:
                for x in last:
                    found[0][x].update(part.first)
            if empty:
                first |= part.first
            last = last | part.last if part.empty else part.last
            empty = empty and part.empty
        return _Ends(first, last, empty)

    def _reachable(self) -> list[str]:
        order = [self._start]
        known = set(order)
        for name in order:  # grows while it is read
            for other in sorted(referred_to(self.rules[name])):
                if other in self.rules and other not in known:
                    known.add(other)
                    order.append(other)
        return order

    def _too_much(self, limit: int, what: str) -> ResourceLimitError:
        return ResourceLimitError(f"{self._source.name}: more than {limit:,} {what}, which is the limit where rules end early")

    # What is left to a lexeme.

    def _texts(self, name: str) -> TextAutomaton:
        """The texts of a lexeme by itself: of one that ends early, the shortest that are not empty."""
        lexeme = self._lexemes[name]
        kind = self._kind(name)
        found = self._sets.get(kind)
        if found is None:
            try:
                found = text_set(lexeme.expression)
                if lexeme.lazy_rule is not None:
                    found = found.difference(_EMPTY_TEXT).shortest_matches().union(found.intersection(_EMPTY_TEXT))
            except ResourceLimitError as e:
                raise self._source.limit(lexeme.at, f"{e}; needed since a rule that ends early may begin here") from None
            self._sets[kind] = found
        return found

    def _kind(self, name: str) -> int:
        """A number that lexemes share which have the same texts."""
        kind = self._kind_of.get(name)
        if kind is None:
            lexeme = self._lexemes[name]
            text = lexeme.expression if lexeme.is_text else name
            kind = self._kind_of[name] = self._kinds.setdefault((text, lexeme.lazy_rule is not None), len(self._kinds))
        return kind

    def _left(self) -> dict[str, list[TextAutomaton]]:
        """Per lexeme that may be met, the different sets of texts that its competitors leave to it."""
        follows = self._followers()
        left: dict[str, list[TextAutomaton]] = {}
        seen: set[tuple[frozenset[str], frozenset[str]]] = set()
        for certain, most, members in self._read_at_once(follows):
            for name in members:
                allowed = follows[name]
                for next_ones, present in [*((use, use | certain) for use in allowed.per_use), (allowed.all, allowed.all | most)]:
                    if (next_ones, present) not in seen:
                        seen.add((next_ones, present))
                        self._leave(next_ones, present, left)
        return left

    def _leave(self, next_ones: frozenset[str], present: frozenset[str], left: dict[str, list[TextAutomaton]]) -> None:
        """Puts down what is left to lexemes where all of `present` may begin."""
        lazy = frozenset([n for n in present if self._lexemes[n].lazy_rule is not None])
        zone = self._zone(lazy)
        for n in next_ones:
            if not self._lexemes[n].is_text:
                if lazy:
                    self._check_apart(n, zone, lazy)
                continue
            found = self._without(n, zone)
            if found not in (some := left.setdefault(n, [])):
                some.append(found)

    def _zone(self, lazy: frozenset[str]) -> TextAutomaton:
        """The texts of lexemes that end early, but for the empty one."""
        kinds = {self._kind(name): name for name in lazy}
        key = frozenset(kinds)
        zone = self._zones.get(key)
        if zone is None:
            zone = _NO_TEXT
            for name in kinds.values():
                zone = zone.union(self._texts(name).difference(_EMPTY_TEXT))
            self._zones[key] = zone
        return zone

    def _without(self, name: str, zone: TextAutomaton) -> TextAutomaton:
        """What is left to a lexeme where those that end early have a set of texts, as :meth:`_zone` gives it."""
        texts = self._texts(name)
        if zone.is_empty():
            return texts
        key = self._kind(name), id(zone)
        found = self._rest.get(key)
        if found is None:
            found = self._rest[key] = texts.difference(begun_by(zone, properly=self._lexemes[name].lazy_rule is not None))
        return found

    def _check_apart(self, name: str, zone: TextAutomaton, lazy: frozenset[str]) -> None:
        """Refuses what keeps to itself where a rule that ends early may begin as well; a token is no text, and apart."""
        lexeme = self._lexemes[name]
        if not isinstance(lexeme.expression, Reference):
            return
        if lexeme.expression.name.startswith("%json"):
            json_text = TextAutomaton.pattern('^[{\\["\\-0-9tfn]')
            if zone.intersection(json_text).is_empty():
                return
        rules = ", ".join(sorted({str(self._lexemes[n].lazy_rule) for n in lazy}))
        raise self._source.error(
            lexeme.at,
            f"a schema or grammar may begin where the rule {rules} may, which ends early, so that it would have to end in the "
            "midst; put text before it that tells the two apart",
        )

    def _read_at_once(self, follows: dict[str, _Allowed]) -> list[tuple[frozenset[str], frozenset[str], list[str]]]:
        """What may begin, besides what follows itself, behind a lexeme since others may have been read from the same text.

        Lexemes with the same texts that may begin at the same places are read together, and are one group.

        Returns:
            per group what is certain to be there, all that may be, and the lexemes.
        """
        inside: dict[str, list[int]] = {_START: [], **{name: [] for name in self._lexemes}}
        for i, use in enumerate({use for allowed in follows.values() for use in allowed.per_use}):
            for name in use:
                inside[name].append(i)
        groups: dict[tuple[int, tuple[int, ...]], list[str]] = {}
        for name in follows:
            kind = self._kind(name) if name != _START else -1
            groups.setdefault((kind, tuple(inside[name])), []).append(name)
        first_of = {name: members[0] for members in groups.values() for name in members}
        everything = {m[0]: _all([follows[name].all for name in m]) for m in groups.values()}
        certain = {m[0]: _all([follows[name].always for name in m]) for m in groups.values()}
        always: dict[str, set[str]] = {name: {name} for name in everything}
        sometimes: dict[str, set[str]] = {name: {name} for name in everything}
        seen: set[tuple[str, str]] = set()
        todo = list(set(everything.values()))
        while todo:
            for a, b in self._pairs({first_of[n] for n in todo.pop()}):
                if (a, b) in seen:
                    continue
                seen.add((a, b))
                if len(seen) > MAX_JOINT:
                    raise self._too_much(MAX_JOINT, "pairs of lexemes may be read at once (make one terminal of alternatives)")
                if not self._may_agree(a, b):
                    continue
                same = self._texts(a) == self._texts(b)
                for x, y in ((a, b), (b, a)):
                    (always if same and set(inside[x]) <= set(inside[y]) else sometimes)[x].add(y)
                todo.append(everything[a] | everything[b])
        found = []
        for members in groups.values():
            name = members[0]
            most = _all([everything[other] for other in always[name] | sometimes[name]])
            found.append((_all([certain[other] for other in always[name]]), most, members))
        return found

    def _pairs(self, names: set[str]) -> Iterator[tuple[str, str]]:
        """The pairs of lexemes that may have texts in common: of different strings none."""
        strings: dict[str, list[str]] = {}
        others = []
        for name in sorted(names):
            lexeme = self._lexemes[name]
            if isinstance(lexeme.expression, Literal):
                strings.setdefault(lexeme.expression.text, []).append(name)
            elif lexeme.is_text:
                others.append(name)
        for same in strings.values():
            yield from combinations(same, 2)
        yield from combinations(others, 2)
        yield from product((name for same in strings.values() for name in same), others)

    def _may_agree(self, a: str, b: str) -> bool:
        """Whether two lexemes that may begin at one place may be read from one text."""
        x, y = self._lexemes[a], self._lexemes[b]
        if (x.lazy_rule is None) != (y.lazy_rule is None):
            return False  # where the one ends, the other is given up
        return not self._texts(a).difference(_EMPTY_TEXT).intersection(self._texts(b)).is_empty()

    # A place for each use.

    def _by_place(self) -> dict[str, Expression]:
        """The start rule, into which all others were written, place by place; see :mod:`.places`."""
        lexemes = self._lexemes
        follows: dict[str, set[str]] = {name: set() for name in lexemes}
        again: dict[str, set[frozenset[str]]] = {name: set() for name in lexemes}
        ends = fold(self.rules[self._start], lambda e, parts: self._ends(e, parts, {}, set(), (follows, again)))
        if any(again.values()):
            raise self._too_much(MAX_COPIES, "times something that may end early may come")
        if sum(map(len, follows.values())) > MAX_PAIRS:
            raise self._too_much(MAX_PAIRS, "pairs of lexemes may follow each other")
        zones: dict[frozenset[str], TextAutomaton] = {}

        def left(begun: frozenset[str], name: str) -> TextAutomaton:
            if begun not in zones:
                lazy = frozenset([n for n in begun if lexemes[n].lazy_rule is not None])
                zones[begun] = self._zone(lazy)
                for n in begun if lazy else ():
                    if not lexemes[n].is_text:
                        self._check_apart(n, zones[begun], lazy)
            return self._without(name, zones[begun])

        made: dict[str, Expression] = {}

        def add(expression: Expression, name: str) -> str:
            made[f"%text {len(made)}"] = expression
            return f"%text {len(made) - 1}"

        positions = Positions(
            ends.first,
            ends.last,
            {name: frozenset(some) for name, some in follows.items()},
            ends.empty,
            {name: x.expression.text for name, x in lexemes.items() if isinstance(x.expression, Literal)},
            {name: x.expression for name, x in lexemes.items() if not x.is_text},
        )
        try:
            rules = written_by_place(positions, left, self._start, add)
        except TooManyPlaces:
            raise self._too_much(MAX_PLACES, "places where different lexemes may begin") from None
        self.rules.clear()
        self.rules.update(rules)
        return made

    def _write_out(self, recursive: set[str]) -> None:
        """Puts rules that do not need themselves into the place of every reference to them, with lexemes of their own."""
        copies = 0

        def written(e: Expression, parts: list[Expression]) -> Expression:
            nonlocal copies
            if isinstance(e, Reference):
                lexeme = self._lexemes.get(e.name)
                if lexeme is not None:
                    copies += 1
                    if copies > MAX_COPIES:
                        raise self._too_much(MAX_COPIES, "lexemes when rules are written out for each use")
                    name = f"%lexeme {len(self._lexemes)}"
                    self._lexemes[name] = lexeme
                    return Reference(name)
                return e if e.name in recursive else fold(self.rules[e.name], written)
            if isinstance(e, Repeat) and _is_counted(e) and (e.most or e.least) <= MAX_COPIES and referred_to(e):
                return _counted_out(e, [parts[0], *(fold(e.body, written) for _ in range((e.most or e.least) - 1))])
            return rebuilt(e, parts)

        kept = [name for name in self._reachable() if name in recursive or name == self._start]
        self.rules.update({name: fold(self.rules[name], written) for name in kept})

    def _recursive(self) -> set[str]:
        needs = {name: {n for n in referred_to(e) if n in self.rules} for name, e in self.rules.items()}
        recursive = set()
        for name in self._reachable():
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

    def _undecided(self, name: str) -> Exception:
        lexeme = self._lexemes[name]
        lazy = sorted({str(x.lazy_rule) for x in self._lexemes.values() if x.lazy_rule})
        return self._source.error(
            lexeme.at,
            f"whether this text ends where {' or '.join(lazy)} ends, which ends early, depends on what was read before in a way "
            "that is not supported; write rules that need themselves as repetitions",
        )


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


def _is_counted(repeat: Repeat) -> bool:
    """Whether it depends on a count if the body may come once more, or the repetition may end."""
    return repeat.least > 1 or (repeat.most is not None and repeat.most > 1)


def _counted_out(repeat: Repeat, bodies: list[Expression]) -> Expression:
    """A repetition with a body for each time: `x{1,3}` is `x (x x?)?`."""
    if repeat.most is None:
        return Sequence((*bodies[:-1], Repeat(bodies[-1], 1, None)))
    optional: Expression = Literal("")
    for body in reversed(bodies[repeat.least :]):
        optional = Repeat(Sequence((body, optional)), 0, 1)
    return Sequence((*bodies[: repeat.least], optional))


def _all(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*sets)


def _shown(lexeme: Lexeme) -> Expression:
    return Reference(lexeme.terminal) if lexeme.terminal is not None else lexeme.expression
