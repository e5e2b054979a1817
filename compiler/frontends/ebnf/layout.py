"""Bounded layout of bundled grammars in EBNF: rules of `psc.compiler.grammars.bounded_lines`, and runs of blanks that are cut.

Nothing is refused: a lexeme may end wherever it matches, so what the rules do not say is not there.
"""

from __future__ import annotations

import re
from dataclasses import replace

from psc.compiler.expressions.expression import RuleSet
from psc.compiler.frontends.ebnf.parser import load_ebnf
from psc.compiler.frontends.layout import LayoutSettings, cut
from psc.compiler.grammars import bounded_lines_of
from psc.errors import GrammarError


def load_bounded(text: str, settings: LayoutSettings, *, root: str, source_name: str) -> RuleSet:
    """The rules with bounded layout. Raises GrammarError where the grammar is not a bundled one that can have it."""
    lines = bounded_lines_of(text)
    if lines is None:
        raise GrammarError(f"{source_name}: layout cannot be bounded: a grammar in EBNF has its layout in its rules")
    bounded = cut(_with(text, lines.counted(settings.max_blanks)), settings.max_blanks)
    return replace(load_ebnf(bounded, root=root, source_name=source_name), source=text, settings=settings.text)


def _with(text: str, rules: str) -> str:
    """A text with these rules besides its own, or instead of those of the same names. A rule's other lines are indented."""
    for rule in filter(None, re.split(r"\n(?=\S)", rules.strip("\n"))):
        name = re.escape(re.split(r"\[|\s", rule)[0])
        text = re.sub(rf"(?m)^{name}(?:\[.*?\])?[ ]*::=.*\n(?:[ ].*\n)*", "", text)
    return text + rules
