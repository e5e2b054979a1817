"""Lark's language, as the registry of front ends knows it. Only :func:`parse` needs Lark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psc.compiler.frontends.front_end import GrammarOptions
from psc.compiler.frontends.lark.imports import find_imports

if TYPE_CHECKING:
    from psc._core import LrTables
    from psc.compiler.grammar import Cfg
    from psc.compiler.terminals import TerminalAutomaton

__all__ = ["differences", "find_imports", "parse"]


def parse(text: str, options: GrammarOptions, origin: str) -> Cfg:
    """See :func:`psc.compiler.frontends.lark.loader.load_lark`."""
    from psc.compiler.frontends.lark.loader import load_lark

    return load_lark(text, source_name=origin, start=options.start, lexer=options.lexer, keep_all_actions=options.keep_all_actions)


def differences(grammar: Cfg, automaton: TerminalAutomaton, lr: LrTables) -> tuple[str, ...]:
    """See :func:`psc.compiler.frontends.lark.differences.lark_differences`."""
    from psc.compiler.frontends.lark.differences import lark_differences

    return lark_differences(grammar, automaton, lr)
