"""Lark's grammar language to trees, as Lark's own parser makes them, seven times faster; text with errors is Lark's to judge.

The idea: tokens are cut by the regexes of Lark's loader, tried in the order in which its lexer tries them. The language is LL(1)
in them, so a descent by hand gives the one tree there is, where Lark's parser for it runs LALR tables and callbacks. Text with an
error, or nested deep, is no tree here: the caller gives it to Lark, which says what is wrong and where.

Four of Lark's regexes backtrack: thirty backslashes after a quote that nothing closes take a second, sixty take days, and 250,000
blank lines take hours. They are written here so that they match the same without going back, and text that would cost Lark so much
is not given to Lark.

Cost: 2 us a token; Lark's parser takes 20.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any, Final

from lark.grammar import NonTerminal, Terminal
from lark.lexer import PatternRE, TerminalDef, Token
from lark.load_grammar import _RE_FLAGS, TERMINALS
from lark.tree import Tree

from psc._core import stop_if_cancelled

MAX_NESTING: Final = 160
"""Groups inside each other; the descent is recursive, two calls a group. More than `definitions.MAX_NESTING`."""
MAX_BLANK_LINES: Final = 1_000
"""In a row, that Lark may be given in a text with an error."""
MAX_ESCAPES: Final = 16
"""Pairs of backslashes that Lark may be given after a quote that nothing closes."""

_IGNORED: Final = frozenset(("WS", "COMMENT", "BACKSLASH"))
_STATEMENTS: Final = frozenset(("_OVERRIDE", "_EXTEND", "_IGNORE", "_DECLARE", "_IMPORT"))
_SINGLE: Final = frozenset(("RULE", "TERMINAL", "STRING", "REGEXP"))
_MORE: Final = frozenset(("_LBRACE", "_DOTDOT", "OP", "TILDE"))
"""What may follow a symbol or a literal that is a part of something larger."""
_END: Final = ""
_UNREAD: Final = "?"
_AT_ONCE: Final = 64

# A quote after a backslash ends a literal only where no other quote does. Lark's regexes find that out by going back.
_STRING: Final = r'"(?>(?:\\["\\]|[^"\n])*)"i?'
_REGEXP: Final = rf"/(?!/)(?>(?:\\[/\\]|[^/])*)/[{_RE_FLAGS}]*"
WITHOUT_GOING_BACK: Final = {
    r'"(\\"|\\\\|[^"\n])*?"i?': rf'{_STRING}|"[^\n]*"i?',
    rf"/(?!/)(\\/|\\\\|[^/])*?/[{_RE_FLAGS}]*": rf"{_REGEXP}|/(?!/)(?s:.*)/[{_RE_FLAGS}]*",
    r"\s*//[^\n]*|\s*#[^\n]*": r"(?>\s*)(?://|\#)[^\n]*",
    r"(\r?\n)+\s*\|": r"(?>(?:\r?\n)+\s*)\|",
}
"""Regexes of Lark's tokens, and what matches the same in time proportional to the match."""
_MANY_BLANK_LINES: Final = re.compile(rf"(?:\r?\n){{{MAX_BLANK_LINES}}}")
_CLOSED: Final = re.compile(f"{_STRING}|{_REGEXP}")


class NotRead(Exception):
    """The text is none of the language, or nested too deep."""

    def __init__(self, position: int, given_to_lark: bool) -> None:
        """
        Args:
            position: of the first character that is not read.
            given_to_lark: whether Lark will say what is wrong in time that is proportional to the text's length.
        """
        super().__init__(position)
        self.position = position
        self.given_to_lark = given_to_lark


class _Stop(Exception):
    """The token that is next cannot be there."""


def read_statements(text: str) -> Tree[Any]:
    """The statements of a grammar.

    Args:
        text: the grammar.

    Returns:
        What `lark.load_grammar._parse_grammar` returns, but that tokens do not know their lines.

    Raises:
        NotRead: the text is not read here.
    """
    reader = _Reader(text + "\n")
    try:
        return reader.statements()
    except _Stop:
        raise NotRead(reader.position, reader.is_cheap_for_lark()) from None


def tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """The tokens of a text up to the first character that begins none: kind, text and offset."""
    for matches in _batches(text):
        for match in matches:
            kind = str(match.lastgroup)
            if kind not in _IGNORED:
                yield kind, match[kind], match.start()


def _batches(text: str) -> Iterator[list[re.Match[str]]]:
    """The matches of a text's tokens, some at once: for each, whether the thread is to stop costs a part in fifty."""
    matches = iter(_scanner().scanner(text).match, None)  # type: ignore[attr-defined]
    while some := list(islice(matches, _AT_ONCE)):
        stop_if_cancelled()
        yield some


