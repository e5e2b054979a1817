"""Expressions as the words that the native core reads and gives: postfix order, an expression after its parts.

The words are explained in native/rules/rule_programs.hpp. Characters are code points; a rule is referred to by its number. A
front end writes the words of its rules as it parses. Callers that print or combine such rules read them as a mapping, which
makes the expressions.

Cost: 0.2 to 1 us a node, without recursion, so nesting costs no stack.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Sequence as Many
from itertools import chain, groupby
from typing import Final

import numpy as np
import numpy.typing as npt

from psc import _core
from psc.compiler.expressions.expression import (
    MAX_CODE_POINT,
    Automaton,
    Chars,
    Choice,
    Expression,
    Literal,
    Reference,
    Repeat,
    Sequence,
)
from psc.compiler.expressions.text_search import FREE_TEXT, SearchedText
from psc.errors import GrammarError
from psc.support.cached_property import cached_property

_TEXT: Final = 0
_CHARS: Final = 1
_SEQUENCE: Final = 2
_CHOICE: Final = 3
_REPEAT: Final = 4
_REFERENCE: Final = 5
_AUTOMATON: Final = 6
MANY_TRIGGERS: Final = (
    "free text with this many triggers is no grammar that can be printed or changed, only one that is compiled; have fewer triggers"
)
"""Why a grammar of which some rules are a search's has no words."""
_MAX_COUNT: Final = 2**62
"""Higher counts are as good as this: all are above the limit."""


