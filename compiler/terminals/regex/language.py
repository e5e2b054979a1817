"""The language of a terminal's pattern, as a deterministic automaton over classes of characters.

Which language, where Python's matcher has choices to make:

* no lazy quantifier: every text that `re.fullmatch` accepts, so that the longest lexeme can be chosen by the lexer;
* a lazy quantifier: every text that `re.match`, left to its own priorities, would match from end to end. Thus
  `/\\*.*?\\*/` is a comment with no `*/` inside, and what follows the lazy part may still be optional.

The simulation of threads serves every pattern. The native core needs it only for those that are no expression (`expression`); it
minimizes the automaton and spells it in bytes.

Cost: see `determinize`. The latest results are kept, since a pattern is asked about more than once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from psc.compiler.terminals.regex.determinize import thread_states
from psc.compiler.terminals.regex.partition import partition
from psc.compiler.terminals.regex.program import Program


@dataclass(frozen=True)
class ClassAutomaton:
    """The lexemes of a terminal, over classes of characters; deterministic, neither minimal nor trim.

    Attributes:
        final: per state; the start is state 0.
        arcs: (source, class, target).
        classes: per class its code points, as inclusive ranges without surrogates.
        trailing_context: an assertion looked past the end of some lexeme. The language takes the text to end there; Python may
            decide otherwise inside a longer text.
    """

    final: tuple[bool, ...]
    arcs: tuple[tuple[int, int, int], ...]
    classes: tuple[tuple[tuple[int, int], ...], ...]
    trailing_context: bool


@lru_cache(maxsize=256)
def class_automaton(pattern: str, flags: int = 0) -> ClassAutomaton:
    """The lexemes of a pattern.

    Args:
        pattern: Python `re` syntax for str, as Lark's `terminal.pattern.to_regexp()` gives it.
        flags: `re.I`, `re.M`, `re.S`, `re.X`, `re.U`, `re.A`, combined.

    Raises:
        UnsupportedRegex: not a valid pattern; a backreference or conditional group, which are not regular in general; or an
            automaton beyond reasonable size.
    """
    program = Program(pattern, flags)
    return _automaton(program, ordered=program.lazy)


def first_match_automaton(pattern: str, flags: int = 0) -> ClassAutomaton:
    """The texts that `re.match` would match from end to end, whatever the quantifiers; arguments and errors of `class_automaton`.

    Of `a|ab` it is `a`, where the lexemes are `a` and `ab`.
    """
    return _automaton(Program(pattern, flags), ordered=True)


def looks_past_end(pattern: str, flags: int = 0) -> bool:
    """Whether an assertion looks past the end of some lexeme, as in `a(?!b)`. Arguments and errors of `class_automaton`.

    Cost: that of the parser for a pattern without assertions and atomic groups, else that of `class_automaton`.
    """
    return not Program(pattern, flags).regular and class_automaton(pattern, flags).trailing_context


def _automaton(program: Program, *, ordered: bool) -> ClassAutomaton:
    classes = partition(program.sets)
    found = thread_states(program, classes, ordered=ordered)
    ranges = tuple(tuple((a, b - 1) for a, b in zip(*[iter(c.tolist())] * 2, strict=True)) for c in classes.classes)
    return ClassAutomaton(found.final, found.arcs, ranges, found.trailing_context)
