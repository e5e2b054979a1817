"""Terminals' regexes as expressions and as automata over characters. See `language` for the definition, `determinize` for
lookarounds and laziness.
"""

from psc.compiler.terminals.regex.edges import Edges, edges
from psc.compiler.terminals.regex.expression import (
    character_expression,
    literal_expression,
    pattern_difference,
    pattern_expression,
)
from psc.compiler.terminals.regex.language import ClassAutomaton, class_automaton, first_match_automaton, looks_past_end
from psc.compiler.terminals.regex.program import Program
from psc.compiler.terminals.regex.texts import Texts, listed_texts
from psc.compiler.terminals.regex.unsupported import RegexTooLarge, UnsupportedRegex

__all__ = [
    "ClassAutomaton",
    "Edges",
    "Program",
    "RegexTooLarge",
    "Texts",
    "UnsupportedRegex",
    "character_expression",
    "class_automaton",
    "edges",
    "first_match_automaton",
    "listed_texts",
    "literal_expression",
    "looks_past_end",
    "pattern_difference",
    "pattern_expression",
]
