"""Tokens in ISO's notation to rules of expressions.

A body is read with an explicit stack of open groups, so nesting costs no Python stack. An exception binds tighter than a comma, a
count tighter than an exception: `2 * a - b, c` is `(aa - b) c`.

Cost: about 3 us a token.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final, NoReturn

from psc._core import stop_if_cancelled
from psc.compiler.expressions.expression import (
    EMPTY,
    MAX_CODE_POINT,
    Chars,
    Choice,
    Expression,
    Literal,
    Reference,
    Repeat,
    RuleSet,
    Sequence,
)
from psc.compiler.frontends.ebnf.escapes import without_surrogates
from psc.compiler.frontends.ebnf.lexer import Source, Token
from psc.compiler.frontends.ebnf.parser import MAX_NESTING, MAX_REPEAT, MAX_TEXT, defined_once
from psc.compiler.frontends.front_end import no_start
from psc.compiler.frontends.iso.lexer import tokens_of
from psc.compiler.frontends.w3c.rules import Rules
from psc.errors import GrammarError, ResourceLimitError
from psc.support.readable import shortened
from psc.support.similar import similar

DEFAULT_START: Final = "root"
_IN_ISO: Final = "in ISO's notation, whose rules are written name = … ;"
_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}
_RANGE: Final = re.compile(r"(?:#x|U\+)([0-9A-Fa-f]{1,8})(?:[ \t]*(?:-|\.\.)[ \t]*(?:#x|U\+)([0-9A-Fa-f]{1,8}))?")
_IGNORE: Final = re.compile(r"%ignore[ \t]+(\w+)[ \t]*")
_ANY: Final = re.compile(r"any (?:unicode )?character", re.I)


def load_iso(text: str, *, source_name: str = "<string>", start: str = DEFAULT_START) -> RuleSet:
    """Reads grammar text in the notation of ISO/IEC 14977.

    Args:
        text: the grammar.
        source_name: its file or a label, for messages.
        start: the rule that a whole text must match; the first rule, where this is "root" and no rule is called so.

    Raises:
        GrammarError: the text is not a grammar, has an exception that is not regular, or a special sequence that psc does not know;
            the message has the place.
    """
    if len(text) > MAX_TEXT:
        raise ResourceLimitError(f"{source_name}: the grammar has {len(text):,} characters; the limit is {MAX_TEXT:,}")
    source = Source(text, source_name)
    tokens = tokens_of(source)
    ignored = [name for token in tokens if token[0] == "directive" for name in _ignored_by(token, source)]
    tokens = [token for token in tokens if token[0] != "directive"]
    heads = [token for token, following in pairwise(tokens) if token[0] == "name" and following[0] == "="]
    offsets = defined_once(heads, source)
    rules = Rules(source, offsets, "give that rule a name without lower-case letters")
    reader = _Reader(source, tokens, offsets, rules)
    for _, name, offset in ignored:
        reader.check_defined(name, offset)
        rules.ignore(name)
    reader.read()
    if start == DEFAULT_START and start not in offsets and offsets:
        start = next(iter(offsets))
    if start not in offsets:
        raise GrammarError(f"{source_name}: {no_start(start, list(offsets))}").with_position(path=source_name)
    made, root = rules.finished(start)
    return RuleSet(made, root, text, source_name, source.lines(offsets), language="iso_ebnf")


def _ignored_by(token: Token, source: Source) -> list[Token]:
    """The name that a directive has psc ignore, if any."""
    _, text, offset = token
    if not source.begins_line(offset):
        raise source.error(offset, f"{shortened(text, 40)} must begin on a line of its own; a percent sign as text is '%'")
    if text.strip() == "%iso":
        return []
    match = _IGNORE.fullmatch(text)
    if match is None:
        raise source.error(offset, f"there is no directive {shortened(text, 40)}; there are %ignore NAME and %iso")
    return [("name", match[1], offset + match.start(1))]


class _Group:
    """A group whose closing bracket was not read yet, or a rule's body."""

    def __init__(self, kind: str, offset: int) -> None:
        self.kind = kind
        self.offset = offset
        self.count: int | None = None
        """How often the next part comes, where that is said."""
        self._options: list[Expression] = []
        self._row: list[Expression] = []
        self._left: Expression | None = None
        """That from which texts are taken away."""
        self._minus = 0
        self._part: Expression | None = None

    @property
    def has_part(self) -> bool:
        """Whether nothing but punctuation may come."""
        return self._part is not None

    def add(self, part: Expression) -> None:
        """Takes the next part."""
        self._part = part if self.count is None else Repeat(part, self.count, self.count)
        self.count = None

    def take_away(self, offset: int, rules: Rules) -> None:
        """Begins a difference."""
        self._left, self._minus = self._term(rules), offset

    def end_term(self, rules: Rules) -> None:
        """Ends what stands between commas."""
        self._row.append(self._term(rules))

    def end_row(self, rules: Rules) -> None:
        """Ends what stands between bars."""
        self.end_term(rules)
        self._options.append(self._row[0] if len(self._row) == 1 else Sequence(tuple(self._row)))
        self._row = []

    def finished(self, rules: Rules) -> Expression:
        """All of it."""
        self.end_row(rules)
        return self._options[0] if len(self._options) == 1 else Choice(tuple(self._options))

    def _term(self, rules: Rules) -> Expression:
        found, left = self._part or EMPTY, self._left
        self._part = self._left = self.count = None
        return found if left is None else rules.difference(left, found, self._minus)


