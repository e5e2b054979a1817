r"""Bounded layout: a Lark grammar without comments and with short runs of blanks.

Blanks and comments without end are inside every programming language, and a small model writes them. The idea is maximal munch: a
terminal that no rule uses is refused by every parser state. So a comment that is not ignored is refused from where it can be
nothing else, and a run of blanks that is longer than n is a terminal `[ \t\n]{n+1,}`, beside the ignored `[ \t\n]{1,n}`.

    class A { int x = 4 / 2; }     stays
    class A { int x = 4 // 2       is refused at the second slash
    class A {\n\n\n…               is refused at the blank after the n-th

Exactly the grammar's texts are left in which no comment stands and no lexeme of blanks is longer than n. Only for lexers that have
these terminals wherever blanks are ignored: `basic`, and `modal`, whose modes they do not win; and with either, `flush` and
`flush-modal`, no text begins with blanks. `flush-contextual` is for this alone: it lexes them where it lexes the terminal
before them in rank.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import replace

from psc.compiler.cfg.grammar import Cfg, Terminal
from psc.compiler.frontends.layout import LayoutSettings
from psc.errors import GrammarError

_ONE_OF_MANY = re.compile(r"\[(?!\^)(?:[^\\\[\]]|\\.)+\]\+")
"""The pattern of an ignored terminal that is a run of single characters."""


def bounded_layout(grammar: Cfg, settings: LayoutSettings, kept: Set[str] = frozenset()) -> Cfg:
    """The grammar with bounded layout.

    Args:
        grammar: the whole language.
        settings: how many blanks.
        kept: names of what is ignored and stays so, since it is bounded already.

    Raises:
        GrammarError: the lexer is 'contextual', or what is refused would be a mode of a modal one; an ignored terminal stands in a
            rule, or none is a run of single characters.
    """
    ignored = {i for i, t in enumerate(grammar.terminals) if t.ignored}
    blanks = [t for t in grammar.terminals if t.ignored and t.name not in kept and _ONE_OF_MANY.fullmatch(t.pattern)]
    stay = [*blanks, *(t for t in grammar.terminals if t.name in kept)]
    if grammar.lexer == "contextual":
        raise _cannot(
            grammar, "its lexer is 'contextual', which looks for what the parser can take alone; take 'basic' or 'flush-contextual'"
        )
    if any(not ignored.isdisjoint(p.rhs) for p in grammar.productions):
        raise _cannot(grammar, "a rule uses what is ignored")
    if not stay:
        raise _cannot(grammar, r"it ignores no run of blanks, such as /[ \t\n]+/")
    if "modal" in grammar.lexer and not kept and min((t for t in grammar.terminals if t.ignored), key=lambda t: t.rank) not in stay:
        raise _cannot(grammar, "what it ignores besides blanks wins over them, and would be a mode; give blanks a priority")
    most = settings.max_blanks
    comments = [replace(t, ignored=False) for t in grammar.terminals if t.ignored and t not in stay]
    long = [_refused(t, f"{t.pattern[:-1]}{{{most + 1},}}") for t in blanks]
    ranked = [
        replace(t, pattern=f"{t.pattern[:-1]}{{1,{most}}}", expression=None) if t in blanks else replace(t, ignored=t in stay)
        for t in sorted(grammar.terminals, key=lambda t: t.rank)
    ]
    if grammar.lexer != "flush-contextual":
        return _with_terminals(grammar, [*ranked, *long], settings)
    ranked = [t for t in ranked if t not in comments]
    at = 1 + next(i for i, t in enumerate(ranked) if t.name == blanks[-1].name)
    return _with_terminals(grammar, [*ranked[:at], *long, *comments, *ranked[at:]], settings)


def _refused(terminal: Terminal, pattern: str) -> Terminal:
    return replace(terminal, name=f"LONG_{terminal.name}", pattern=pattern, ignored=False, expression=None)


def _with_terminals(grammar: Cfg, ranked: Sequence[Terminal], settings: LayoutSettings) -> Cfg:
    """The grammar with these terminals in the order of their ranks; those that it has keep their numbers, and others follow."""
    numbers = {t.name: i for i, t in enumerate(grammar.terminals)}
    placed = [replace(t, rank=rank) for rank, t in enumerate(ranked)]
    terminals = sorted(placed, key=lambda t: numbers.get(t.name, len(numbers)))
    for i in range(len(numbers), len(terminals)):
        terminals[i] = replace(terminals[i], lark_order=i)
    n, shift = len(numbers), len(terminals) - len(numbers)
    productions = tuple(
        replace(p, lhs=p.lhs + shift, rhs=tuple(s if s < n else s + shift for s in p.rhs)) for p in grammar.productions
    )
    return replace(grammar, terminals=tuple(terminals), productions=productions, settings=settings.text)


def _cannot(grammar: Cfg, why: str) -> GrammarError:
    return GrammarError(f"{grammar.source_name}: layout cannot be bounded: {why}")
