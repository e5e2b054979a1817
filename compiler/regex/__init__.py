"""Terminals' regexes to byte automata. See `language` for the definition, `threads` for lookarounds and laziness."""

from .language import TerminalLanguage, first_match_differs, terminal_language
from .run import Acceptor
from .unsupported import UnsupportedRegex

__all__ = ["Acceptor", "TerminalLanguage", "UnsupportedRegex", "first_match_differs", "terminal_language"]
