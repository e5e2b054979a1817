"""Expressions as the words that the native core reads and gives: postfix order, an expression after its parts.

The words are explained in native/rule_programs.hpp. Characters are code points; a rule is referred to by its number.

Cost: about 1 us a node, without recursion, so that nesting is no matter.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt

from psc.compiler.expressions import Chars, Choice, Expression, Literal, Reference, Repeat, RuleSet, Sequence

_TEXT: Final = 0
_CHARS: Final = 1
_SEQUENCE: Final = 2
_CHOICE: Final = 3
_REPEAT: Final = 4
_REFERENCE: Final = 5
_MOST: Final = 2**62
"""Higher counts are as good as this: all are above the limit."""


class RulePrograms:
    """The expressions of all rules of a rule set."""

    def __init__(self, rule_set: RuleSet) -> None:
        self.names: list[str] = list(rule_set.rules)
        """Of the rules, then of those that are referred to and not defined."""
        self._number = {name: i for i, name in enumerate(self.names)}
        self._words: list[int] = []
        offsets = [0]
        for expression in rule_set.rules.values():
            self._write(expression)
            offsets.append(len(self._words))
        self.root = self._rule(rule_set.root)
        self.words: npt.NDArray[np.int64] = np.array(self._words, np.int64)
        self.offsets: npt.NDArray[np.int64] = np.array(offsets, np.int64)
        """Per rule where its words begin, and one more."""

    def _write(self, expression: Expression) -> None:
        words = self._words
        todo: list[Expression | tuple[int, ...]] = [expression]
        while todo:
            item = todo.pop()
            if isinstance(item, tuple):
                words += item
            elif isinstance(item, Literal):
                words += (_TEXT, len(item.text))
                words += map(ord, item.text)
            elif isinstance(item, Chars):
                words += (_CHARS, len(item.ranges))
                words += chain.from_iterable(item.ranges)
            elif isinstance(item, Reference):
                words += (_REFERENCE, self._rule(item.name))
            elif isinstance(item, Sequence):
                todo.append((_SEQUENCE, len(item.parts)))
                todo.extend(reversed(item.parts))
            elif isinstance(item, Choice):
                todo.append((_CHOICE, len(item.options)))
                todo.extend(reversed(item.options))
            else:
                todo.append((_REPEAT, min(item.least, _MOST), -1 if item.most is None else min(item.most, _MOST)))
                todo.append(item.body)

    def _rule(self, name: str) -> int:
        number = self._number.get(name)
        if number is None:
            number = self._number[name] = len(self.names)
            self.names.append(name)
        return number


def read_expression(words: Iterable[int]) -> Expression:
    """The expression that words are of, which has no references."""
    stack: list[Expression] = []
    rest = iter(words)
    for code in rest:
        n = next(rest)
        if code == _TEXT:
            stack.append(Literal("".join([chr(next(rest)) for _ in range(n)])))
        elif code == _CHARS:
            stack.append(Chars(tuple([(next(rest), next(rest)) for _ in range(n)])))
        elif code == _REPEAT:
            most = next(rest)
            stack.append(Repeat(stack.pop(), n, None if most < 0 else most))
        else:
            parts = tuple(stack[len(stack) - n :])
            del stack[len(stack) - n :]
            stack.append(Sequence(parts) if code == _SEQUENCE else Choice(parts))
    (expression,) = stack
    return expression
