"""LR tables of a grammar, built natively, with Lark's conflict resolution or with every action kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from psc._core import LrTables, build_lalr
from psc.compiler.cfg.grammar import Cfg
from psc.compiler.cfg.lowering import LoweredRules
from psc.compiler.cfg.normal_form import production_arrays
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
    with _named_limit(grammar.source_name):
        tables = _built(grammar, keep_all)
    if tables.conflicts:
        raise GrammarError(_conflict_message(grammar, tables))
    return tables


def lr_tables_of_rules(rules: LoweredRules) -> LrTables:
    """The tables of lowered rules, with every action kept. Raises ResourceLimitError, as :func:`lr_tables`."""
    with _named_limit(rules.source_name):
        return rules.native.lr_tables()


def require_storable(source_name: str, tables: LrTables) -> None:
    """Says before anything else is made that an artifact cannot hold the tables: it has a cell for each state and symbol.

    Raises:
        ResourceLimitError: it would have too many.
    """
    with _named_limit(source_name):
        tables.check_can_be_stored()


@contextmanager
def _named_limit(source_name: str) -> Iterator[None]:
    try:
        yield
    except ResourceLimitError as e:
        raise ResourceLimitError(
            f"{source_name}: {e}, which is the limit; use fewer rules, or fewer that can follow each other"
        ) from e


def _built(grammar: Cfg, keep_all: bool) -> LrTables:
    return build_lalr(
        n_terminals=len(grammar.terminals) + 1,
        n_nonterminals=len(grammar.nonterminals),
        start=grammar.nonterminals.index(grammar.start),
        **production_arrays(grammar, grammar.productions),
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
