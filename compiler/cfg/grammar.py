"""The grammar form that every front end ends in: terminals and productions over integer symbols.

Symbols ``0 .. len(terminals)-1`` are terminals in the order of ``Cfg.terminals``, the next one is the end of the text
(``$END``), and the nonterminals follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from typing import Literal as OneOf

from psc.compiler.expressions.expression import Expression

END = "$END"

LarkLexer = OneOf["contextual", "basic", "flush", "flush-contextual", "modal", "flush-modal"]
"""How a Lark grammar's text may be cut into terminals."""

LexerKind = OneOf[LarkLexer, "any", "indented"]
"""How text becomes terminals, see docs/language.md."""


@dataclass(frozen=True, kw_only=True)
class Terminal:
    """A named regular language over text, with what decides between terminals that match the same lexeme."""

    name: str
    pattern: str
    """Python ``re`` syntax."""
    text: str | None
    """The string, where it is written as a string in the grammar; such a terminal wins over a regex of the same priority."""
    flags: frozenset[str]
    """Letters of ``re`` flags, such as ``i``; ``pattern`` has them inside."""
    priority: int
    lark_order: int
    """Position in the order in which Lark's own lexer tries terminals."""
    rank: int
    """Position in the order of precedence: of several terminals that match a lexeme, the smallest rank wins."""
    ignored: bool
    line: int | None
    """Where the grammar text defines it, counted from 1, if it does."""
    expression: Expression | None = None
    """The same language as ``pattern``, without references, where the front end has it; else it is read from the pattern."""

    @property
    def is_string(self) -> bool:
        return self.text is not None


GIVES_WAY: Final = -2_000_000_000
"""The priority of a production that is not reduced where a terminal can be shifted, though every action is kept."""


@dataclass(frozen=True)
class Production:
    """``lhs`` derives ``rhs``; symbols are numbered as the module says."""

    lhs: int
    rhs: tuple[int, ...]
    priority: int


@dataclass(frozen=True, kw_only=True)
class Cfg:
    """A context-free grammar: terminals, nonterminals and productions, and where they came from."""

    source: str
    """The grammar text."""
    source_name: str
    """A file name or a label, for messages."""
    imports: tuple[tuple[str, str], ...]
    """(name relative to the grammar's folder, sha256 of the text) of every grammar file imported."""
    start: str
    terminals: tuple[Terminal, ...]
    nonterminals: tuple[str, ...]
    productions: tuple[Production, ...]
    lexer: LexerKind = "basic"
    keep_all_actions: bool = False
    """Leave every action in its LR cell, so that any context-free grammar is taken as it is; else Lark's resolution."""
    language: str = "lark"
    """What ``source`` is written in: a name in the registry of front ends."""
    settings: str = ""
    """The text of the language's own options, see ``Settings.text`` in `psc.compiler.frontends.front_end`."""
    asked_for: str | None = None
    """The rule that a whole text must match, where ``start`` is a symbol made for it."""
    reads_names: bool = False
    """Whether the text names tokens: the grammar is as it is for one vocabulary."""
    left_out: tuple[str, ...] = ()
    """Rules that can never be finished, with which the productions that use them are left out."""

    @property
    def end_terminal(self) -> int:
        return len(self.terminals)

    @property
    def first_nonterminal(self) -> int:
        return len(self.terminals) + 1

    def symbol_name(self, symbol: int) -> str:
        """The name of a symbol, as the grammar text or Lark has it."""
        if symbol < len(self.terminals):
            return self.terminals[symbol].name
        if symbol == self.end_terminal:
            return END
        return self.nonterminals[symbol - self.first_nonterminal]

    def production_text(self, index: int) -> str:
        """A production as ``lhs : symbols``."""
        p = self.productions[index]
        names = " ".join(self.symbol_name(s) for s in p.rhs) or "(empty)"
        return f"{self.symbol_name(p.lhs)} : {names}"
