"""EBNF, as the registry of front ends knows it."""

from __future__ import annotations

from typing import Final

from psc.compiler.expressions.expression import RuleSet
from psc.compiler.expressions.tokens import TokenNames
from psc.compiler.frontends.ebnf.lexer import kinds_of
from psc.compiler.frontends.ebnf.parser import load_ebnf
from psc.compiler.frontends.front_end import GrammarOptions

_MACROS: Final = frozenset(("Token", "ExcludeToken", "TokenTagDispatch"))


def names_tokens(text: str, settings: str) -> bool:
    """Whether a text has ``<…>`` outside of literals and classes, or what is written as a macro that is about tokens."""
    before = ""
    for kind, found in kinds_of(text):
        if kind == "token" or (before in _MACROS and found[0] == "("):
            return True
        before = found
    return False


def parse(text: str, options: GrammarOptions, origin: str, names: TokenNames | None) -> RuleSet:
    """See :func:`psc.compiler.frontends.ebnf.load_ebnf`."""
    return load_ebnf(text, root=options.start, source_name=origin, names=names)
