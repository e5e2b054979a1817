"""All terminals of a grammar as one minimal deterministic byte automaton, built by the native core.

A terminal with an expression is handed over as it is; one that begins with negative lookaheads, as an expression less others; any
other pattern becomes an automaton over classes of characters first (`terminal_regex.determinize`).

Cost: 1 to 15 ms for a programming language; a pattern with lazy quantifiers or other lookaround adds some ms in Python.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, NoReturn

import numpy as np
import numpy.typing as npt

from psc._core import ByteAutomaton, OpenTerminals, build_terminal_automaton
from psc.compiler.cfg.grammar import Cfg, Terminal
from psc.compiler.cfg.lowering import LoweredRules
from psc.compiler.cfg.normal_form import column_of
from psc.compiler.expressions.expression import Expression
from psc.compiler.terminals.programs import TerminalPrograms
from psc.compiler.terminals.regex import (
    ClassAutomaton,
    RegexTooLarge,
    UnsupportedRegex,
    class_automaton,
    edges,
    listed_texts,
    literal_expression,
    pattern_difference,
    pattern_expression,
)
from psc.errors import GrammarError, ResourceLimitError
from psc.support.cached_property import cached_property
from psc.support.limits import limit
from psc.support.readable import shortened

MAX_STATES: Final = limit("terminal_states")
MAX_POSITIONS: Final = limit("terminal_positions")
"""Characters and branches of all terminals, with counted repetitions written out."""
MAX_STEPS: Final = limit("terminal_steps")
"""Work and memory of making the automaton deterministic; about a second."""

_MAX_NAMES: Final = 6
_AHEAD: Final = re.compile(r"\(\?=|\\[bB]|\$")
_BEHIND: Final = re.compile(r"\(\?<=|\\[bB]|\^")
"""What can need a character there."""


@dataclass(frozen=True)
class TerminalAutomaton:
    """The byte automaton of all terminals; state 0 is the start and no arc leads into it."""

    native: ByteAutomaton = field(repr=False)
    """The same in the native core, over classes of bytes."""
    accept: npt.NDArray[np.int32]
    """(states,): the terminal that wins there, or -1."""
    match_offsets: npt.NDArray[np.int32]
    """(states + 1,): where each state's entries in `match_terminals` begin."""
    match_terminals: npt.NDArray[np.int32]
    """Per state, every terminal that matches there, ascending."""
    grammar: Cfg = field(repr=False)

    @cached_property
    def next(self) -> npt.NDArray[np.int32]:
        """(states, 256): the next state, or -1."""
        return self.native.next.reshape(-1, 256)

    @cached_property
    def matches(self) -> tuple[frozenset[int], ...]:
        """Per state, every terminal that matches there."""
        offsets, terminals = self.match_offsets.tolist(), self.match_terminals.tolist()
        return tuple(frozenset(terminals[a:b]) for a, b in pairwise(offsets))

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.next, self.accept, self.match_offsets, self.match_terminals, self.grammar)


def _unpickled(
    next: npt.NDArray[np.int32],
    accept: npt.NDArray[np.int32],
    match_offsets: npt.NDArray[np.int32],
    match_terminals: npt.NDArray[np.int32],
    grammar: Cfg,
) -> TerminalAutomaton:
    native = ByteAutomaton(next.reshape(-1), match_offsets, match_terminals)
    return TerminalAutomaton(native, accept, match_offsets, match_terminals, grammar)


def terminal_automaton(grammar: Cfg, *, max_states: int = MAX_STATES) -> TerminalAutomaton:
    """Builds the automaton.

    Raises:
        GrammarError: a regex is not regular, matches the empty text or no text at all, or a limit is passed; it names the
            terminal, or the ones that are too much together. The limit is a ResourceLimitError.
    """
    programs = TerminalPrograms()
    for terminal in grammar.terminals:
        _write(programs, grammar, terminal)
        programs.finish()
    found = build_terminal_automaton(*programs.arrays(), max_states=max_states, max_positions=MAX_POSITIONS, max_steps=MAX_STEPS)
    if _is_refused(found):
        _refuse(grammar, found, max_states)
    return with_winners(grammar, found)


def automaton_of_rules(rules: LoweredRules) -> ByteAutomaton:
    """The automaton of the terminals of lowered rules. Raises ResourceLimitError, as :func:`terminal_automaton`."""
    found = rules.native.terminal_automaton(max_states=MAX_STATES, max_positions=MAX_POSITIONS, max_steps=MAX_STEPS)
    if _is_refused(found):
        _refuse(rules.cfg, found, MAX_STATES)
    return found


def open_terminals_of_rules(rules: LoweredRules) -> OpenTerminals:
    """The terminals of lowered rules, for a machine that makes their automaton as it visits it.

    Raises:
        ResourceLimitError: they are too large, whatever is visited.
    """
    found = rules.native.open_terminals(max_positions=MAX_POSITIONS)
    if not found.is_sound:
        automaton_of_rules(rules)  # says what is wrong
        raise AssertionError(f"{rules.source_name}: the terminals can be closed, and not be read open")
    return found


def with_winners(grammar: Cfg, found: ByteAutomaton) -> TerminalAutomaton:
    """The automaton with the terminal that wins in each state."""
    offsets, terminals = found.match_offsets, found.matches
    accept = np.full(len(offsets) - 1, -1, np.int32)
    if len(terminals):
        rank = np.array([t.rank for t in grammar.terminals], np.int32)
        by_rank = np.empty_like(rank)
        by_rank[rank] = np.arange(len(rank), dtype=np.int32)
        some = offsets[:-1] < offsets[1:]
        accept[some] = by_rank[np.minimum.reduceat(rank[terminals], offsets[:-1][some])]
    return TerminalAutomaton(found, accept, offsets, terminals, grammar)


