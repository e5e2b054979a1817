"""Regular expressions, as the registry of front ends knows them."""

from __future__ import annotations

from psc.compiler.expressions.expression import RuleSet
from psc.compiler.frontends.front_end import UNNAMED, GrammarOptions
from psc.compiler.frontends.regex.parser import regex_rule_set

_UNNAMED = "<regex>"


def parse(text: str, options: GrammarOptions, origin: str) -> RuleSet:
    """See :func:`psc.compiler.frontends.regex.regex_rule_set`; the one rule is the start."""
    return regex_rule_set(text, source_name=_UNNAMED if origin == UNNAMED else origin)
