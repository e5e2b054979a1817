"""LR tables of a grammar, built natively, with Lark's conflict resolution or with every action kept."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from psc._core import LrTables, build_lalr
from psc.compiler.grammar import Cfg
from psc.errors import GrammarError, ResourceLimitError


def lr_tables(grammar: Cfg, *, keep_all: bool = False) -> LrTables:
    """LALR(1) tables.

    Args:
        grammar: the grammar.
        keep_all: leave every action in its cell, instead of resolving conflicts as Lark does.

    Raises:
        GrammarError: reductions clash where Lark would refuse; the message names the rules and the lookahead.
        ResourceLimitError: the tables would be too large.

    Cost: native, a few milliseconds for a programming language.
    """
    offsets = np.cumsum([0, *(len(p.rhs) for p in grammar.productions)], dtype=np.int32)
    try:
        tables = _built(grammar, offsets, keep_all)
    except ResourceLimitError as e:
        raise ResourceLimitError(
            f"{grammar.source_name}: {e}, which is the limit; use fewer rules, or fewer that can follow each other"
        ) from e
    if tables.conflicts:
        raise GrammarError(_conflict_message(grammar, tables))
    return tables


def _built(grammar: Cfg, offsets: npt.NDArray[np.int32], keep_all: bool) -> LrTables:
    return build_lalr(
        n_terminals=len(grammar.terminals) + 1,
        n_nonterminals=len(grammar.nonterminals),
        start=grammar.nonterminals.index(grammar.start),
        lhs=np.array([p.lhs - grammar.first_nonterminal for p in grammar.productions], np.int32),
        rhs_offsets=offsets,
        rhs=np.array([s for p in grammar.productions for s in p.rhs], np.int32),
        priority=np.array([p.priority for p in grammar.productions], np.int32),
        keep_all=keep_all,
    )


def _conflict_message(grammar: Cfg, tables: LrTables) -> str:
    lines = [f"{grammar.source_name}: not LALR(1): {len(tables.conflicts)} reduce/reduce conflict(s)"]
    by_rules: dict[tuple[int, ...], list[int]] = {}
    for _state, terminal, productions in tables.conflicts:
        by_rules.setdefault(tuple(productions), []).append(terminal)
    for rules, terminals in list(by_rules.items())[:5]:
        names = ", ".join(sorted({grammar.symbol_name(t) for t in terminals}))
        lines.append(f"  before {names}, text can be reduced by each of:")
        lines.extend(f"    {grammar.production_text(p)}" for p in rules)
    lines.append("  Give one rule a higher priority (name.2: …) or rewrite the rules so that only one fits.")
    return "\n".join(lines)
