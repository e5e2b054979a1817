"""The language of a terminal: from its pattern to the minimal automaton over the bytes of its lexemes.

Which language, where Python's matcher has choices to make:

* no lazy quantifier: every text that `re.fullmatch` accepts, so that the longest lexeme can be chosen by the lexer;
* a lazy quantifier: every text that `re.match`, left to its own priorities, would match from end to end. Thus
  `/\\*.*?\\*/` is a comment with no `*/` inside, and what follows the lazy part may still be optional.

Three constructions share the work, the cheapest one that applies: a plain chain of characters (keywords, operators),
the classical subset construction, and the simulation of threads with assertions. All of them work over classes of code
points; UTF-8 comes last. Results are kept, since a grammar is often compiled more than once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from psc.compiler.terminal_regex.determinize import thread_automaton, thread_states
from psc.compiler.terminal_regex.partition import partition
from psc.compiler.terminal_regex.program import Program
from psc.compiler.terminal_regex.subsets import chain_automaton, subset_automaton
from psc.compiler.terminal_regex.utf8 import byte_automaton

if TYPE_CHECKING:
    import pynini


@dataclass(frozen=True)
class TerminalLanguage:
    """The lexemes of a terminal.

    Attributes:
        fst: minimal deterministic epsilon-free acceptor of the lexemes' UTF-8 bytes, label byte + 1, unweighted. It has
            no states if there are no lexemes.
        trailing_context: an assertion looked past the end of some lexeme. The language takes the text to end there;
            Python may decide otherwise inside a longer text.
        lazy: the pattern has a lazy quantifier.
    """

    fst: pynini.Fst
    trailing_context: bool
    lazy: bool


@dataclass(frozen=True)
class ClassAutomaton:
    """The lexemes of a terminal, over classes of characters; deterministic, neither minimal nor trim.

    Attributes:
        final: per state; the start is state 0.
        arcs: (source, class, target).
        classes: per class its code points, as inclusive ranges without surrogates.
    """

    final: tuple[bool, ...]
    arcs: tuple[tuple[int, int, int], ...]
    classes: tuple[tuple[tuple[int, int], ...], ...]


@lru_cache(maxsize=256)
def class_automaton(pattern: str, flags: int = 0) -> ClassAutomaton:
    """The same language as :func:`terminal_language`, by the simulation of threads; raises the same errors."""
    program = Program(pattern, flags)
    classes = partition(program.sets)
    found = thread_states(program, classes)
    ranges = tuple(tuple((a, b - 1) for a, b in zip(*[iter(c.tolist())] * 2, strict=True)) for c in classes.classes)
    return ClassAutomaton(found.final, tuple((source, label - 1, target) for source, label, target in found.arcs), ranges)


def terminal_language(pattern: str, flags: int = 0) -> TerminalLanguage:
    """Compile the pattern of a terminal.

    Args:
        pattern: Python `re` syntax for str, as Lark's `terminal.pattern.to_regexp()` gives it.
        flags: `re.I`, `re.M`, `re.S`, `re.X`, `re.U`, `re.A`, combined.

    Raises:
        UnsupportedRegex: not a valid pattern; a backreference or conditional group, which are not regular in general;
            or an automaton beyond reasonable size.

    Cost: about 0.1 ms for a keyword, 1 to 10 ms for what grammars usually contain; plus, once a process, about 10 ms
    for each Unicode table needed.
    """
    known = _compile(pattern, int(flags))
    return replace(known, fst=known.fst.copy())  # callers may change theirs; the copy is lazy


def first_match_differs(pattern: str, flags: int = 0) -> bool:
    """Whether Python's match of the pattern, by the first alternative that fits, can be shorter than the longest.

    For patterns without lazy quantifiers, whose language is defined without regard to order. `a|ab` is such a pattern.

    Cost: as `terminal_language` for a pattern with lookaround.
    """
    import pynini

    program = Program(pattern, flags)
    if program.lazy or program.chain() is not None:
        return False
    program.lazy = True  # threads then keep Python's order of preference
    classes = partition(program.sets)
    automaton, _trailing_context = thread_automaton(program, classes)
    first = byte_automaton(automaton, classes.classes)
    return not pynini.equivalent(terminal_language(pattern, flags).fst, first)


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
        automaton, trailing_context = thread_automaton(program, classes)
    return TerminalLanguage(byte_automaton(automaton, classes.classes), trailing_context, program.lazy)
