"""Terminals' byte automata by OpenFst: a second construction, from the same parsed patterns, to test the native one against.

    arrays.py       acceptors as arrays, to and from OpenFst
    subsets.py      the subset construction of a pattern without assertions
    utf8.py         from classes of characters to bytes
    language.py     one pattern to the minimal acceptor of its lexemes
    union.py        all terminals of a grammar as one automaton
    acceptor.py     an acceptor, run byte by byte

What it shares with psc is the parser of patterns (`Program`), the sets of characters and the simulation of threads; everything
after them is another program. Needs pynini.
"""

from .acceptor import Acceptor
from .arrays import Automaton, from_fst, to_fst
from .language import TerminalLanguage, first_match_language, terminal_language
from .union import union_automaton

__all__ = [
    "Acceptor",
    "Automaton",
    "TerminalLanguage",
    "first_match_language",
    "from_fst",
    "terminal_language",
    "to_fst",
    "union_automaton",
]