def terminal_arrays(grammar: Cfg, automaton: TerminalAutomaton) -> dict[str, Any]:
    """The automaton of all terminals, and what decides between them, as the native code takes it."""
    return {
        "automaton": automaton.native,
        "rank": np.array([t.rank for t in grammar.terminals], np.int32),
        "ignored": np.array([t.ignored for t in grammar.terminals], np.uint8),
    }


def terminal_expression(terminal: Terminal) -> Expression | None:
    """The language of a terminal, without references; None where its pattern has lookaround or lazy quantifiers."""
    if terminal.expression is not None:
        return terminal.expression
    if terminal.text is not None:
        return literal_expression(terminal.text, ignoring_case="i" in terminal.flags, ascii="a" in terminal.flags)
    return pattern_expression(terminal.pattern)


def terminal_error(grammar: Cfg, terminal: Terminal, message: str, kind: type[GrammarError] = GrammarError) -> GrammarError:
    """The error about a terminal, with its position."""
    line = terminal.line
    parts = (terminal.name, f'"{terminal.text}"', f"/{terminal.pattern}/")
    found = [] if line is None else [column_of(grammar.source, line, part) for part in parts]
    column = next((c for c in found if c is not None), None)
    return kind.at(grammar.source_name, f"terminal {terminal.name}{message}", line=line, column=column)


def _write(programs: TerminalPrograms, grammar: Cfg, terminal: Terminal) -> None:
    try:
        texts = listed_texts(terminal.pattern) if terminal.expression is None else None
        if texts is not None:
            programs.write_texts(texts)
            return
        expression = terminal_expression(terminal)
        if expression is not None:
            programs.write(expression)
            return
        write_pattern(programs, terminal.pattern)
    except UnsupportedRegex as e:
        error = ResourceLimitError if isinstance(e, RegexTooLarge) else GrammarError
        raise terminal_error(grammar, terminal, f": /{shortened(terminal.pattern)}/ cannot be an automaton: {e}", error) from e


def write_pattern(programs: TerminalPrograms, pattern: str) -> None:
    """Writes the language of a pattern that is no expression. Raises UnsupportedRegex."""
    difference = pattern_difference(pattern)
    if difference is None:
        write_automaton(programs, class_automaton(pattern))
        return
    expression, excepted = difference
    programs.write(expression)
    for one in excepted:
        programs.write_except()
        programs.write(one)


def write_automaton(programs: TerminalPrograms, automaton: ClassAutomaton) -> None:
    """Writes the language of an automaton over classes of characters."""
    sets = [programs.set_number(ranges) for ranges in automaton.classes]
    programs.write_automaton(automaton.final, ((source, sets[c], target) for source, c, target in automaton.arcs))


def _nothing_matched(grammar: Cfg, terminal: Terminal, error: GrammarError) -> GrammarError:
    """The error about a terminal that matches nothing; it names the assertion that needs a character beyond the terminal's edge."""
    try:
        over = edges(terminal.pattern)
    except UnsupportedRegex:
        return error
    for is_over, assertion, what in (
        (over.end, _AHEAD, "lookahead past the end"),
        (over.start, _BEHIND, "lookbehind past the beginning"),
    ):
        if is_over and assertion.search(terminal.pattern):
            said = (
                f"{error}: {what} of terminal {terminal.name} is not supported, as an assertion sees the terminal alone; say in "
                "the rules what may stand there"
            )
            if error.line is None or error.column is None:
                return error.reworded(said)
            line = grammar.source.split("\n", error.line)[error.line - 1]
            at = assertion.search(line, error.column - 1)
            column = error.column if at is None else at.start() + 1
            said = said.replace(f":{error.line}:{error.column}: ", f":{error.line}:{column}: ", 1)
            return error.reworded(said).with_position(column=column)
    return error


def _is_refused(found: ByteAutomaton) -> bool:
    return bool(found.exceeded or found.empty or found.unmatched)


def _refuse(grammar: Cfg, found: ByteAutomaton, max_states: int) -> NoReturn:
    if found.exceeded:
        limit = {
            "states": f"more than {max_states:,} states",
            "positions": f"more than {MAX_POSITIONS:,} characters and branches, with counted repetitions written out",
            "steps": f"more than {MAX_STEPS:,} steps",
        }[found.exceeded]
        involved = [grammar.terminals[t] for t in found.involved]
        way_out = "which is the limit; use smaller counts in repetitions, or fewer alternatives that begin alike"
        needed = f"{limit} as one automaton, {way_out}"
        if len(involved) == 1:
            raise terminal_error(grammar, involved[0], f" needs {needed}", ResourceLimitError)
        more = f" and {len(involved) - _MAX_NAMES} more" if len(involved) > _MAX_NAMES else ""
        names = ", ".join(t.name for t in involved[:_MAX_NAMES])
        raise ResourceLimitError(f"{grammar.source_name}: the terminals {names}{more} together need {needed}")
    wrong = sorted(found.empty + found.unmatched)
    terminal = grammar.terminals[wrong[0]]
    shown = shortened(terminal.pattern)
    if wrong[0] in found.unmatched:
        raise _nothing_matched(grammar, terminal, terminal_error(grammar, terminal, f": /{shown}/ matches no text at all"))
    raise empty_lexeme(grammar, terminal)


def empty_lexeme(grammar: Cfg, terminal: Terminal) -> GrammarError:
    """The error about a terminal that matches the empty text."""
    way_out = "a terminal must match at least one character (use an optional rule instead)"
    return terminal_error(grammar, terminal, f": /{shortened(terminal.pattern)}/ matches the empty string; {way_out}")
