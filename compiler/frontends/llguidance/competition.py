"""What lexemes that end early leave to the others that may begin at the same position of a text.

A rule with `lazy` or `suffix=` is a lexeme that ends at its first match. Reading stops there whatever else was begun: in
`start: (head tool)* TEXT` with `head[lazy]: TEXT "<t>"`, a text that contains `<t>` is never all TEXT. So where such lexemes may
begin, with Z all their texts, another lexeme is left the texts that do not begin with one of Z, and one that ends early itself
those that do not go on behind one of Z. Both are automata.

What may begin is what may follow the lexeme that was read before (`followers`). That leaves a least and a most that may begin: the
least is what follows one use of its rule, the most is what follows all uses, and all lexemes that may have been read from the same
text. Where both leave the same, and the same behind every lexeme that may come before, that is what is left. Where they do not,
rules that do not need themselves are written out for each of their uses (`written_out`). If that is all rules, they become one rule
for each state of an automaton (`states`), which is exact. If it is not, and what is left still depends on more than the position in
the rules, the grammar is refused.

Cost: nothing where no rule ends early. Else the pairs of lexemes that follow each other, and an automaton for each lexeme that
meets one that ends early (`lexemes`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations, product
from typing import Final

from psc._core import TextAutomaton
from psc.compiler.expressions.expression import Expression, Literal
from psc.compiler.expressions.text_sets import expression_of
from psc.compiler.frontends.llguidance.followers import START, Allowed, Occurrences, Pairs, followers, too_much, union
from psc.compiler.frontends.llguidance.lexemes import Lexeme, LexemeTexts
from psc.compiler.frontends.llguidance.source import Source
from psc.compiler.frontends.llguidance.states import MAX_STATES, Positions, TooManyStates, written_by_state
from psc.compiler.frontends.llguidance.written_out import MAX_COPIES, recursive_rules, written_out
from psc.support.limits import limit

MAX_JOINT: Final = limit("early_joint_pairs")
"""Pairs of lexemes that may have been read at once."""


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
        """Whether references were replaced by the rules, so that the rules are not those that they were."""
        self._lexemes = lexemes
        self._start = start
        self._source = source
        self._texts = LexemeTexts(lexemes, source)

    def resolved(self) -> dict[str, Expression]:
        """Per lexeme the expression that is left of it; `rules` may be written out further then.

        Raises:
            GrammarError: what is left of a lexeme depends on more than its position in the rules.
            ResourceLimitError: a limit is passed.
        """
        if not any(lexeme.lazy_rule for lexeme in self._lexemes.values()):
            return {name: lexeme.shown() for name, lexeme in self._lexemes.items()}
        left = self._left()
        if any(len(sets) > 1 for sets in left.values()):
            recursive = recursive_rules(self.rules, self._start)
            self.is_written_out = True
            self.rules.update(written_out(self.rules, self._lexemes, self._start, recursive, self._source))
            if not recursive:
                return self._by_state()
            left = self._left()
        made: dict[str, Expression] = {}
        shown: dict[int, Expression] = {}
        for name, lexeme in self._lexemes.items():
            sets = left.get(name, [])
            if len(sets) > 1:
                raise self._undecided(name)
            if not sets or (lexeme.lazy_rule is None and sets[0] == self._texts.texts(name)):
                made[name] = lexeme.shown()
            else:
                if id(sets[0]) not in shown:
                    shown[id(sets[0])] = expression_of(sets[0])
                made[name] = shown[id(sets[0])]
        return made

    def _left(self) -> dict[str, list[TextAutomaton]]:
        """Per lexeme that may be read, the different sets of texts that its competitors leave to it."""
        follows = followers(self.rules, self._lexemes, self._start, self._source)
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
        zone = self._texts.zone(present)
        for n in next_ones:
            if not self._lexemes[n].is_text:
                self._texts.check_apart(n, present)
                continue
            rest = self._texts.left(n, zone)
            if rest not in (some := left.setdefault(n, [])):
                some.append(rest)

    def _read_at_once(self, follows: dict[str, Allowed]) -> list[tuple[frozenset[str], frozenset[str], list[str]]]:
        """What may begin, besides what follows itself, behind a lexeme since others may have been read from the same text.

        Lexemes with the same texts that may begin at the same positions are read together, and are one group.

        Returns:
            per group what is certain to be there, all that may be, and the lexemes.
        """
        inside: dict[str, list[int]] = {START: [], **{name: [] for name in self._lexemes}}
        for i, use in enumerate({use for allowed in follows.values() for use in allowed.per_use}):
            for name in use:
                inside[name].append(i)
        groups: dict[tuple[int, tuple[int, ...]], list[str]] = {}
        for name in follows:
            kind = self._texts.kind(name) if name != START else -1
            groups.setdefault((kind, tuple(inside[name])), []).append(name)
        first_of = {name: members[0] for members in groups.values() for name in members}
        everything = {m[0]: union([follows[name].all for name in m]) for m in groups.values()}
        certain = {m[0]: union([follows[name].always for name in m]) for m in groups.values()}
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
                    raise too_much(
                        self._source, MAX_JOINT, "pairs of lexemes may be read at once (make one terminal of alternatives)"
                    )
                if not self._texts.may_agree(a, b):
                    continue
                same = self._texts.texts(a) == self._texts.texts(b)
                for x, y in ((a, b), (b, a)):
                    (always if same and set(inside[x]) <= set(inside[y]) else sometimes)[x].add(y)
                todo.append(everything[a] | everything[b])
        return [
            (
                union([certain[other] for other in always[m[0]]]),
                union([everything[other] for other in always[m[0]] | sometimes[m[0]]]),
                m,
            )
            for m in groups.values()
        ]

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

    def _by_state(self) -> dict[str, Expression]:
        """The start rule, into which all others were written, state by state; see :mod:`.states`."""
        lexemes = self._lexemes
        pairs = Pairs.of(lexemes)
        ends = Occurrences(lexemes).ends(self.rules[self._start], pairs)
        if any(pairs.again.values()):
            raise too_much(self._source, MAX_COPIES, "times something that may end early may come")
        pairs.check(self._source)

        @cache
        def zone(begun: frozenset[str]) -> TextAutomaton:
            for name in begun:
                if not lexemes[name].is_text:
                    self._texts.check_apart(name, begun)
            return self._texts.zone(begun)

        made: dict[str, Expression] = {}

        def add(expression: Expression, name: str) -> str:
            made[f"%text {len(made)}"] = expression
            return f"%text {len(made) - 1}"

        positions = Positions(
            ends.first,
            ends.last,
            {name: frozenset(some) for name, some in pairs.follows.items()},
            ends.empty,
            {name: x.expression.text for name, x in lexemes.items() if isinstance(x.expression, Literal)},
            {name: x.expression for name, x in lexemes.items() if not x.is_text},
        )
        try:
            rules = written_by_state(positions, lambda begun, name: self._texts.left(name, zone(begun)), self._start, add)
        except TooManyStates:
            raise too_much(self._source, MAX_STATES, "places where different lexemes may begin") from None
        self.rules.clear()
        self.rules.update(rules)
        return made

    def _undecided(self, name: str) -> Exception:
        lexeme = self._lexemes[name]
        lazy = sorted({str(x.lazy_rule) for x in self._lexemes.values() if x.lazy_rule})
        return self._source.error(
            lexeme.at,
            f"whether this text ends where {' or '.join(lazy)} ends, which ends early, depends on what was read before in a way "
            "that is not supported; write rules that need themselves as repetitions",
        )
