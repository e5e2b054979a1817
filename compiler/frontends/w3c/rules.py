"""Rules in the notations of W3C and ISO to rules of expressions: differences become automata, ignored text comes between terminals.

A difference is one of two sets of texts that automata tell; the rules that it refers to must not need themselves.

With `%ignore NAME` ignored text may stand before the whole text and behind each *lexeme*: a literal, a character, a class or a
difference in a rule that is no terminal, and each use of a terminal there. Terminals are the rules whose names have no lower-case
letter, those with `/* ws: explicit */`, and the ignored ones.

Cost: linear, but for differences: that of the automata, see `psc.compiler.expressions.text_sets`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from psc._core import TextAutomaton, stop_if_cancelled
from psc.compiler.expressions.expression import (
    EMPTY,
    Chars,
    Choice,
    Expression,
    Literal,
    Reference,
    Repeat,
    Sequence,
    merged_ranges,
)
from psc.compiler.expressions.fold import fold, rebuilt, referred_to
from psc.compiler.expressions.text_sets import expression_of, text_set
from psc.compiler.frontends.ebnf.lexer import Source
from psc.errors import ResourceLimitError

_IGNORED: Final = "%ignore"
"""The rule of ignored text; no name in a text begins so, as for the next two."""
_WHOLE: Final = "%start"
_DIFFERENCE: Final = "%difference "


class Rules:
    """The rules of one text while they are made.

    Args:
        source: for messages.
        offsets: where each rule is defined.
        as_terminal: how a user makes a rule a terminal, for messages.
    """

    def __init__(self, source: Source, offsets: Mapping[str, int], as_terminal: str) -> None:
        self._as_terminal = as_terminal
        self.bodies: dict[str, Expression] = {}
        """Of each rule that was read; a difference stands in it as a reference."""
        self.explicit: set[str] = set()
        """The rules that say that they are terminals."""
        self._source = source
        self._offsets = offsets
        self._ignored: list[str] = []
        self._uses: list[tuple[str, str, int]] = []
        self._differences: dict[str, tuple[Expression, Expression, int]] = {}
        self._texts: dict[str, TextAutomaton] = {}
        """Of the rules that differences need, and of differences."""

    def ignore(self, name: str) -> None:
        """Lets a rule's texts stand between terminals."""
        self._ignored.append(name)
        self.explicit.add(name)

    def use(self, rule: str, name: str, offset: int) -> None:
        """Notes that a rule refers to another one at an offset."""
        self._uses.append((rule, name, offset))

    def difference(self, left: Expression, right: Expression, offset: int) -> Expression:
        """What stands in a body for a difference."""
        name = f"{_DIFFERENCE}{len(self._differences)}"
        self._differences[name] = left, right, offset
        return Reference(name)

    def finished(self, start: str) -> tuple[dict[str, Expression], str]:
        """All rules, and the name of the one that a whole text must match.

        Raises:
            GrammarError: a difference is not regular, or a terminal refers to a rule that is none.
        """
        for name in self._differences:
            stop_if_cancelled()
            self._find_texts(name)
        if not self._ignored:
            return {name: fold(body, self._plain) for name, body in self.bodies.items()}, start
        for rule, name, offset in self._uses:
            if self._is_terminal(rule) and not self._is_terminal(name):
                raise self._source.error(
                    offset,
                    f"the terminal {rule!r} refers to {name!r}, inside which text is ignored; {self._as_terminal} to make it a "
                    "terminal",
                )
        made = {name: fold(body, self._plain if self._is_terminal(name) else self._lexeme) for name, body in self.bodies.items()}
        made[_IGNORED] = Repeat(Choice(tuple([Reference(name) for name in dict.fromkeys(self._ignored)])), 0, None)
        made[_WHOLE] = Sequence((Reference(_IGNORED), self._lexeme(Reference(start), [])))
        return made, _WHOLE

    def _is_terminal(self, name: str) -> bool:
        return name in self.explicit or name.upper() == name

    def _plain(self, node: Expression, parts: list[Expression]) -> Expression:
        if isinstance(node, Reference) and node.name in self._differences:
            return _written(self._texts[node.name])
        return rebuilt(node, parts)

    def _lexeme(self, node: Expression, parts: list[Expression]) -> Expression:
        if isinstance(node, Reference):
            is_one = node.name in self._differences or self._is_terminal(node.name)
        else:
            is_one = isinstance(node, (Literal, Chars)) and node != EMPTY
        found = self._plain(node, parts)
        return Sequence((found, Reference(_IGNORED))) if is_one else found

    def _find_texts(self, difference: str) -> None:
        """Finds the texts of a difference, after those of each rule that it needs."""
        at = self._differences[difference][2]
        path = {difference: self._needed(difference)}
        while path:
            name = next(reversed(path))
            if not path[name]:
                del path[name]
                self._texts[name] = self._texts_of(name, at)
                continue
            needed = path[name].pop()
            if needed in self._texts:
                continue
            if needed in path:
                itself = next(rule for rule in (needed, *reversed(path)) if rule not in self._differences)
                raise self._source.error(
                    at,
                    f"psc takes a difference of regular texts only, and the rule {itself!r} in it refers to itself; write with "
                    "* or + what it repeats, or write out what the difference leaves",
                )
            if self._ignored and needed not in self._differences and not self._is_terminal(needed):
                raise self._source.error(
                    at,
                    f"inside a difference nothing is ignored, but inside the rule {needed!r} text is; {self._as_terminal} to make "
                    "it a terminal",
                )
            path[needed] = self._needed(needed)

    def _needed(self, name: str) -> list[str]:
        if name in self._differences:
            left, right, _ = self._differences[name]
            return sorted(referred_to(left) | referred_to(right))
        return sorted(referred_to(self.bodies[name]))

    def _texts_of(self, name: str, at: int) -> TextAutomaton:
        try:
            if name not in self._differences:
                return text_set(fold(self.bodies[name], self._with_texts))
            left, right, at = self._differences[name]
            return text_set(fold(left, self._with_texts)).difference(text_set(fold(right, self._with_texts)))
        except ResourceLimitError as e:
            raise self._source.limit(at, str(e)) from None

    def _with_texts(self, node: Expression, parts: list[Expression]) -> Expression:
        return expression_of(self._texts[node.name]) if isinstance(node, Reference) else rebuilt(node, parts)


def _written(texts: TextAutomaton) -> Expression:
    """A set of texts as an expression: a class, where each has one character, as of `Char - '-'`."""
    if list(texts.accepts) == [False, True] and all(source == 0 for source, _, _, _ in texts.arcs):
        return Chars(merged_ranges((first, last) for _, first, last, _ in texts.arcs))
    return expression_of(texts)
