"""A rule's tree with names in the places of its literals and of its uses of templates, in Lark's order.

Lark walks a rule once for each of four transformers: literals to patterns, values to what they hold, patterns to terminals that
have names, uses of templates to rules. The order of the walks is kept, because it decides the names that Lark makes up
(`__ANON_3`) and which error comes first; a literal that is written often is read once, and the list of a tree's parts made once.

Cost: 2 us a part of a rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from lark.grammar import Symbol, Terminal
from lark.lexer import Pattern, PatternRE, PatternStr, TerminalDef, Token
from lark.load_grammar import _TERMINAL_NAMES, PrepareLiterals, _literal_to_pattern
from lark.tree import Tree
from lark.utils import is_id_continue, is_id_start

from psc._core import stop_if_cancelled

Parts = list[Tree[Any]]
"""The subtrees of a rule, parts before what they are in, in the order of Lark's walks."""


# A text that Lark's evaluation leaves as it is.
_EVALUATED = re.compile(r"""[^\\]*+(?:\\[^\\Uuxnftr"'][^\\]*+)*+""")


def literal_pattern(literal: Token) -> Pattern:
    """The pattern of a literal, as Lark reads it."""
    text = literal.value
    if text.isprintable():  # mostly nothing is escaped that Lark, which evaluates a string of Python's, would change
        if literal.type == "STRING":
            end = text.rindex('"')
            if end > 1 and "\\" not in text:
                return PatternStr(text[1:end], text[end + 1 :], raw=text)
        else:
            end = text.rindex("/")
            if _EVALUATED.fullmatch(text, 1, end):
                return PatternRE(text[1:end], text[end + 1 :], raw=text)
    pattern: Pattern = _literal_to_pattern(literal)  # type: ignore[no-untyped-call]
    return pattern


class RuleNames:
    """Resolves one rule after the other; literals that no terminal has become terminals."""

    def __init__(self, terminals: list[TerminalDef], use: Callable[[list[Any]], Any]) -> None:
        """
        Args:
            terminals: the named ones; anonymous ones are added.
            use: makes the symbol for a use of a template, of the template and its arguments.
        """
        self._terminals = terminals
        self._use = use
        self._taken = {t.name for t in terminals}
        self._by_pattern = {t.pattern: t for t in terminals}
        self._patterns: dict[tuple[str, str], Pattern] = {}
        self._ranges = PrepareLiterals()
        self._n_anonymous = 0

    def resolve(self, tree: Tree[Any], *, keep_all_tokens: bool) -> Parts:
        """Replaces literals and uses of templates in a rule's tree. Returns its parts, the tree itself last."""
        self._unwrap(tree)
        parts = [t for t in tree.iter_subtrees() if t.data != "pattern"]
        for part in parts:
            stop_if_cancelled()
            child: Any
            for i, child in enumerate(part.children):
                if isinstance(child, Tree) and child.data == "pattern":
                    part.children[i] = self._terminal(child.children[0], keep_all_tokens)
        kept = []
        for part in parts:
            for i, child in enumerate(part.children):
                if isinstance(child, Tree) and child.data == "template_usage":
                    part.children[i] = self._use(child.children)
            if part.data != "template_usage":
                kept.append(part)
        return kept

    def rows(self, tree: Tree[Any], *, keep_all_tokens: bool) -> list[tuple[tuple[bool, str], ...]] | None:
        """The alternatives of a rule without groups, repetitions and aliases, each as its symbols; None where it has some.

        Per symbol: whether it is a terminal, and its name. The same names are made up in the same order as by `resolve`.
        """
        rows: list[list[Any]] = []
        for expansion in tree.children:
            row: list[Any] = []
            if expansion.data != "expansion":
                return None
            for value in expansion.children:
                item: Any = value  # in a template's rule, an argument may stand there
                if isinstance(item, Tree) and item.data == "value":
                    (item,) = item.children
                if isinstance(item, Tree):
                    if item.data == "template_usage":
                        if any(isinstance(a, Tree) and not isinstance(a.children[0], Symbol) for a in item.children):
                            return None
                    elif item.data != "literal":
                        return None
                elif not isinstance(item, Symbol):
                    return None
                row.append(item)
            rows.append(row)
        for row in rows:
            for i, item in enumerate(row):
                if isinstance(item, Symbol):
                    row[i] = item.is_term, str(item.name)
                elif item.data == "literal":
                    stop_if_cancelled()
                    row[i] = True, str(self._terminal(self._pattern(item.children[0]), keep_all_tokens).name)
        for row in rows:
            for i, item in enumerate(row):
                if isinstance(item, Tree):
                    stop_if_cancelled()
                    row[i] = False, str(self._use([a.children[0] if isinstance(a, Tree) else a for a in item.children]).name)
        return [tuple(row) for row in rows]

    def _unwrap(self, tree: Tree[Any]) -> None:
        """Puts the contents of values in their place, literals as patterns."""
        todo = [tree]
        child: Any
        while todo:
            stop_if_cancelled()
            children = todo.pop().children
            for i, child in enumerate(children):
                while isinstance(child, Tree) and child.data == "value":
                    (child,) = child.children
                if isinstance(child, Tree):
                    if child.data == "literal":
                        child = Tree("pattern", [self._pattern(child.children[0])])
                    elif child.data == "range":
                        child = self._ranges.range(*child.children)  # type: ignore[no-untyped-call]
                    else:
                        todo.append(child)
                children[i] = child

    def _pattern(self, literal: Any) -> Pattern:
        key = literal.type, literal.value
        known = self._patterns.get(key)
        if known is None:
            known = self._patterns[key] = literal_pattern(literal)
        return known

    def _terminal(self, pattern: Any, keep_all_tokens: bool) -> Terminal:
        """The terminal of a pattern, made if there is none; as Lark's `PrepareAnonTerminals`."""
        known = self._by_pattern.get(pattern)
        if known is None:
            known = TerminalDef(self._new_name(pattern), pattern)
            self._taken.add(known.name)
            self._by_pattern[pattern] = known
            self._terminals.append(known)
        return Terminal(known.name, filter_out=not keep_all_tokens and isinstance(pattern, PatternStr))

    def _new_name(self, pattern: Pattern) -> str:
        name = None
        if isinstance(pattern, PatternStr):
            text = pattern.value
            name = _TERMINAL_NAMES.get(text)
            if name is None and text and is_id_continue(text) and is_id_start(text[0]):
                name = text.upper()
        if name is None or name in self._taken:
            name = f"__ANON_{self._n_anonymous}"
            self._n_anonymous += 1
        return name
