"""Rules of ANTLR's parser to productions over names.

*Left recursion.* ANTLR takes a rule that begins with itself as one of operators, whose precedence only says which of a text's trees
is made. With `e: e B e | P e | e S | A` a text is `P* A S*`, and again behind each `B`. So psc writes `e: e B x | e S | x` and
`x: P x | A`, which has the same texts and one tree for each.

*`EOF`.* What stands behind it must be empty. So a rule has two forms: texts without `EOF`, and texts that end with it, which
nothing follows.

Cost: linear in the rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from psc._core import stop_if_cancelled
from psc.compiler.frontends.antlr.nodes import Alternative, AnyOne, Element, Group, Name, Not, Repeated, Rule, Text
from psc.compiler.frontends.antlr.token_types import TokenTypes
from psc.support.readable import shortened
from psc.support.similar import similar

EOF: Final = "EOF"
Symbols = tuple[str, ...]
Productions = dict[str, list[Symbols]]
"""Per nonterminal its alternatives."""


class ParserRules:
    """All rules of the parser as productions.

    Args:
        rules: by name.
        tokens: the token types.

    Raises:
        GrammarError: a rule or a token type is not defined.
    """

    def __init__(self, rules: Mapping[str, Rule], tokens: TokenTypes) -> None:
        self._rules = rules
        self._tokens = tokens
        self._types = set(tokens.names)
        self.productions: Productions = {}
        self._made: dict[tuple[object, ...], str] = {}
        for rule in rules.values():
            stop_if_cancelled()
            self._add(rule)

    def _add(self, rule: Rule) -> None:
        name = rule.name
        rows = [self._row(rule, alternative) for alternative in _without_groups(rule.alternatives, name)]
        if not any(row and row[0] == name for row in rows):
            self.productions[name] = rows
            return
        operand = f"__{name}_operand"
        behind: list[Symbols] = []
        operands: list[Symbols] = []
        for row in rows:
            if row == (name,):
                continue
            begins, ends = bool(row) and row[0] == name, len(row) > 1 and row[-1] == name
            body = (*row[:-1], operand) if ends else row
            (behind if begins else operands).append(body)
        if not operands:
            self.productions[name] = rows
            return
        self.productions[name] = [(operand,), *behind]
        self.productions[operand] = operands

    def _row(self, rule: Rule, alternative: Alternative) -> Symbols:
        return tuple(symbol for part in alternative.parts for symbol in self._symbols(rule, part))

    def _symbols(self, rule: Rule, element: Element) -> Symbols:
        if isinstance(element, Name):
            return (self._name(rule, element),)
        if isinstance(element, Text):
            return (self._tokens.of_literal[element.text],)
        if isinstance(element, (AnyOne, Not)):
            return (self._one_of(rule, element),)
        if isinstance(element, Group):
            rows = [self._row(rule, a) for a in element.alternatives]
            return rows[0] if len(rows) == 1 else (self._helper(rule, *rows),)
        assert isinstance(element, Repeated)
        body = element.body
        rows = [self._row(rule, a) for a in body.alternatives] if isinstance(body, Group) else [self._symbols(rule, body)]
        if element.most == 1:
            return (self._helper(rule, (), *rows),)
        return (self._loop(rule, element.least, rows),)

    def _helper(self, rule: Rule, *rows: Symbols) -> str:
        """A nonterminal with these alternatives; the same for the same ones."""
        name = self._made.get(rows)
        if name is None:
            name = self._made[rows] = f"__{rule.name}_{len(self._made)}"
            self.productions[name] = list(dict.fromkeys(rows))
        return name

    def _loop(self, rule: Rule, least: int, rows: list[Symbols]) -> str:
        """A nonterminal of any number of rows."""
        key = ("loop", least, *rows)
        name = self._made.get(key)
        if name is None:
            name = self._made[key] = f"__{rule.name}_{len(self._made)}"
            first: list[Symbols] = rows if least else [()]
            self.productions[name] = list(dict.fromkeys([*first, *((name, *row) for row in rows)]))
        return name

    def _one_of(self, rule: Rule, element: AnyOne | Not) -> str:
        """Any token, or any but some."""
        excluded = set() if isinstance(element, AnyOne) else self._excluded(rule, element.body, element.offset)
        return self._helper(rule, *[(name,) for name in self._tokens.names if name not in excluded])

    def _excluded(self, rule: Rule, element: Element, offset: int) -> set[str]:
        if isinstance(element, Group) and all(len(a.parts) == 1 for a in element.alternatives):
            return {name for a in element.alternatives for name in self._excluded(rule, a.parts[0], offset)}
        if isinstance(element, Name) and element.name[0].isupper():
            return {self._name(rule, element)}
        if isinstance(element, Text):
            return {self._tokens.of_literal[element.text]}
        raise rule.source.error(offset, "in the parser ~ takes a token or a set of tokens, as in ~(A | 'b')")

    def _name(self, rule: Rule, element: Name) -> str:
        name = element.name
        if name == EOF or name in self._rules or name in self._types:
            return name
        if name[0].isupper():  # ANTLR warns, and no text has such a token
            self.productions[name] = []
            return name
        close = similar(name, self._rules)
        hint = f"did you mean {close[0]!r}?" if close else "define it, or put text into quotes"
        raise rule.source.error(element.offset, f"there is no rule {shortened(name)!r}; {hint}")


def _without_groups(alternatives: tuple[Alternative, ...], name: str) -> list[Alternative]:
    """The alternatives, with `(e | …)` around a whole one that begins with the rule itself read as alternatives of the rule."""
    found = []
    for alternative in alternatives:
        only = alternative.parts[0] if len(alternative.parts) == 1 else None
        if isinstance(only, Group) and any(_begins(a, name) for a in only.alternatives):
            found += _without_groups(only.alternatives, name)
        else:
            found.append(alternative)
    return found


def _begins(alternative: Alternative, name: str) -> bool:
    first = alternative.parts[0] if alternative.parts else None
    return isinstance(first, Name) and first.name == name


def with_end(productions: Productions, start: str) -> tuple[Productions, str]:
    """The productions without `EOF`, and the nonterminal of the texts that it allows, which may be followed by the end."""
    empty = _empty(productions)
    ends = _reaching_end(productions, empty)
    if start not in ends:
        return {name: [row for row in rows if EOF not in row] for name, rows in productions.items()}, start
    made: Productions = {name: [row for row in rows if EOF not in row] for name, rows in productions.items()}
    for name in ends:
        stop_if_cancelled()
        rows = []
        for row in productions[name]:
            for i in reversed(range(len(row))):
                if (row[i] == EOF or row[i] in ends) and EOF not in row[:i]:
                    rows.append((*row[:i], *([f"__{row[i]}_end"] if row[i] != EOF else [])))
                if row[i] != EOF and row[i] not in empty:
                    break
        made[f"__{name}_end"] = list(dict.fromkeys(rows))
    whole = "__start"
    made[whole] = [(start,), (f"__{start}_end",)]
    return made, whole


def _empty(productions: Productions) -> set[str]:
    """The nonterminals with an empty text, where `EOF` is none."""
    found: set[str] = set()
    before = -1
    while before != len(found):
        before = len(found)
        for name, rows in productions.items():
            stop_if_cancelled()
            if name not in found and any(all(s == EOF or s in found for s in row) for row in rows):
                found.add(name)
    return found


def _reaching_end(productions: Productions, empty: set[str]) -> list[str]:
    """The nonterminals with a text that ends with `EOF`."""
    found: dict[str, None] = {}
    before = -1
    while before != len(found):
        before = len(found)
        for name, rows in productions.items():
            stop_if_cancelled()
            if name not in found and any(_may_end(row, empty, found) for row in rows):
                found[name] = None
    return list(found)


def _may_end(row: Symbols, empty: set[str], ends: Mapping[str, None]) -> bool:
    for symbol in reversed(row):
        if symbol == EOF or symbol in ends:
            return True
        if symbol not in empty:
            return False
    return False
