"""The items of an LR automaton: which rules the parser is in the middle of in each state.

The tables have the productions, and an LR(0) state is its kernel items. So the items are found as the automaton was built: from a
state's kernel its closure, and from that, along the arc of each symbol behind a dot, the kernel of the state after it
(Aho, Sethi, Ullman, "Compilers", section 4.7).

Cost: linear in the closures of all states; some 50 ms for a programming language.
"""

from __future__ import annotations

import itertools

from psc._core import LrTables
from psc.ids import LrState, Nonterminal, Production, Symbol
from psc.support.cached_property import cached_property

Item = tuple[Production, int]
"""(production, how many symbols of its right side have been read)."""


class LrItems:
    """The LR automaton of a grammar. Symbols are terminals, then the end of the text, then nonterminals."""

    def __init__(self, tables: LrTables) -> None:
        self.n_terminals = tables.n_terminals
        """The end of the text, which is the last of them, included."""
        self.n_nonterminals = tables.n_nonterminals
        self.n_states = tables.n_lr_states
        self.production_lhs: list[Nonterminal] = tables.production_lhs.tolist()
        """Per production its left side."""
        self.accessing: list[Symbol] = tables.accessing.tolist()
        """Per state, the symbol that leads into it; -1 for the start."""
        rhs, ends = tables.rhs.tolist(), tables.rhs_offsets.tolist()
        self.right_sides: list[list[Symbol]] = [rhs[a:b] for a, b in itertools.pairwise(ends)]
        """Per production its symbols."""
        arcs = tables.arcs.reshape(-1, 3).tolist()
        self._after = {(LrState(state), Symbol(symbol)): LrState(to) for state, symbol, to in arcs}
        self.ends: frozenset[LrState] = frozenset(state for state, symbol in self._after if symbol == self.n_terminals - 1)
        """The states in which the end of the text is shifted."""

    def go_to(self, state: LrState, nonterminal: Nonterminal) -> LrState | None:
        """The state after a nonterminal."""
        return self._after.get((state, Symbol(self.n_terminals + nonterminal)))

    def after(self, state: LrState, symbol: Symbol) -> LrState | None:
        """The state after a symbol."""
        return self._after.get((state, symbol))

    @cached_property
    def starts(self) -> list[Nonterminal]:
        """The symbols that a whole text derives from: one nonterminal, unless the tables are damaged."""
        all_of_them = (Nonterminal(n) for n in range(self.n_nonterminals))
        return [n for n in all_of_them if self.go_to(LrState(0), n) in self.ends]

    @cached_property
    def items(self) -> list[list[Item]]:
        """Per state its kernel items, sorted."""
        kernels: list[set[Item]] = [set() for _ in range(self.n_states)]
        todo, seen = [LrState(0)], {0}
        for state in todo:  # grows while it is read
            for production, dot in self._closure(state, kernels[state]):
                symbols = self.right_sides[production]
                if dot < len(symbols) and (to := self.after(state, symbols[dot])) is not None:
                    kernels[to].add((production, dot + 1))
                    if to not in seen:
                        seen.add(to)
                        todo.append(to)
        return [sorted(kernel) for kernel in kernels]

    def _closure(self, state: LrState, kernel: set[Item]) -> list[Item]:
        items = list(kernel)
        behind_dots = [self.right_sides[p][dot] - self.n_terminals for p, dot in kernel if dot < len(self.right_sides[p])]
        todo = [Nonterminal(n) for n in behind_dots if n >= 0]
        if state == 0:
            todo += self.starts
        seen = set(todo)
        while todo:
            for production in self._productions_of[todo.pop()]:
                items.append((production, 0))
                for symbol in self.right_sides[production][:1]:
                    first = Nonterminal(symbol - self.n_terminals)
                    if first >= 0 and first not in seen:
                        seen.add(first)
                        todo.append(first)
        return items

    @cached_property
    def _productions_of(self) -> list[list[Production]]:
        out: list[list[Production]] = [[] for _ in range(self.n_nonterminals)]
        for production, lhs in enumerate(self.production_lhs):
            out[lhs].append(Production(production))
        return out
