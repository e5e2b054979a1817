"""Terminals' regexes to byte automata. See `language` for the definition, `threads` for lookarounds and laziness."""

from .language import TerminalLanguage, terminal_language
from .run import Acceptor
from .unsupported import UnsupportedRegex

__all__ = ["Acceptor", "TerminalLanguage", "UnsupportedRegex", "terminal_language"]
