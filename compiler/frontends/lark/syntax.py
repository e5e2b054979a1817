"""Lark's grammar language to trees, as Lark's own parser makes them, ten times faster; what this cannot read is Lark's to judge.

The idea: tokens are cut by the very regexes of Lark's loader, tried in the order in which its lexer tries them. The language is
LL(1) in them, so a descent by hand gives the one tree there is, where Lark's parser for it runs LALR tables and callbacks. Text
with an error, or nested deep, is no tree here: the caller gives it to Lark, which reads it or says what is wrong and where.

Cost: 2 us a token; Lark's parser takes 20.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

from lark.grammar import NonTerminal, Terminal
from lark.lexer import PatternRE, TerminalDef, Token
from lark.load_grammar import TERMINALS
from lark.tree import Tree

MAX_NESTING: Final = 100
"""Groups inside each other; the descent is recursive, four calls a group."""

_IGNORED: Final = frozenset(("WS", "COMMENT", "BACKSLASH"))
_END: Final = ""


class _NotRead(Exception):
    """The text is none of the language, or nested too deep."""


def read_statements(text: str) -> Tree[Any] | None:
    """The statements of a grammar.

    Args:
        text: the grammar.

    Returns:
        What `lark.load_grammar._parse_grammar` returns, but that tokens do not know their lines; None where Lark must be asked.
    """
    try:
        return _Reader(text + "\n").statements()
    except _NotRead:
        return None


@cache
def _scanner() -> re.Pattern[str]:
    """Lark's tokens as one regex, in the order of `lark.lexer.BasicLexer`."""
    defined = [TerminalDef(name, PatternRE(pattern)) for name, pattern in TERMINALS.items()]
    defined.sort(key=lambda t: (-t.priority, -t.pattern.max_width, -len(t.pattern.value), t.name))
    return re.compile("|".join(f"(?P<{t.name}>{t.pattern.to_regexp()})" for t in defined))


class _Reader:
    """The tokens of a text, and where in them it is read."""

    def __init__(self, text: str) -> None:
        self._kinds: list[str] = []
        self._texts: list[str] = []
        at = 0
        match = _scanner().scanner(text).match  # type: ignore[attr-defined]
        while (found := match()) is not None:
            kind = found.lastgroup
            at = found.end()
            if kind not in _IGNORED:
                self._kinds.append(kind)
                self._texts.append(found.group())
        if at != len(text):
            raise _NotRead
        self._kinds.append(_END)
        self._texts.append("")
        self._at = 0
        self._depth = 0

    def statements(self) -> Tree[Any]:
        """All of the text."""
        kinds = self._kinds
        found = []
        if kinds[0] == _END:
            raise _NotRead
        while (kind := kinds[self._at]) != _END:
            if kind == "_NL":
                self._at += 1
            elif kind in ("RULE", "RULE_MODIFIERS", "TERMINAL"):
                found.append(self._definition())
            else:
                self._at += 1
                found.append(self._statement(kind))
        return Tree("start", found)

    def _statement(self, kind: str) -> Tree[Any]:
        if kind in ("_OVERRIDE", "_EXTEND"):
            return Tree("override" if kind == "_OVERRIDE" else "extend", [self._definition()])
        if kind == "_IGNORE":
            tree = Tree("ignore", [self._expansions()])
        elif kind == "_DECLARE":
            tree = Tree("declare", self._declared())
        elif kind == "_IMPORT":
            tree = Tree("import", self._import())
        else:
            raise _NotRead
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
            raise _NotRead
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
            raise _NotRead
        found = []
        while True:
            row: Tree[Any] = Tree("expansion", self._row())
            if kinds[self._at] == "_TO":
                self._at += 1
                if kinds[self._at] != "RULE":
                    raise _NotRead
                row = Tree("alias", [row, self._symbol()])
            found.append(row)
            if kinds[self._at] not in ("_OR", "_NL_OR"):
                break
            self._at += 1
        self._depth -= 1
        return Tree("expansions", found)

    def _row(self) -> list[Any]:
        """The parts of an alternative, as far as there are some."""
        kinds = self._kinds
        found: list[Any] = []
        while True:
            kind = kinds[self._at]
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
                arguments.append(self._value())
            self._skip("_RBRACE")
            return Tree("value", [Tree("template_usage", [symbol, *arguments])])
        if kind not in ("STRING", "REGEXP"):
            raise _NotRead
        token = self._take(kind)
        if kind == "STRING" and self._skipped("_DOTDOT"):
            return Tree("value", [Tree("range", [token, self._take("STRING")])])
        return Tree("value", [Tree("literal", [token])])

    def _symbol(self) -> Terminal | NonTerminal:
        """The name of a rule or terminal that is next."""
        name = self._texts[self._at]
        terminal = self._kinds[self._at] == "TERMINAL"
        self._at += 1
        return Terminal(name, filter_out=name.startswith("_")) if terminal else NonTerminal(name)

    # Tokens

    def _take(self, kind: str) -> Token:
        at = self._at
        if self._kinds[at] != kind:
            raise _NotRead
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
            raise _NotRead
