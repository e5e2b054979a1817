"""The warning about shift/reduce conflicts of a grammar: the tables let the shift win, as Lark does.

Example: in ``start: x "a" "b"``, ``x: "c" | "c" "a"``, the parser may read on behind ``c`` before ``a``, or end x. Only the former
is in the tables, so ``cab`` is refused though the grammar derives it. Whether a conflict narrows the language cannot be decided in
general: where both ways give the same texts (``else`` behind the nearest ``if``), nothing is lost.

Cost: the tables are made again where they were read from a file; then linear in the LR states for each conflict that is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from psc._core import LrTables, stop_if_cancelled
from psc.compiler.cfg.grammar import Cfg
from psc.compiler.cfg.lr_tables import lr_tables
from psc.support.cached_property import cached_property
from psc.support.readable import shortened

_MAX_SHOWN = 3
_MAX_READ = 50
"""Conflicts that are put into words."""
_MAX_TERMINALS = 3
_GENERATED = re.compile(r"^__(\w+)_(star|plus)_\d+$")
"""Names of the rules that a repetition becomes."""

Dropped = tuple[int, int, Sequence[int]]
"""LR state, terminal, productions that were not reduced."""


def conflict_warning(grammar: Cfg, tables: LrTables) -> str | None:
    """The warning about a grammar's shift/reduce conflicts; None where there is none, or every action is kept.

    Args:
        grammar: the grammar.
        tables: its LR tables.
    """
    n = tables.shift_reduce_resolved
    if not n:
        return None
    dropped = tables.dropped or lr_tables(grammar).dropped
    shown, n_shown = _Readings(grammar, tables).shown(dropped[:_MAX_READ])
    more = f"; and {n - n_shown:,} more" if n > n_shown else ""
    conflicts = "1 shift/reduce conflict was" if n == 1 else f"{n:,} shift/reduce conflicts were"
    return (
        f"{conflicts} decided for the shift, as Lark does, so texts that the rules derive may be refused: "
        f"{'; '.join(shown)}{more}. --keep-all-actions (keep_all_actions=True) follows both ways"
    )


class _Readings:
    """Conflicts in words."""

    def __init__(self, grammar: Cfg, tables: LrTables) -> None:
        self._grammar = grammar
        self._accessing: list[int] = tables.accessing.tolist()
        self._arcs: dict[tuple[int, int], int] = {(state, symbol): to for state, symbol, to in tables.arcs.reshape(-1, 3).tolist()}

    def shown(self, dropped: Iterable[Dropped]) -> tuple[list[str], int]:
        """A text for each pair of ways between which something was decided, the first of them, and for how many conflicts they are.

        A text names the terminals before which it was decided so.
        """
        before: dict[tuple[str, str, str], list[str]] = {}
        for state, terminal, productions in dropped:
            name = self._name(terminal)
            ways = self._after(state), self._shift(state, terminal), self._end(productions[0])
            before.setdefault(ways, []).append(name)
        first = list(before.items())[:_MAX_SHOWN]
        texts = [f"{after}, before {_some(names)}, {shift} wins over {end}" for (after, shift, end), names in first]
        return texts, sum(len(names) for _, names in first)

    def _after(self, state: int) -> str:
        symbol = self._accessing[state]
        return "at the beginning" if symbol < 0 else f"after {self._name(symbol)}"

    def _end(self, production: int) -> str:
        p = self._grammar.productions[production]
        if not p.rhs:
            return f"leaving {self._name(p.lhs)} out"
        return f"ending {self._rule(production, len(p.rhs))}"

    def _shift(self, state: int, terminal: int) -> str:
        """The rule that is read on with; of several, the one of which most was read."""
        before = self._accessing[state]
        items = [(0, -i) for i in self._at.get((-1, terminal), ()) if (state, self._grammar.productions[i].lhs) in self._arcs]
        items += [(k, -i) for i in self._at.get((before, terminal), ()) for k in self._positions(i, terminal, state)]
        if not items:  # the end of the text
            return "ending the text"
        k, negative = max(items)
        return f"reading {self._rule(-negative, k)}"

    def _positions(self, production: int, terminal: int, state: int) -> Iterator[int]:
        """Where in a production the parser can be before the terminal in this state."""
        p = self._grammar.productions[production]
        for begin in self._begins.get(p.lhs, ()):
            stop_if_cancelled()
            at = begin
            for k, symbol in enumerate(p.rhs):
                if at == state and symbol == terminal:
                    yield k
                if (at, symbol) not in self._arcs:
                    break
                at = self._arcs[at, symbol]

    @cached_property
    def _at(self) -> dict[tuple[int, int], list[int]]:
        """Per terminal and symbol before it, -1 at the beginning, the productions that have the two so."""
        found: dict[tuple[int, int], list[int]] = {}
        for i, p in enumerate(self._grammar.productions):
            for pair in {(b, s) for b, s in zip((-1, *p.rhs), p.rhs, strict=False) if s < len(self._grammar.terminals)}:
                found.setdefault(pair, []).append(i)
        return found

    @cached_property
    def _begins(self) -> dict[int, list[int]]:
        """Per nonterminal the states in which its rules begin."""
        begins: dict[int, list[int]] = {}
        for state, symbol in self._arcs:
            if symbol >= self._grammar.first_nonterminal:
                begins.setdefault(symbol, []).append(state)
        return begins

    def _rule(self, production: int, dot: int) -> str:
        p = self._grammar.productions[production]
        names = [self._name(s) for s in p.rhs]
        body = " ".join([*names[:dot], "·", *names[dot:]]) if dot < len(names) else " ".join(names)
        return shortened(f"{self._name(p.lhs)}: {body}")

    def _name(self, symbol: int) -> str:
        grammar = self._grammar
        if symbol < len(grammar.terminals):
            terminal = grammar.terminals[symbol]
            if terminal.text is not None:
                return f'"{terminal.text if terminal.text.isprintable() else terminal.text.encode("unicode_escape").decode()}"'
            return f"/{shortened(terminal.pattern)}/" if terminal.name.startswith("__ANON_") else terminal.name
        if symbol == grammar.end_terminal:
            return "the end of the text"
        name = grammar.symbol_name(symbol)
        generated = _GENERATED.match(name)
        return f"(repetition in {generated[1]})" if generated else name


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_TERMINALS} more" if len(names) > _MAX_TERMINALS else ""
    return ", ".join(names[:_MAX_TERMINALS]) + more
