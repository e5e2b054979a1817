"""Terminals' regexes to byte automata. See `language` for the definition, `determinize` for lookarounds and laziness."""

from psc.compiler.regex.language import TerminalLanguage, first_match_differs, terminal_language
from psc.compiler.regex.run import Acceptor
from psc.compiler.regex.unsupported import UnsupportedRegex

__all__ = ["Acceptor", "TerminalLanguage", "UnsupportedRegex", "first_match_differs", "terminal_language"]