class RulePrograms(Mapping[str, Expression]):
    """The expressions of all rules of a rule set as words; read as a mapping, the rules by name.

    Words are appended in postfix order, rule by rule, each ended by :meth:`finish`.
    """

    def __init__(self, names: Iterable[str]) -> None:
        """Before any words.

        Args:
            names: of the rules, in the order in which they will be written.
        """
        self.names = list(names)
        """Of the rules, then of those that are referred to and not defined."""
        self._n_defined = len(self.names)
        self.words: list[int] = []
        self.offsets = [0]
        """Per rule where its words begin, and one more."""
        self._searches: dict[_core.TextSearch, dict[int, int]] = {}
        """Per search the numbers of the rules that are its triggers and its free text."""
        self._number = {name: i for i, name in enumerate(self.names)}

    @classmethod
    def of(cls, rules: Mapping[str, Expression]) -> RulePrograms:
        """The words of rules, which may have been written as such."""
        if isinstance(rules, cls):
            return rules
        programs = cls(rules)
        for expression in rules.values():
            programs.write(expression)
            programs.finish()
        return programs

    def finish(self) -> None:
        """What was written since the last call is one rule."""
        self.offsets.append(len(self.words))

    def words_of_reference(self, name: str) -> tuple[int, ...]:
        """What is written for a reference to a rule."""
        return _REFERENCE, self.number(name)

    def sequence(self, n: int) -> None:
        """Makes the last `n` expressions one after the other, where they are not one."""
        if n != 1:
            self.words += (_SEQUENCE, n) if n else (_TEXT, 0)

    def choice(self, n: int) -> None:
        """Makes the last `n` expressions the options of a choice, where they are not one."""
        if n != 1:
            self.words += (_CHOICE, n)

    def repeat(self, least: int, most: int | None) -> None:
        """Repeats the last expression."""
        self.words += (_REPEAT, min(least, _MAX_COUNT), -1 if most is None else min(most, _MAX_COUNT))

    def write(self, expression: Expression) -> None:
        """Writes a whole expression."""
        words = self.words
        if isinstance(expression, SearchedText):
            self._searches.setdefault(expression.search, {})[expression.which] = len(self.offsets) - 1
        todo: list[Expression | tuple[int, ...]] = [expression]
        while todo:
            item = todo.pop()
            if isinstance(item, tuple):
                words += item
            elif isinstance(item, Literal):
                words += (_TEXT, len(item.text), *map(ord, item.text))
            elif isinstance(item, Chars):
                words += (_CHARS, len(item.ranges), *chain.from_iterable(item.ranges))
            elif isinstance(item, Automaton):
                words += (_AUTOMATON, len(item.accepts), len(item.arcs), *map(int, item.accepts), *chain.from_iterable(item.arcs))
            elif isinstance(item, Reference):
                words += self.words_of_reference(item.name)
            elif isinstance(item, Sequence):
                todo.append((_SEQUENCE, len(item.parts)))
                todo.extend(reversed(item.parts))
            elif isinstance(item, Choice):
                todo.append((_CHOICE, len(item.options)))
                todo.extend(reversed(item.options))
            else:
                todo.append((_REPEAT, min(item.least, _MAX_COUNT), -1 if item.most is None else min(item.most, _MAX_COUNT)))
                todo.append(item.body)

    def number(self, name: str) -> int:
        """The number of a rule, perhaps of one that is not defined."""
        number = self._number.get(name)
        if number is None:
            number = self._number[name] = len(self.names)
            self.names.append(name)
        return number

    def arrays(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Words and offsets, int64."""
        return np.array(self.words, np.int64), np.array(self.offsets, np.int64)

    def searches(self) -> list[tuple[_core.TextSearch, list[int], list[int], int]]:
        """The searches of rules: each with the rules of its triggers, of their first characters, and of free text, or -1."""
        found = []
        for search, rules in self._searches.items():
            triggers = [rules.get(i, -1) for i in range(search.n_triggers)]
            firsts = [rules.get(search.n_triggers + i, -1) for i in range(len(search.firsts))]
            found.append((search, triggers, firsts, rules.get(FREE_TEXT, -1)))
        return found

    def __getitem__(self, name: str) -> Expression:
        number = self._number[name]
        if number >= len(self):
            raise KeyError(name)
        return read_expression(self.words[self.offsets[number] : self.offsets[number + 1]], self.names)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._number.get(name, len(self)) < len(self)  # without reading its expression

    def __iter__(self) -> Iterator[str]:
        return iter(self.names[: len(self)])

    def __len__(self) -> int:
        return self._n_defined


class NativeRules(Mapping[str, Expression]):
    """Rules that the native core has written, read as a mapping by their names; nothing is made of them before that."""

    def __init__(self, native: _core.RulePrograms) -> None:
        """Before anybody reads them."""
        self.native = native

    @cached_property
    def _names(self) -> list[str]:
        return self.native.names

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self._names[: len(self)])}

    @cached_property
    def _words(self) -> tuple[list[int], list[int]]:
        native = self.native.written_out() if self.native.has_counted else self.native
        return native.words.tolist(), native.offsets.tolist()

    @cached_property
    def _offsets(self) -> list[int]:
        offsets: list[int] = self.native.offsets.tolist()
        return offsets

    def __getitem__(self, name: str) -> Expression:
        number = self._numbers[name]
        if self.native.has_free_order:
            raise GrammarError(
                "a schema with members in any order, more than eight in one object, with conditions on members that take more than "
                "50,000 states, or of more than ten items that must differ, is no grammar that can be printed or changed: "
                "only GrammarCompiler takes it, as it is or in a structural tag"
            )
        if self.native.has_searches:
            raise GrammarError(MANY_TRIGGERS)
        words, offsets = self._words
        return read_expression(words[offsets[number] : offsets[number + 1]], self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._numbers  # without reading its expression

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._offsets) - 1


def native_rules(rules: Mapping[str, Expression], root: str) -> _core.RulePrograms:
    """Rules as the native core has them, which may have written them.

    Args:
        rules: by name.
        root: the rule that a whole text must match, whether it is defined or not.
    """
    if isinstance(rules, NativeRules):
        return rules.native
    programs = RulePrograms.of(rules)
    number = programs.number(root)
    return _core.RulePrograms(*programs.arrays(), programs.names, number, programs.searches())


def read_expression(words: Iterable[int], names: Many[str] = ()) -> Expression:
    """The expression that words are of.

    Args:
        words: of one expression.
        names: of the rules by number, if it refers to some.
    """
    stack: list[Expression] = []
    rest = iter(words)
    for code in rest:
        n = next(rest)
        if code == _TEXT:
            stack.append(_text([next(rest) for _ in range(n)]))
        elif code == _CHARS:
            stack.append(Chars(tuple([(next(rest), next(rest)) for _ in range(n)])))
        elif code == _AUTOMATON:
            n_arcs = next(rest)
            accepts = tuple([next(rest) != 0 for _ in range(n)])
            stack.append(Automaton(accepts, tuple([(next(rest), next(rest), next(rest), next(rest)) for _ in range(n_arcs)])))
        elif code == _REFERENCE:
            stack.append(Reference(names[n]))
        elif code == _REPEAT:
            most = next(rest)
            stack.append(Repeat(stack.pop(), n, None if most < 0 else most))
        else:
            parts = tuple(stack[len(stack) - n :])
            del stack[len(stack) - n :]
            stack.append(Sequence(parts) if code == _SEQUENCE else Choice(parts))
    (expression,) = stack
    return expression


def _text(codes: Many[int]) -> Expression:
    """Characters in a row, of which the native core takes some to be tokens."""
    if not codes or max(codes) <= MAX_CODE_POINT:
        return Literal("".join(map(chr, codes)))
    parts: list[Expression] = []
    for are_tokens, together in groupby(codes, lambda code: code > MAX_CODE_POINT):
        some = list(together)
        parts += [Chars(((code, code),)) for code in some] if are_tokens else [Literal("".join(map(chr, some)))]
    return parts[0] if len(parts) == 1 else Sequence(tuple(parts))
