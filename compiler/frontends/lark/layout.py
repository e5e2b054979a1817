r"""Bounded layout: a grammar whose ignored terminals are blanks and comments, without comments and with short runs of blanks.

Blanks and comments without end are inside every programming language, and a small model writes them. The idea is maximal munch: a
terminal that no rule uses is refused by every parser state. So a comment that is not ignored is refused from where it can be
nothing else, and a run of blanks that is longer than n is a terminal `[ \t\n]{n+1,}`, beside the ignored `[ \t\n]{1,n}`.

    class A { int x = 4 / 2; }     stays
    class A { int x = 4 // 2       is refused at the second slash
    class A {\n\n\n…               is refused at the blank after the n-th

Exactly the grammar's texts are left in which no comment stands and no lexeme of blanks is longer than n. Only for lexers that have
these terminals wherever blanks are ignored: `basic`, and `modal`, whose modes they do not win; and with either, `flush` and
`flush-modal`, no text begins with blanks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Set
from dataclasses import dataclass, replace
from typing import Final

from psc.compiler.cfg.grammar import Cfg
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


def bounded_layout(grammar: Cfg, settings: LayoutSettings, kept: Set[str] = frozenset()) -> Cfg:
    """The grammar with bounded layout.

    Args:
        grammar: the whole language.
        settings: how many blanks.
        kept: names of what is ignored and stays so, since it is bounded already.

    Raises:
        GrammarError: the lexer is contextual, or what is refused would be a mode of a modal one; an ignored terminal stands in a
            rule, or none is a run of single characters.
    """
    ignored = {i for i, t in enumerate(grammar.terminals) if t.ignored}
    blanks = [t for t in grammar.terminals if t.ignored and t.name not in kept and _ONE_OF_MANY.fullmatch(t.pattern)]
    stay = [*blanks, *(t for t in grammar.terminals if t.name in kept)]
    if grammar.lexer == "contextual":
        raise _cannot(grammar, "its lexer is 'contextual', which looks for what the parser can take alone; take 'basic'")
    if any(not ignored.isdisjoint(p.rhs) for p in grammar.productions):
        raise _cannot(grammar, "a rule uses what is ignored")
    if not stay:
        raise _cannot(grammar, r"it ignores no run of blanks, such as /[ \t\n]+/")
    if "modal" in grammar.lexer and not kept and min((t for t in grammar.terminals if t.ignored), key=lambda t: t.rank) not in stay:
        raise _cannot(grammar, "what it ignores besides blanks wins over them, and would be a mode; give blanks a priority")
    terminals = [
        replace(t, pattern=f"{t.pattern[:-1]}{{1,{settings.max_blanks}}}", expression=None)
        if t in blanks
        else replace(t, ignored=t in stay)
        for t in grammar.terminals
    ]
    for t in blanks:
        last = len(terminals)
        pattern = f"{t.pattern[:-1]}{{{settings.max_blanks + 1},}}"
        long = replace(t, name=f"LONG_{t.name}", pattern=pattern, rank=last, lark_order=last, ignored=False, expression=None)
        terminals.append(long)
    n, shift = len(grammar.terminals), len(terminals) - len(grammar.terminals)
    moved = [p.lhs if p.lhs < n else p.lhs + shift for p in grammar.productions]
    productions = tuple(
        replace(p, lhs=lhs, rhs=tuple(s if s < n else s + shift for s in p.rhs))
        for p, lhs in zip(grammar.productions, moved, strict=True)
    )
    return replace(grammar, terminals=tuple(terminals), productions=productions, settings=settings.text)


def _cannot(grammar: Cfg, why: str) -> GrammarError:
    return GrammarError(f"{grammar.source_name}: layout cannot be bounded: {why}")
