"""EBNF, as the registry of front ends knows it."""

from __future__ import annotations

from psc.compiler.expressions import RuleSet
from psc.compiler.frontends.ebnf.parser import load_ebnf
from psc.compiler.frontends.front_end import GrammarOptions


def parse(text: str, options: GrammarOptions, origin: str) -> RuleSet:
    """See :func:`psc.compiler.frontends.ebnf.load_ebnf`."""
    return load_ebnf(text, root=options.start, source_name=origin)
