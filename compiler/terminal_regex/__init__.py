"""Terminals' regexes to byte automata. See `language` for the definition, `determinize` for lookarounds and laziness."""

from psc.compiler.terminal_regex.expression import literal_expression, pattern_difference, pattern_expression
from psc.compiler.terminal_regex.language import (
    ClassAutomaton,
    TerminalLanguage,
    class_automaton,
    first_match_differs,
    terminal_language,
)
from psc.compiler.terminal_regex.run import Acceptor
from psc.compiler.terminal_regex.unsupported import UnsupportedRegex

__all__ = [
    "Acceptor",
    "ClassAutomaton",
    "TerminalLanguage",
    "UnsupportedRegex",
    "class_automaton",
    "first_match_differs",
    "literal_expression",
    "pattern_difference",
    "pattern_expression",
    "terminal_language",
]
