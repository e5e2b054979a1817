"""The warning about assertions that look over the edge of a terminal: Lark's lexer sees the neighbours, psc does not.

Cost: see `psc.compiler.terminals.regex.edges`; nothing for terminals that are plain expressions.
"""

from __future__ import annotations

import re
from typing import Final

from psc.compiler.cfg.grammar import Cfg, Terminal
from psc.compiler.cfg.terminals import terminal_expression
from psc.compiler.terminals.regex import Edges, UnsupportedRegex, edges, looks_past_end, pattern_difference
from psc.support.readable import shortened

_MAX_SHOWN: Final = 6
_ASSERTION: Final = re.compile(r"\(\?<?[=!]|\\[bBAZ]|[\^$]")
"""What every assertion has; a search for it costs less than reading the pattern."""


def edge_warnings(grammar: Cfg) -> tuple[str, ...]:
    """A warning that names the terminals, where there are any."""
    shown = [
        f"terminal {terminal.name}{_at(terminal)}, /{shortened(terminal.pattern, 80)}/, looks {_where(over)}"
        for terminal in grammar.terminals
        if terminal.text is None and terminal.expression is None and (over := _edges(terminal)) != Edges()
    ]
    if not shown:
        return ()
    more = f"; and {len(shown) - _MAX_SHOWN} more" if len(shown) > _MAX_SHOWN else ""
    listed = "; ".join(shown[:_MAX_SHOWN])
    return (
        "assertions (lookahead, lookbehind, \\b, ^, $) are judged as if the text began and ended with the terminal, where Lark's "
        f"lexer sees what is around it, so psc may allow texts that Lark refuses, or refuse others: {listed}{more}. Say in the "
        "rules what may stand there, or let a longer terminal match what is not meant",
    )


def _edges(terminal: Terminal) -> Edges:
    if _ASSERTION.search(terminal.pattern) is None or terminal_expression(terminal) is not None:
        return Edges()
    try:
        found = edges(terminal.pattern)
        if found.end and pattern_difference(terminal.pattern) is None and not looks_past_end(terminal.pattern):
            return Edges(end=False, start=found.start)
        return found
    except UnsupportedRegex:  # which is refused elsewhere
        return Edges()


def _at(terminal: Terminal) -> str:
    return "" if terminal.line is None else f" (line {terminal.line})"


def _where(over: Edges) -> str:
    return " and ".join([*(["past its end"] if over.end else []), *(["before its beginning"] if over.start else [])])
