"""Lark's language, as the registry of front ends knows it. Only :func:`parse` needs Lark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psc.compiler.frontends.front_end import GrammarOptions
from psc.compiler.frontends.lark.imports import find_imports
from psc.errors import GrammarError, ResourceLimitError

if TYPE_CHECKING:
    from psc._core import LrTables
    from psc.compiler.cfg.grammar import Cfg
    from psc.compiler.cfg.terminals import TerminalAutomaton

__all__ = ["differences", "find_imports", "language_of", "parse"]


def parse(text: str, options: GrammarOptions, origin: str) -> Cfg:
    """See :func:`psc.compiler.frontends.lark.loader.load_lark`; the message says where llguidance's dialect could read the text."""
    from psc.compiler.frontends.lark.loader import load_lark

    try:
        return load_lark(
            text, source_name=origin, start=options.start, lexer=options.lexer, keep_all_actions=options.keep_all_actions
        )
    except ResourceLimitError:
        raise
    except GrammarError as e:
        if options.lexer == "contextual" and not options.keep_all_actions and _is_read_as_dialect(text, options.start):
            raise GrammarError(f"{e}\nllguidance's dialect of Lark can read it: begin it with %llguidance {{}}") from e
        raise


def _is_read_as_dialect(text: str, start: str) -> bool:
    from psc.compiler.frontends.llguidance.front_end import parse as parse_dialect

    try:
        parse_dialect(text, GrammarOptions(start, "any", True), "", None)
    except GrammarError:
        return False
    return True


def language_of(text: str) -> str:
    """Lark's language, or llguidance's dialect of it, see :mod:`psc.compiler.frontends.llguidance.recognition`."""
    from psc.compiler.frontends.llguidance.recognition import is_dialect

    return "llguidance" if is_dialect(text) else "lark"


def differences(grammar: Cfg, automaton: TerminalAutomaton, lr: LrTables) -> tuple[str, ...]:
    """See :func:`psc.compiler.frontends.lark.differences.lark_differences`."""
    from psc.compiler.frontends.lark.differences import lark_differences

    return lark_differences(grammar, automaton, lr)
