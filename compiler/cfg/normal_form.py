"""A grammar without empty productions, unit cycles, and symbols that are of no use, so that a generalized LR parser always ends.

The native core brings productions into this form (native/rules/normal_form.hpp says how); here they go there and come back as
records. Cost: linear in the size of the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from psc import _core
from psc._core import stop_if_cancelled
from psc.compiler.cfg.grammar import Cfg, Production
from psc.errors import GrammarError, ResourceLimitError
from psc.support.line_numbers import LineNumbers
from psc.support.readable import shortened

_DEFINITION: Final = re.compile(r"^[ \t]*(?:%(?:override|extend)[ \t]+)?[?!]*([a-z_]\w*)[ \t]*[:.{]", re.M)

Words = npt.NDArray[np.int32]


def without_unproductive(grammar: Cfg) -> Cfg:
    """The grammar without productions that no text can finish, of the same language; as it is where there are none.

    A production is finished where each symbol is a terminal that the parser sees, which an ignored one is not, or has a production
    that is finished. LALR tables do not ask for that: they would take the beginning of such a production and then allow nothing.

    Raises:
        GrammarError: the start symbol can never be finished.
    """
    finished = _finished(grammar)
    if grammar.first_nonterminal + grammar.nonterminals.index(grammar.start) not in finished:
        normal_form(grammar)  # raises, and says why
    kept = tuple([p for p in grammar.productions if finished.issuperset(p.rhs)])
    if len(kept) == len(grammar.productions):
        return grammar
    names = [grammar.symbol_name(s) for s in sorted({p.lhs for p in grammar.productions} - finished)]
    return replace(grammar, productions=kept, left_out=tuple([n for n in names if not n.startswith("__")]))


def _finished(grammar: Cfg) -> set[int]:
    """The symbols that some text finishes."""
    finished = {i for i, t in enumerate(grammar.terminals) if not t.ignored}
    waiting: dict[int, list[int]] = {}  # productions by the symbols that they wait for, once for each time they have one
    missing: list[int] = []
    todo = []
    for i, p in enumerate(grammar.productions):
        stop_if_cancelled()
        needed = [s for s in p.rhs if s not in finished]
        missing.append(len(needed))
        for symbol in needed:
            waiting.setdefault(symbol, []).append(i)
        if not needed:
            todo.append(p.lhs)
    while todo:
        stop_if_cancelled()
        symbol = todo.pop()
        if symbol in finished:
            continue
        finished.add(symbol)
        for i in waiting.get(symbol, ()):
            missing[i] -= 1
            if not missing[i]:
                todo.append(grammar.productions[i].lhs)
    return finished


def normal_form(grammar: Cfg) -> Cfg:
    """The grammar without empty productions, cycles and useless symbols, of the same language.

    Terminals stay as they are, used or not, since they decide how text is lexed; nonterminals keep their names.

    Raises:
        GrammarError: the start symbol derives nothing; a limit is passed, which is a ResourceLimitError.
    """
    # The parser never sees an ignored terminal, so what needs one can never be finished.
    ignored = {i for i, t in enumerate(grammar.terminals) if t.ignored}
    seen = [p for p in grammar.productions if ignored.isdisjoint(p.rhs)]
    try:
        found = _core.normal_form(
            n_terminals=len(grammar.terminals) + 1,
            nonterminals=list(grammar.nonterminals),
            start=grammar.nonterminals.index(grammar.start),
            **production_arrays(grammar, seen),
        )
    except ResourceLimitError as e:
        raise ResourceLimitError(f"{grammar.source_name}: {e}") from None
    if found.way:
        error = dead_error(found.way, found.circle, grammar.source_name, _lines(grammar.source), grammar.source)
        needed = sorted({grammar.terminals[s].name for p in grammar.productions for s in ignored.intersection(p.rhs)})
        if needed:
            names = ", ".join(needed)
            more = f" (what needs an ignored terminal, here {shortened(names)}, is left out: the parser never sees one)"
            raise error.reworded(f"{error}{more}")
        raise error
    return replace(
        grammar,
        start=found.nonterminals[0],
        nonterminals=tuple(found.nonterminals),
        productions=productions_from(found.productions, len(grammar.terminals)),
        asked_for=grammar.asked_for or grammar.start,
    )


def production_arrays(grammar: Cfg, productions: Sequence[Production]) -> dict[str, Words]:
    """Productions of a grammar as native code takes them."""
    return {
        "lhs": np.array([p.lhs - grammar.first_nonterminal for p in productions], np.int32),
        "rhs_offsets": np.cumsum([0, *(len(p.rhs) for p in productions)], dtype=np.int32),
        "rhs": np.array([s for p in productions for s in p.rhs], np.int32),
        "priority": np.array([p.priority for p in productions], np.int32),
    }


def productions_from(arrays: tuple[Words, Words, Words, Words], n_terminals: int) -> tuple[Production, ...]:
    """Productions as native code gives them; terminals are counted without the end of the text."""
    lhs, offsets, rhs, priorities = [array.tolist() for array in arrays]
    first, bounds = n_terminals + 1, pairwise(offsets)
    return tuple([Production(first + n, tuple(rhs[a:b]), p) for n, (a, b), p in zip(lhs, bounds, priorities, strict=True)])


def dead_rule(way: Sequence[str], circle: int | None) -> str:
    """Of a way as in :func:`dead_error`, the rule that can never finish."""
    return way[-1 if circle is None else circle]


def dead_error(way: Sequence[str], circle: int | None, source_name: str, lines: Mapping[str, int], text: str) -> GrammarError:
    """Why a grammar has no text.

    Args:
        way: nonterminals from the start on, each needed by all that the one before can derive.
        circle: where in it the one begins that comes again; None where the last one has no alternatives.
        source_name: a file name or a label.
        lines: where rules are defined.
        text: the grammar.
    """
    name = dead_rule(way, circle)
    if circle is None:
        needed = "" if len(way) == 1 else f", and no text of {way[0]!r} can do without it"
        message = f"rule {name!r} matches no text at all{needed}"
    else:
        around = shortened(" -> ".join([*way[circle:], name]))
        message = f"rule {name!r} can never finish: every alternative needs itself ({around}); give it one that does not"
    line = lines.get(name)
    return GrammarError.at(source_name, message, line=line, column=None if line is None else column_of(text, line, name))


def column_of(text: str, line: int, part: str) -> int | None:
    """The column at which a part of a line begins; None where the line has it not."""
    lines = text.split("\n", line)
    at = lines[line - 1].find(part) if line <= len(lines) else -1
    return None if at < 0 else at + 1


def _lines(text: str) -> dict[str, int]:
    """The lines on which rules of a text in Lark's language are defined."""
    numbers = LineNumbers(text)
    return {m[1]: numbers.of(m.start(1)) for m in _DEFINITION.finditer(text)}
