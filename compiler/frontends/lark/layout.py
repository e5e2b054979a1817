r"""Bounded layout: a grammar whose ignored terminals are blanks and comments, without comments and with short runs of blanks.

Blanks and comments without end are inside every programming language, and a small model writes them. The idea is maximal munch: a
terminal that no rule uses is refused by every parser state. So a comment that is not ignored is refused from where it can be
nothing else, and of a run of blanks that is longer than n, a terminal `[ \t\n]{n+1,}`, which precedes the ignored one, is the
longest lexeme.

    class A { int x = 4 / 2; }     stays
    class A { int x = 4 // 2       is refused at the second slash
    class A {\n\n\n…               is refused at the blank after the n-th

Exactly the grammar's texts are left in which no comment stands and no lexeme of blanks is longer than n. Only for the
lexers that have every terminal at every place: `basic`, and `flush`, with which no text begins with blanks.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Final

from psc.compiler.cfg.grammar import Cfg, Terminal
from psc.compiler.frontends.front_end import NO_SETTINGS, Settings
from psc.errors import GrammarError
from psc.support.cached_property import cached_property
from psc.support.readable import shortened

_ONE_OF_MANY = re.compile(r"\[(?!\^)(?:[^\\\[\]]|\\.)+\]\+")
"""The pattern of an ignored terminal that is a run of single characters."""
_MAX = 1000
BOUNDED: Final = 60
"""Blanks between two words where a caller names no number: an empty line, and nine levels of four spaces with room to align."""


@dataclass(frozen=True, kw_only=True)
class LayoutSettings(Settings):
    """The options of a Lark grammar. Raises GrammarError for a bound that is none."""

    max_blanks: int

    def __post_init__(self) -> None:
        if type(self.max_blanks) is not int or not 1 <= self.max_blanks <= _MAX:
            raise GrammarError(f"layout: between two words may be 1 to {_MAX} blanks, not {self.max_blanks!r:.40}")

    @cached_property
    def text(self) -> str:
        return json.dumps({"max_blanks": self.max_blanks})

    @staticmethod
    def of_text(text: str) -> LayoutSettings:
        """The settings with a text. Raises GrammarError where there are none."""
        try:
            given = json.loads(text)
            if not isinstance(given, dict) or set(given) != {"max_blanks"}:
                raise ValueError
        except ValueError as e:
            raise GrammarError(f"the settings of a Lark grammar are malformed: {text[:80]!r}") from e
        return LayoutSettings(**given)


def named(option: str) -> Settings:
    """The settings that a grammar's name ends in, `layout=bounded` or `layout=any`, the default. Raises GrammarError."""
    if option == "layout=bounded":
        return LayoutSettings(max_blanks=BOUNDED)
    if option not in ("", "layout=any"):
        raise GrammarError(f"?{shortened(option)}: a Lark grammar has the option layout=bounded or layout=any, and no other")
    return NO_SETTINGS


def bounded_layout(grammar: Cfg, settings: LayoutSettings) -> Cfg:
    """The grammar with bounded layout.

    Raises:
        GrammarError: the lexer is neither basic nor flush, an ignored terminal stands in a rule, or none is a run of single
            characters.
    """
    ignored = {i for i, t in enumerate(grammar.terminals) if t.ignored}
    blanks = [t for t in grammar.terminals if t.ignored and _ONE_OF_MANY.fullmatch(t.pattern)]
    if grammar.lexer not in ("basic", "flush"):
        raise _cannot(grammar, f"its lexer is {grammar.lexer!r}, not 'basic' or 'flush'")
    if any(not ignored.isdisjoint(p.rhs) for p in grammar.productions):
        raise _cannot(grammar, "a rule uses what is ignored")
    if not blanks:
        raise _cannot(grammar, r"it ignores no run of blanks, such as /[ \t\n]+/")
    terminals = [replace(t, ignored=t in blanks) for t in grammar.terminals]
    for name in [t.name for t in blanks]:
        of = next(t for t in terminals if t.name == name)
        _insert_before(terminals, of, f"LONG_{name}", f"{of.pattern[:-1]}{{{settings.max_blanks + 1},}}")
    n, shift = len(grammar.terminals), len(terminals) - len(grammar.terminals)
    moved = [p.lhs if p.lhs < n else p.lhs + shift for p in grammar.productions]
    productions = tuple(
        replace(p, lhs=lhs, rhs=tuple(s if s < n else s + shift for s in p.rhs))
        for p, lhs in zip(grammar.productions, moved, strict=True)
    )
    return replace(grammar, terminals=tuple(terminals), productions=productions, settings=settings.text)


def _insert_before(terminals: list[Terminal], of: Terminal, name: str, pattern: str) -> None:
    """Appends a terminal that wins over `of` where both match a lexeme."""
    for i, t in enumerate(terminals):
        terminals[i] = replace(
            t,
            rank=t.rank + (t.rank >= of.rank),
            lark_order=t.lark_order + (t.lark_order >= of.lark_order),
        )
    terminals.append(replace(of, name=name, pattern=pattern, ignored=False, expression=None))


def _cannot(grammar: Cfg, why: str) -> GrammarError:
    return GrammarError(f"{grammar.source_name}: layout cannot be bounded: {why}")
