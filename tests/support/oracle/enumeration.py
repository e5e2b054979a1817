"""All sentences of EBNF text up to a length, and all their beginnings: what CfgOracle itself is tested against.

The least solution of the rules read as equations between sets of byte strings, found by starting from empty sets and
substituting until nothing changes. Only strings up to a length are kept: a longer one is no part of a shorter one, so what
is kept is exact. Characters outside `universe` are left out.

Cost: exponential in the length. For self-tests only.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

from .ebnf import Chars, Choice, Expression, Literal, Reference, Repeat, Sequence

Texts = frozenset[bytes]
Value = TypeVar("Value")

EMPTY = frozenset([b""])
NONE: Texts = frozenset()


class Enumeration:
    """`sentences` and `beginnings` of at most `longest` bytes of the rule `root`."""

    def __init__(self, rules: Mapping[str, Expression], universe: str, longest: int, root: str = "root") -> None:
        self._universe = universe
        self._longest = longest
        self._is_productive = _least_solution(rules, False, self._productive)
        self._sentences = _least_solution(rules, NONE, self._words)
        beginnings = _least_solution(rules, NONE, self._begins)
        self.sentences = self._sentences[root]
        self.beginnings = beginnings[root]

    def _join(self, left: Texts, right: Texts) -> Texts:
        by_length: list[list[bytes]] = [[] for _ in range(self._longest + 1)]
        for b in right:
            if len(b) <= self._longest:
                by_length[len(b)].append(b)
        return frozenset(a + b for a in left for some in by_length[: self._longest + 1 - len(a)] for b in some)

    def _characters(self, chars: Chars) -> list[bytes]:
        def among(c: str) -> bool:
            return any(low <= c <= high for low, high in chars.ranges)

        return [c.encode() for c in self._universe if among(c) != chars.negated]

    def _productive(self, e: Expression, known: Mapping[str, bool]) -> bool:
        """Whether the expression derives any text."""
        match e:
            case Sequence(parts):
                return all(self._productive(part, known) for part in parts)
            case Choice(options):
                return any(self._productive(option, known) for option in options)
            case Repeat(body, least, _):
                return least == 0 or self._productive(body, known)
            case Reference(rule):
                return known[rule]
        return True

    def _words(self, e: Expression, known: Mapping[str, Texts]) -> Texts:
        """The texts that the expression derives."""
        match e:
            case Literal(text):
                return self._join(EMPTY, frozenset([text.encode()]))
            case Chars():
                return self._join(EMPTY, frozenset(self._characters(e)))
            case Sequence(parts):
                words = EMPTY
                for part in parts:
                    words = self._join(words, self._words(part, known))
                return words
            case Choice(options):
                return NONE.union(*(self._words(option, known) for option in options))
            case Repeat(body, least, most):
                once = self._words(body, known)
                return NONE.union(*self._powers(once, least, most))
            case Reference(rule):
                return known[rule]

    def _powers(self, once: Texts, least: int, most: int | None) -> list[Texts]:
        """`once`, least to most times; without limit, until one more time adds nothing."""
        power = EMPTY
        for _ in range(least):
            power = self._join(power, once)
        powers = [power]
        while most is None or least + len(powers) <= most:
            power = self._join(power, once)
            if power <= NONE.union(*powers):  # then every further power is in the union, too
                break
            powers.append(power)
        return powers

    def _begins(self, e: Expression, known: Mapping[str, Texts]) -> Texts:
        """The beginnings of the texts that the expression derives, the empty one and the whole texts among them."""
        if not self._productive(e, self._is_productive):
            return NONE
        match e:
            case Literal(text):
                return self._join(EMPTY, frozenset(text.encode()[:i] for i in range(len(text.encode()) + 1)))
            case Chars():
                return self._join(EMPTY, frozenset(c[:i] for c in self._characters(e) for i in range(len(c) + 1)))
            case Sequence(parts):
                before, begins = EMPTY, EMPTY
                for part in parts:
                    begins |= self._join(before, self._begins(part, known))
                    before = self._join(before, self._words(part, self._sentences))
                return begins
            case Choice(options):
                return NONE.union(*(self._begins(option, known) for option in options))
            case Repeat(body, _, most):
                if most == 0 or not self._productive(body, self._is_productive):
                    return EMPTY
                before = self._powers(self._words(body, self._sentences), 0, None if most is None else most - 1)
                return self._join(NONE.union(*before), self._begins(body, known)) | EMPTY
            case Reference(rule):
                return known[rule]


def _least_solution(
    rules: Mapping[str, Expression], nothing: Value, value_of: Callable[[Expression, Mapping[str, Value]], Value]
) -> dict[str, Value]:
    solution = dict.fromkeys(rules, nothing)
    while True:
        better = {name: value_of(e, solution) for name, e in rules.items()}
        if better == solution:
            return solution
        solution = better