@cache
def _scanner() -> re.Pattern[str]:
    """Lark's tokens as one regex, in the order of `lark.lexer.BasicLexer`."""
    defined = [TerminalDef(name, PatternRE(pattern)) for name, pattern in TERMINALS.items()]
    defined.sort(key=lambda t: (-t.priority, -t.pattern.max_width, -len(t.pattern.value), t.name))
    patterns = [(t.name, t.pattern.value) for t in defined]
    tokens = "|".join(f"(?P<{name}>{WITHOUT_GOING_BACK.get(pattern, pattern)})" for name, pattern in patterns)
    return re.compile(rf"(?:{tokens})[ \t]*+")  # no token that counts begins with a blank


class _Reader:
    """The tokens of a text, and where in them it is read."""

    def __init__(self, text: str) -> None:
        self._kinds: list[str] = []
        self._texts: list[str] = []
        at = 0
        for matches in _batches(text):
            at = matches[-1].end()
            for match in matches:
                kind = match.lastgroup
                if kind not in _IGNORED:
                    self._kinds.append(kind)  # type: ignore[arg-type]
                    self._texts.append(match[kind])  # type: ignore[index]
        self._text = text
        self._end = at
        self._kinds.append(_END if at == len(text) else _UNREAD)
        self._texts.append("")
        self._at = 0
        self._depth = 0
        self._symbols: dict[str, Terminal | NonTerminal] = {}

    @property
    def position(self) -> int:
        """Where in the text the token that is next begins."""
        ends = (at for _, _, at in tokens(self._text[: self._end]))
        return next(islice(ends, self._at, None), self._end)

    def is_cheap_for_lark(self) -> bool:
        """Whether the regexes of Lark's tokens go back little in this text."""
        if _MANY_BLANK_LINES.search(self._text):
            return False
        starts = [at for kind, _, at in tokens(self._text[: self._end]) if kind in ("STRING", "REGEXP")]
        for at in [*starts, self._end]:
            closed = _CLOSED.match(self._text, at)
            if closed is None:
                end = self._text.find("\n", at) if self._text[at : at + 1] == '"' else len(self._text)
                if self._text.count("\\\\", at, end) > MAX_ESCAPES:
                    return False
        return True

    def statements(self) -> Tree[Any]:
        """All of the text."""
        kinds = self._kinds
        found = []
        if kinds[0] == _END:
            raise _Stop
        while (kind := kinds[self._at]) != _END:
            stop_if_cancelled()
            if kind == "_NL":
                self._at += 1
            elif kind in ("RULE", "RULE_MODIFIERS", "TERMINAL"):
                found.append(self._definition())
            else:
                found.append(self._statement(kind))
        return Tree("start", found)

    def _statement(self, kind: str) -> Tree[Any]:
        if kind not in _STATEMENTS:
            raise _Stop
        self._at += 1
        if kind in ("_OVERRIDE", "_EXTEND"):
            return Tree("override" if kind == "_OVERRIDE" else "extend", [self._definition()])
        if kind == "_IGNORE":
            tree = Tree("ignore", [self._expansions()])
        elif kind == "_DECLARE":
            tree = Tree("declare", self._declared())
        else:
            tree = Tree("import", self._import())
        self._skip("_NL")
        return tree

    def _definition(self) -> Tree[Any]:
        if self._kinds[self._at] == "TERMINAL":
            name = self._take("TERMINAL")
            number = self._number()
            self._skip("_COLON")
            tree = Tree("term", [name, *number, self._expansions()])
        else:
            modifiers = Tree("rule_modifiers", self._taken("RULE_MODIFIERS"))
            name = self._take("RULE")
            parameters: list[Any] = []
            if self._skipped("_LBRACE"):
                parameters.append(self._take("RULE"))
                while self._skipped("_COMMA"):
                    parameters.append(self._take("RULE"))
                self._skip("_RBRACE")
            priority = Tree("priority", self._number())
            self._skip("_COLON")
            tree = Tree("rule", [modifiers, name, Tree("template_params", parameters), priority, self._expansions()])
        self._skip("_NL")
        return tree

    def _number(self) -> list[Any]:
        """A priority, if there is one."""
        return [self._take("NUMBER")] if self._skipped("_DOT") else []

    def _declared(self) -> list[Any]:
        found: list[Any] = []
        while self._kinds[self._at] in ("RULE", "TERMINAL"):
            found.append(self._symbol())
        if not found:
            raise _Stop
        return found

    def _import(self) -> list[Any]:
        kind = "import_rel" if self._skipped("_DOT") else "import_lib"
        names: list[Any] = [self._name()]
        while self._skipped("_DOT"):
            names.append(self._name())
        found: list[Any] = [Tree(kind, names)]
        if self._skipped("_LPAR"):
            listed: list[Any] = [self._name()]
            while self._skipped("_COMMA"):
                listed.append(self._name())
            self._skip("_RPAR")
            found.append(Tree("name_list", listed))
        elif self._skipped("_TO"):
            found.append(self._name())
        return found

    def _expansions(self) -> Tree[Any]:
        kinds = self._kinds
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise _Stop
        found = []
        while True:
            row: Tree[Any] = Tree("expansion", self._row())
            if kinds[self._at] == "_TO":
                self._at += 1
                if kinds[self._at] != "RULE":
                    raise _Stop
                row = Tree("alias", [row, self._symbol()])
            found.append(row)
            if kinds[self._at] not in ("_OR", "_NL_OR"):
                break
            self._at += 1
        self._depth -= 1
        return Tree("expansions", found)

    def _row(self) -> list[Any]:
        """The parts of an alternative, as far as there are some."""
        kinds, texts, symbols = self._kinds, self._texts, self._symbols
        found: list[Any] = []
        while True:
            stop_if_cancelled()
            at = self._at
            kind = kinds[at]
            if kind in _SINGLE and kinds[at + 1] not in _MORE:
                self._at = at + 1
                if kind in ("RULE", "TERMINAL"):
                    text = texts[at]
                    found.append(Tree("value", [symbols.get(text) or self._named(text, kind)]))
                else:
                    found.append(Tree("value", [Tree("literal", [Token(kind, texts[at])])]))
                continue
            if kind in ("RULE", "TERMINAL", "STRING", "REGEXP"):
                atom = self._value()
            elif kind == "_LPAR":
                self._at += 1
                atom = self._expansions()
                self._skip("_RPAR")
            elif kind == "_LBRA":
                self._at += 1
                atom = Tree("maybe", [self._expansions()])
                self._skip("_RBRA")
            else:
                return found
            kind = kinds[self._at]
            if kind == "OP":
                atom = Tree("expr", [atom, self._take("OP")])
            elif kind == "TILDE":
                counts = [self._take("TILDE"), self._take("NUMBER")]
                if self._skipped("_DOTDOT"):
                    counts.append(self._take("NUMBER"))
                atom = Tree("expr", [atom, *counts])
            found.append(atom)

    def _value(self) -> Tree[Any]:
        kind = self._kinds[self._at]
        if kind in ("RULE", "TERMINAL"):
            symbol = self._symbol()
            if kind == "TERMINAL" or not self._skipped("_LBRACE"):
                return Tree("value", [symbol])
            arguments = [self._value()]
            while self._skipped("_COMMA"):
                stop_if_cancelled()
                arguments.append(self._value())
            self._skip("_RBRACE")
            return Tree("value", [Tree("template_usage", [symbol, *arguments])])
        if kind not in ("STRING", "REGEXP"):
            raise _Stop
        token = self._take(kind)
        if kind == "STRING" and self._skipped("_DOTDOT"):
            return Tree("value", [Tree("range", [token, self._take("STRING")])])
        return Tree("value", [Tree("literal", [token])])

    def _symbol(self) -> Terminal | NonTerminal:
        """The name of a rule or terminal that is next."""
        at = self._at
        self._at = at + 1
        return self._named(self._texts[at], self._kinds[at])

    def _named(self, name: str, kind: str) -> Terminal | NonTerminal:
        """One symbol of each name, since what changes a tree puts others in its place."""
        known = self._symbols.get(name)
        if known is None:
            known = Terminal(name, filter_out=name.startswith("_")) if kind == "TERMINAL" else NonTerminal(name)
            self._symbols[name] = known
        return known

    # Tokens

    def _take(self, kind: str) -> Token:
        at = self._at
        if self._kinds[at] != kind:
            raise _Stop
        self._at = at + 1
        return Token(kind, self._texts[at])

    def _taken(self, kind: str) -> list[Any]:
        """The next token, if it is of this kind."""
        return [self._take(kind)] if self._kinds[self._at] == kind else []

    def _name(self) -> Token:
        return self._take("TERMINAL" if self._kinds[self._at] == "TERMINAL" else "RULE")

    def _skipped(self, kind: str) -> bool:
        if self._kinds[self._at] != kind:
            return False
        self._at += 1
        return True

    def _skip(self, kind: str) -> None:
        if not self._skipped(kind):
            raise _Stop
