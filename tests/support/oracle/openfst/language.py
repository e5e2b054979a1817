"""From a terminal's pattern to the minimal automaton over the bytes of its lexemes, by OpenFst.

Three constructions share the work, the cheapest one that applies: a plain chain of characters (keywords, operators), the classical
subset construction, and the simulation of threads with assertions. All of them work over classes of code points; UTF-8 comes last.
Which language it is, `psc.compiler.terminals.regex.language` says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pynini

from psc.compiler.terminals.regex.determinize import thread_states
from psc.compiler.terminals.regex.partition import Partition, partition
from psc.compiler.terminals.regex.program import Program

from .arrays import Automaton
from .subsets import chain_automaton, minimal, subset_automaton
from .utf8 import byte_automaton


@dataclass(frozen=True)
class TerminalLanguage:
    """The lexemes of a terminal.

    Attributes:
        fst: minimal deterministic epsilon-free acceptor of the lexemes' UTF-8 bytes, label byte + 1, unweighted. It has
            no states if there are no lexemes.
        trailing_context: an assertion looked past the end of some lexeme.
        lazy: the pattern has a lazy quantifier.
    """

    fst: pynini.Fst
    trailing_context: bool
    lazy: bool


def terminal_language(pattern: str, flags: int = 0) -> TerminalLanguage:
    """Compiles the pattern of a terminal; raises UnsupportedRegex. About 0.1 ms for a keyword, 1 to 10 ms for most others."""
    known = _compile(pattern, int(flags))
    return replace(known, fst=known.fst.copy())  # callers may change theirs; the copy is lazy


def first_match_language(pattern: str, flags: int = 0) -> pynini.Fst:
    """The texts that Python's `re.match`, which takes the first alternative that fits, matches from end to end."""
    program = Program(pattern, flags)
    classes = partition(program.sets)
    return byte_automaton(_thread_automaton(program, classes, ordered=True)[0], classes.classes)


@lru_cache(maxsize=1024)
def _compile(pattern: str, flags: int) -> TerminalLanguage:
    program = Program(pattern, flags)
    chain = program.chain()
    if chain is not None and all(len(bounds) for bounds in program.sets):
        fst = byte_automaton(chain_automaton(chain), tuple(program.sets), minimal=True)
        return TerminalLanguage(fst, False, program.lazy)
    classes = partition(program.sets)
    trailing_context = False
    if program.regular and not program.lazy:
        automaton = subset_automaton(program, classes)
    else:
        automaton, trailing_context = _thread_automaton(program, classes, ordered=program.lazy)
    return TerminalLanguage(byte_automaton(automaton, classes.classes), trailing_context, program.lazy)


def _thread_automaton(program: Program, classes: Partition, *, ordered: bool) -> tuple[Automaton, bool]:
    """The minimal automaton of the simulation of threads, label class + 1, and whether it looked past the end of a lexeme."""
    found = thread_states(program, classes, ordered=ordered)
    arcs = [(source, c + 1, target) for source, c, target in found.arcs]
    return minimal(np.array(found.final, dtype=bool), arcs), found.trailing_context