class _Reader:
    """Reads rules, one after the other.

    Args:
        source: for messages.
        tokens: all of them.
        offsets: where each rule is defined.
        rules: takes what is read.
    """

    def __init__(self, source: Source, tokens: list[Token], offsets: dict[str, int], rules: Rules) -> None:
        self._source = source
        self._tokens = [*tokens, ("end", "the end of the text", len(source.text))]
        self._at = 0
        self._offsets = offsets
        self._rules = rules
        self._name = ""

    def read(self) -> None:
        """Reads all rules."""
        while self._peek() != "end":
            if self._peek() != "name":
                self._fail("a rule is written name = … ;")
            self._name = self._next()[1]
            if self._peek() != "=":
                self._fail(f"= stands behind {shortened(self._name, 40)}, the name of a rule")
            self._next()
            self._rules.bodies[self._name] = self._body()
            if self._peek() != ";":
                self._fail(f"{_IN_ISO}, parts have commas between them, and a rule ends with ;")
            self._next()

    def check_defined(self, name: str, offset: int) -> None:
        """Raises GrammarError where there is no such rule."""
        if name not in self._offsets:
            close = similar(name, self._offsets)
            hint = f"did you mean {close[0]!r}?" if close else "define it, or put text into quotes"
            if " " in name:
                hint += " (A comma stands between two rules.)"
            raise self._source.error(offset, f"rule {name!r} is not defined; {hint}")

    def _peek(self) -> str:
        return self._tokens[self._at][0]

    def _next(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _fail(self, what: str) -> NoReturn:
        _, text, offset = self._tokens[self._at]
        raise self._source.error(offset, f"{shortened(text, 40)} cannot stand here; {what}")

    def _body(self) -> Expression:
        """The expression of a rule, up to what cannot belong to it."""
        group = _Group("", 0)
        groups = [group]
        while True:
            stop_if_cancelled()
            kind, text, offset = self._tokens[self._at]
            if kind in _CLOSING:
                self._begin(group)
                if len(groups) > MAX_NESTING:
                    raise self._source.limit(
                        offset, f"groups are nested deeper than {MAX_NESTING}, which is the limit; name inner groups as rules"
                    )
                group = _Group(kind, offset)
                groups.append(group)
            elif len(groups) > 1 and kind == _CLOSING[group.kind]:
                inner = group.finished(self._rules)
                closed = groups.pop()
                group = groups[-1]
                group.add(inner if closed.kind == "(" else Repeat(inner, 0, 1 if closed.kind == "[" else None))
            elif kind == "|":
                group.end_row(self._rules)
            elif kind == ",":
                group.end_term(self._rules)
            elif kind == "-":
                group.take_away(offset, self._rules)
            elif kind == "number":
                self._begin(group)
                if group.count is not None:
                    self._fail("a count comes once; put the inner one into parentheses")
                group.count = self._count(text, offset)
                self._at += 1
                if self._peek() != "*":
                    self._fail(f"* and what comes {text} times follow a number; digits as text are '{text}'")
            elif kind in ("name", "literal", "special"):
                self._begin(group)
                group.add(self._item(kind, text, offset))
            elif len(groups) == 1:
                return group.finished(self._rules)
            elif kind == "end":
                raise self._source.error(group.offset, f"this {group.kind} has no closing {_CLOSING[group.kind]}")
            else:
                self._fail(f"{_IN_ISO}, parts have commas between them, and {group.kind} ends with {_CLOSING[group.kind]}")
            self._at += 1

    def _begin(self, group: _Group) -> None:
        """Raises GrammarError where the next token begins a part and no comma or the like is before it."""
        if group.has_part:
            end = f"{group.kind} ends with {_CLOSING[group.kind]}" if group.kind else "a rule ends with ;"
            self._fail(f"{_IN_ISO}, parts have commas between them, and {end}")

    def _count(self, text: str, offset: int) -> int:
        if len(text) > 9 or int(text) > MAX_REPEAT:
            raise self._source.limit(offset, f"{shortened(text, 20)} times is more than {MAX_REPEAT:,}, which is the limit")
        return int(text)

    def _item(self, kind: str, text: str, offset: int) -> Expression:
        if kind == "name":
            self.check_defined(text, offset)
            self._rules.use(self._name, text, offset)
            return Reference(text)
        if kind == "special":
            return self._special(text[1:-1].strip(), offset)
        if len(text) == 2:
            raise self._source.error(offset, f"{text} has no text; for the empty text write nothing between two commas or |")
        return Literal(text[1:-1])

    def _special(self, text: str, offset: int) -> Expression:
        if _ANY.fullmatch(text):
            return Chars(without_surrogates([(0, MAX_CODE_POINT)]))
        match = _RANGE.fullmatch(text)
        if match is None:
            raise self._source.error(
                offset,
                f"psc does not know what ? {shortened(text, 60)} ? means; write characters by their numbers, as ? #x20 ? or "
                "? #x41-#x5A ?, or ? any character ?",
            )
        low, high = int(match[1], 16), int(match[2] or match[1], 16)
        found = without_surrogates([(low, high)]) if low <= high <= MAX_CODE_POINT else ()
        if not found:
            raise self._source.error(offset, f"? {text} ? has no characters; the last one is #x10FFFF, and surrogates are none")
        return Chars(found)
