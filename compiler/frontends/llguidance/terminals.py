"""Terminals of the dialect as expressions over characters.

`&` is an intersection, `~` a complement within all texts: both are made by automata over characters, exactly. A terminal is an
expression without references, however many others it names.

Cost: linear where there is neither; else that of the automata.
"""

from __future__ import annotations

import json
import re
from typing import Final

from psc.compiler.expressions.expression import EMPTY, Automaton, Chars, Choice, Expression, Literal, Repeat, Sequence
from psc.compiler.expressions.substrings import substring_automaton
from psc.compiler.expressions.text_sets import expression_of, text_set
from psc.compiler.frontends.llguidance.source import Source
from psc.compiler.frontends.llguidance.syntax import And, Document, Either, InRow, Many, Nested, Node, Not, Span, Text
from psc.compiler.frontends.regex.classes import ignoring_case
from psc.compiler.frontends.regex.parser import regex_expression
from psc.compiler.terminals.regex.codepoints import from_ranges
from psc.compiler.terminals.regex.expression import chars
from psc.errors import GrammarError, ResourceLimitError
from psc.support.limits import limit

MAX_DEPTH: Final = limit("llguidance_terminals")
"""Terminals and groups inside each other."""

_REGEX_FLAGS: Final = "imsux"
_WORD: Final = re.compile(r"\s+|\w+|[^\s\w]+")
_NOT_IN_TERMINALS: Final = {
    "special token": "special tokens cannot be used in terminals; use them in a rule, which has a name in lower case",
    "grammar": "grammar references cannot be used in terminals; use them in a rule, which has a name in lower case",
    "%json": "%json cannot be used in terminals; use it in a rule, which has a name in lower case",
}


class Terminals:
    """The terminals of one document, each made once."""

    def __init__(self, document: Document, source: Source) -> None:
        self._document = document
        self._source = source
        self._made: dict[str, Expression] = {}
        self._open: list[str] = []
        self._depth = 0

    def named(self, name: str, at: int) -> Expression:
        """The terminal of a name that stands at an offset.

        Raises:
            GrammarError: there is no such terminal, it needs itself, or it has what no terminal can have.
        """
        found = self._made.get(name)
        if found is not None:
            return found
        definition = self._document.terminals.get(name)
        if definition is None:
            raise self._source.error(at, f"unknown name {name!r}; define it, or import it from common")
        if name in self._open:
            circle = " -> ".join([*self._open[self._open.index(name) :], name])
            raise self._source.error(at, f"circular reference in terminal: {circle}; use rules, which may need themselves")
        self._open.append(name)
        self._made[name] = made = self.expression(definition.body)
        self._open.pop()
        return made

    def expression(self, node: Node) -> Expression:
        """The texts of a part of a terminal. Raises as :meth:`named`."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._source.limit(node.at, f"terminals and groups are nested more than {MAX_DEPTH} deep, which is the limit")
        made = self._expression(node)
        self._depth -= 1
        return made

    def _expression(self, node: Node) -> Expression:
        if isinstance(node, Text):
            return self._text(node)
        if isinstance(node, Span):
            return Chars(((ord(node.first), ord(node.last)),)) if not _has_surrogates(node) else _around_surrogates(node)
        if isinstance(node, InRow):
            parts = tuple([self.expression(part) for part in node.parts])
            return Sequence(parts) if parts else EMPTY
        if isinstance(node, Either):
            return Choice(tuple([self.expression(part) for part in node.parts]))
        if isinstance(node, Many):
            return Repeat(self.expression(node.body), node.least, node.most)
        if isinstance(node, Nested):
            raise self._source.error(node.at, "nested %lark cannot be used in terminals; use it in a rule")
        try:
            if isinstance(node, Not):
                return expression_of(text_set(self.expression(node.operand)).complement())
            first, *rest = [text_set(self.expression(part)) for part in node.parts]
            for other in rest:
                first = first.intersection(other)
        except ResourceLimitError as e:
            raise self._source.limit(node.at, f"{'&' if isinstance(node, And) else '~'}: {e}") from None
        return expression_of(first)

    def _text(self, node: Text) -> Expression:
        if node.kind == "string":
            return Literal(node.text)
        if node.kind == "string of any case":
            return Sequence(tuple(map(_of_any_case, node.text)))
        if node.kind == "terminal":
            return self.named(node.text, node.at)
        if node.kind == "regex":
            return self._regex(node)
        if node.kind == "%regex":
            return self._structured(node)
        if node.kind == "rule":
            within = f"terminal {self._open[-1]!r}" if self._open else "a terminal"
            raise self._source.error(node.at, f"{within} cannot reference rule {node.text!r}; give that a name in upper case")
        raise self._source.error(node.at, _NOT_IN_TERMINALS[node.kind])

    def _regex(self, node: Text) -> Expression:
        for flag in node.flags:
            if flag not in _REGEX_FLAGS:
                raise self._source.error(
                    node.at, f"regular-expression flag {flag!r} is not supported; there are {', '.join(_REGEX_FLAGS)}"
                )
        flags = "".join(sorted(set(node.flags) - {"u"}))
        prefix = f"(?{flags})" if flags else ""
        try:
            return regex_expression(prefix + node.text.replace("\\/", "/"), source_name="regex", dialect="rust")
        except ResourceLimitError as e:
            raise self._source.limit(node.at, f"failed to compile regular expression: {e}") from None
        except GrammarError as e:
            raise self._source.error(node.at, f"failed to compile regular expression: {e}") from None

    def _structured(self, node: Text) -> Automaton:
        try:
            return substring_automaton(_chunks(node.text))
        except ResourceLimitError as e:
            raise self._source.limit(node.at, str(e)) from None
        except ValueError as e:
            raise self._source.error(node.at, str(e)) from None


def _chunks(text: str) -> list[str]:
    """The parts of a `%regex` of which runs match. Raises ValueError for another object."""
    value = json.loads(text)
    names = ("substring_chunks", "substring_words", "substring_chars")
    if not isinstance(value, dict):
        raise ValueError(f"%regex value must be an object with one of {', '.join(names)}")
    if value.get("type") == "substring" and "chunks" in value:
        value = {"substring_chunks": value["chunks"], **{k: v for k, v in value.items() if k not in ("type", "chunks")}}
    for name in value:
        if name not in names:
            raise ValueError(f"unknown field {name!r} in %regex; there are {', '.join(names)}")
    if len(value) != 1:
        how_many = "only one field can be set on %regex" if value else "no fields set on %regex"
        raise ValueError(f"{how_many}; give one of {', '.join(names)}")
    ((name, given),) = value.items()
    if name == "substring_chunks":
        if not isinstance(given, list) or not all(isinstance(chunk, str) for chunk in given):
            raise ValueError("substring_chunks must be an array of strings")
        chunks: list[str] = given
    elif not isinstance(given, str):
        raise ValueError(f"{name} must be a string")
    else:
        chunks = _WORD.findall(given) if name == "substring_words" else list(given)
    for chunk in chunks:
        try:
            chunk.encode()
        except UnicodeEncodeError:
            raise ValueError("half of a surrogate pair is no character") from None
    return chunks


def _of_any_case(character: str) -> Chars:
    return chars(ignoring_case(from_ranges([(ord(character), ord(character))]), re.IGNORECASE, "rust"))


def _has_surrogates(span: Span) -> bool:
    return ord(span.first) < 0xD800 and ord(span.last) > 0xDFFF


def _around_surrogates(span: Span) -> Chars:
    return Chars(((ord(span.first), 0xD7FF), (0xE000, ord(span.last))))
