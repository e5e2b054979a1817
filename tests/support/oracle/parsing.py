"""Lark's LALR(1) tables, conflicts resolved as Lark resolves them, and a plain LR driver over immutable stacks.

A stack is the tuple of its states, bottom first. A sequence of terminals is viable if every one of them can be shifted.
Cost: the reductions made for each shift, times the depth of the stack (tuples are copied).
"""

from collections.abc import Iterable
from typing import Any

from lark.common import ParserConf
from lark.parsers.lalr_analysis import LALR_Analyzer, Shift

from psc.support.cached_property import cached_property

Stack = tuple[int, ...]
END = "$END"
_MAX_REDUCTIONS = 100_000  # before one shift; only a cyclic grammar (a: b, b: a) gets there


class NoSentence(Exception):
    """The start can never be finished."""


def finished(rules: Iterable[Any], seen: frozenset[str]) -> list[Any]:
    """The rules each of whose symbols is a terminal that the parser sees or has such a rule."""
    rules, done = list(rules), set(seen)
    while new := {r.origin.name for r in rules if done.issuperset(s.name for s in r.expansion)} - done:
        done |= new
    return [r for r in rules if done.issuperset(s.name for s in r.expansion)]


class Parser:
    """The parser of a Lark object made with parser='lalr'."""

    def __init__(self, lark_object: Any, start: str) -> None:
        # Lark's tables, but for the productions that no text can finish: Lark's own take their beginnings, and then nothing.
        rules = finished(lark_object.rules, frozenset(t.name for t in lark_object.terminals) - frozenset(lark_object.ignore_tokens))
        if not any(rule.origin.name == start for rule in rules):
            raise NoSentence(start)
        if len(rules) == len(lark_object.rules):
            table = lark_object.parser.parser._parse_table
        else:
            analyzer = LALR_Analyzer(ParserConf(rules, dict.fromkeys(rules), [start]))
            analyzer.compute_lalr()
            table = analyzer.parse_table
        self._actions: dict[int, dict[str, tuple[Any, Any]]] = table.states
        self._end_state: int = table.end_states[start]
        self.ignored = frozenset(lark_object.ignore_tokens)
        self._terminals = frozenset(t.name for t in lark_object.terminals)
        self.start: Stack = (table.start_states[start],)
        self._shifts: dict[tuple[Stack, str], Stack | None] = {}

    def shift(self, stack: Stack, terminal: str) -> Stack | None:
        """The stack after the terminal; None if it cannot be shifted. Ignored terminals change nothing."""
        if terminal in self.ignored:
            return stack
        key = (stack, terminal)
        if key not in self._shifts:
            self._shifts[key] = self._advance(stack, terminal)
        return self._shifts[key]

    def shift_all(self, stack: Stack, terminals: Iterable[str]) -> Stack | None:
        """`shift` for each terminal in turn."""
        for terminal in terminals:
            after = self.shift(stack, terminal)
            if after is None:
                return None
            stack = after
        return stack

    @cached_property
    def never_taken(self) -> frozenset[str]:
        """Terminals that no state has an action for, and that are not ignored."""
        return self._terminals - self.ignored - {name for actions in self._actions.values() for name in actions}

    def context(self, stack: Stack) -> frozenset[str]:
        """The terminals of Lark's contextual lexer: those that the state on top has an action for, and the ignored ones."""
        return self.ignored | (self._actions[stack[-1]].keys() & self._terminals)

    def accepts(self, stack: Stack) -> bool:
        """Whether the text may end here."""
        return self._advance(stack, END) is not None

    def _advance(self, stack: Stack, terminal: str) -> Stack | None:
        states = list(stack)
        for _ in range(_MAX_REDUCTIONS):
            action, argument = self._actions[states[-1]].get(terminal, (None, None))
            if action is None:
                return None
            if action is Shift:
                states.append(argument)
                return tuple(states)
            if argument.expansion:
                del states[-len(argument.expansion) :]
            states.append(self._actions[states[-1]][argument.origin.name][1])
            if terminal == END and states[-1] == self._end_state:
                return tuple(states)
        raise RecursionError("the tables reduce for ever: the grammar is cyclic")
