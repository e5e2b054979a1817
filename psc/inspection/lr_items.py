"""The items of an LR automaton, read back from its tables: which rules the parser is in the middle of in each state.

Tables keep no items, but they determine the kernel ones: an item (production, dot) stands in every state that lies that deep
under a reduction by the production. So the items are found backwards from the reductions, along the arcs that lead into
each state; and a production's right side is read off the symbols on those arcs. Items that a resolved conflict cut
off from every reduction are missed.

Cost: linear in the tables and items; some 50 ms for a programming language.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from psc.runtime.compiled import CompiledGrammar

Item = tuple[int, int]
"""(production, how many symbols of its right side have been read)."""


class LrItems:
    """The LR automaton of one compiled grammar. Symbols are terminals, then the end of the text, then nonterminals."""

    def __init__(self, compiled: CompiledGrammar) -> None:
        tables = compiled._machine.lr
        self.n_terminals = tables.n_terminals
        """The end of the text, which is the last of them, included."""
        self.n_nonterminals = tables.n_nonterminals
        self.production_lhs: list[int] = tables.production_lhs.tolist()
        """Per production its left side, as a nonterminal's number from 0."""
        self.production_length: list[int] = tables.production_length.tolist()
        cells = np.repeat(np.arange(len(tables.action_offsets) - 1), np.diff(tables.action_offsets))
        self._action_state, self._action_terminal = np.divmod(cells, self.n_terminals)
        self._actions = tables.actions
        self._gotos = tables.gotos.reshape(-1, self.n_nonterminals)
        self.n_states = len(self._gotos)
        shifts_end = (self._actions & 1 == 0) & (self._action_terminal == self.n_terminals - 1)
        self.ends = frozenset(self._action_state[shifts_end].tolist())
        """The states in which the end of the text is shifted."""

    def go_to(self, state: int, nonterminal: int) -> int:
        """The state after a nonterminal, or -1."""
        return int(self._gotos[state, nonterminal])

    @cached_property
    def accessing(self) -> list[int]:
        """Per state, the symbol that leads into it; -1 for the start."""
        out = np.full(self.n_states, -1)
        shift = self._actions & 1 == 0
        out[self._actions[shift] >> 1] = self._action_terminal[shift]
        state, nonterminal = np.nonzero(self._gotos >= 0)
        out[self._gotos[state, nonterminal]] = self.n_terminals + nonterminal
        accessing: list[int] = out.tolist()
        return accessing

    @cached_property
    def _predecessors(self) -> list[list[int]]:
        """Per state, the states that lead into it."""
        out: list[set[int]] = [set() for _ in range(self.n_states)]
        shift = self._actions & 1 == 0
        for state, to in zip(self._action_state[shift].tolist(), (self._actions[shift] >> 1).tolist(), strict=True):
            out[to].add(state)
        state, nonterminal = np.nonzero(self._gotos >= 0)
        for source, to in zip(state.tolist(), self._gotos[state, nonterminal].tolist(), strict=True):
            out[to].add(source)
        return [sorted(s) for s in out]

    @cached_property
    def items(self) -> list[list[Item]]:
        """Per state its kernel items, sorted."""
        items: list[set[Item]] = [set() for _ in range(self.n_states)]
        reduce = self._actions & 1 == 1
        reductions = set(zip(self._action_state[reduce].tolist(), (self._actions[reduce] >> 1).tolist(), strict=True))
        work = [(state, production, self.production_length[production]) for state, production in sorted(reductions)]
        while work:
            state, production, dot = work.pop()
            if dot == 0 or (production, dot) in items[state]:
                continue
            items[state].add((production, dot))
            work.extend((p, production, dot - 1) for p in self._predecessors[state])
        return [sorted(s) for s in items]

    @cached_property
    def right_sides(self) -> list[list[int]]:
        """Per production its symbols; -1 where the symbol stands in no state's items, so the production is never reduced."""
        symbol_at = {item: self.accessing[state] for state, items in enumerate(self.items) for item in items}
        return [[symbol_at.get((p, dot), -1) for dot in range(1, n + 1)] for p, n in enumerate(self.production_length)]
