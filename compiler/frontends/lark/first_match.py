"""Whether a regex's first match is shorter than its longest, as that of `a|ab`.

Python's matcher takes the first alternative that fits; the lexemes of a pattern without lazy quantifiers are all texts that match
from end to end. The two languages are compared as two terminals of one deterministic automaton: they differ where some state
matches one of them alone.

Cost: the simulation of threads in order, some milliseconds, and then the native construction.
"""

from __future__ import annotations

import numpy as np

from psc._core import build_terminal_automaton
from psc.compiler.cfg.terminals import MAX_POSITIONS, MAX_STATES, MAX_STEPS, write_automaton, write_pattern
from psc.compiler.terminals.programs import TerminalPrograms
from psc.compiler.terminals.regex import Program, UnsupportedRegex, first_match_automaton, pattern_expression


def first_match_differs(pattern: str) -> bool:
    """Whether Python's match of a pattern can be shorter than the longest one; False with lazy quantifiers, which mean that.

    Raises:
        UnsupportedRegex: no pattern, not regular, or too large to tell.
    """
    program = Program(pattern, 0)
    if program.lazy or program.chain() is not None:
        return False
    programs = TerminalPrograms()
    expression = pattern_expression(pattern)
    if expression is not None:
        programs.write(expression)
    else:
        write_pattern(programs, pattern)
    programs.finish()
    write_automaton(programs, first_match_automaton(pattern))
    programs.finish()
    both = build_terminal_automaton(*programs.arrays(), max_states=MAX_STATES, max_positions=MAX_POSITIONS, max_steps=MAX_STEPS)
    if both.exceeded:
        raise UnsupportedRegex(f"its first and its longest matches together need too many {both.exceeded}")
    return bool((np.diff(both.match_offsets) == 1).any())
