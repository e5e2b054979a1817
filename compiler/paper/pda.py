"""An LR table as the paper's push-down automaton, whose transitions see the two topmost stack symbols.

The paper's automaton has no lookahead: it reads a terminal, then makes transitions without input until it needs the
next one. An LR(1) table reduces *because of* the terminal to come. So reading a terminal here only writes it down on
top of the stack, and the reductions and the shift that it causes are the transitions without input that follow.
Besides the LR states, the stack alphabet Π has for each terminal ``a``

* ``[s, a]``: LR state ``s``, with ``a`` read but not shifted;
* ``<k, A, a>``: pop ``k`` symbols below, then go to nonterminal ``A``; ``a`` is not shifted yet;

and ``⊥`` lies under every stack, so that the last state too has a symbol below it. With two symbols on top:

    s Y         -a->  [s, a] Y              where the cell (s, a) is not empty
    [s, a] Y    -ε->  t s Y                 a shift to t
    [s, a] Y    -ε->  [goto(s, A), a] s Y   a reduction by A → (empty)
    [s, a] Y    -ε->  <k-1, A, a> Y         a reduction by A → k symbols, k > 0 (this pops s, the first of them)
    <k, A, a> Y -ε->  <k-1, A, a>           k > 0 and Y is not ⊥
    <0, A, a> Y -ε->  [goto(Y, A), a] Y

It is deterministic where every cell of the table holds one action, terminating where the table is, and the stable
stacks are those with an LR state on top. Symbols that name a terminal never meet those of another, so a `Pda` is the
automaton for one terminal, with that terminal's symbols only.

Labels, for OpenFst (0 is ε): LR state ``s`` is ``s + 1``, ⊥ is ``n_states + 1``; `Pda` numbers the rest above these.

Source: the paper, appendix A.2.3. Cost: linear in the table.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from psc._core import LrTables
from psc.errors import GrammarError
from psc.support.limits import limit

MAX_LR_STATES = limit("verified_lr_states")
"""The windows of two symbols grow with the square of this, for every terminal."""


def state_label(state: int) -> int:
    """The label of an LR state."""
    return state + 1


def bottom_label(lr: LrTables) -> int:
    """The label of ⊥."""
    return int(lr.n_lr_states) + 1


def check_size(lr: LrTables) -> None:
    """Raises :class:`GrammarError` (a ValueError) for a table too large for this construction."""
    if lr.n_lr_states > MAX_LR_STATES:
        raise GrammarError(
            f"the paper's construction is done for at most {MAX_LR_STATES} LR states, and this grammar has {lr.n_lr_states}; "
            "take a smaller grammar, or a part of this one"
        )


class Pda:
    """The push-down automaton of one terminal; symbols are labels, stacks are tuples of them, top first."""

    def __init__(self, lr: LrTables, terminal: int) -> None:
        """Raises :class:`GrammarError` if the table is too large, ValueError if it has no such terminal."""
        check_size(lr)
        if not 0 <= terminal < lr.n_terminals:
            raise ValueError(f"terminal {terminal} is not one of 0 .. {lr.n_terminals - 1}")
        self.terminal = terminal
        self.n_states = int(lr.n_lr_states)
        self.bottom = bottom_label(lr)
        self.final = frozenset([state_label(lr.end_state)])
        """Symbols with which the text is accepted: the end has been shifted."""
        offsets, actions = lr.action_offsets.tolist(), lr.actions.tolist()
        self._n_nonterminals = int(lr.n_nonterminals)
        self._gotos: list[int] = lr.gotos.tolist()
        self._lhs: list[int] = lr.production_lhs.tolist()
        self._length: list[int] = np.diff(lr.rhs_offsets).tolist()
        self._cells: list[list[int]] = []
        self._waiting: set[int] = set()
        for state in range(self.n_states):
            row = state * int(lr.n_terminals)
            cell = row + terminal
            self._cells.append(actions[offsets[cell] : offsets[cell + 1]])
            if offsets[row] < offsets[row + lr.n_terminals]:
                self._waiting.add(state_label(state))

    @property
    def states(self) -> range:
        """The labels of the LR states."""
        return range(1, self.n_states + 1)

    @property
    def tops(self) -> Iterator[int]:
        """What can be on top when transitions without input begin: ``s`` and ``[s, a]``."""
        yield from self.states
        yield from (self._noted(state) for state in range(self.n_states) if self._cells[state])

    def read(self, top: int) -> int | None:
        """The top after reading the terminal; None where there is no transition. It is the same whatever lies below."""
        if top not in self.states or not self._cells[top - 1]:
            return None
        return self._noted(top - 1)

    def is_stable(self, top: int) -> bool:
        """Whether the automaton waits for some terminal, of all there are, with this on top."""
        return top in self._waiting

    def epsilon(self, top: int, below: int) -> list[tuple[int, ...]]:
        """What the two topmost symbols can become without input; one thing, unless a cell holds several actions."""
        kind = top - self.bottom - 1
        if kind < 0:
            return []
        if kind >= self.n_states:
            pops, nonterminal = divmod(kind - self.n_states, self._n_nonterminals)
            if below == self.bottom:
                return []
            if pops > 0:
                return [(self._popping(pops - 1, nonterminal),)]
            return [(to, below) for to in self._after_goto(below - 1, nonterminal)]
        outcomes: list[tuple[int, ...]] = []
        for action in self._cells[kind]:
            state = state_label(kind)
            if action % 2 == 0:
                outcomes.append((state_label(action // 2), state, below))
                continue
            length, lhs = self._length[action // 2], self._lhs[action // 2]
            if length == 0:
                outcomes.extend((to, state, below) for to in self._after_goto(kind, lhs))
            else:
                outcomes.append((self._popping(length - 1, lhs), below))
        return outcomes

    def _noted(self, state: int) -> int:
        return self.bottom + 1 + state

    def _popping(self, pops: int, nonterminal: int) -> int:
        return self.bottom + 1 + self.n_states + pops * self._n_nonterminals + nonterminal

    def _after_goto(self, state: int, nonterminal: int) -> list[int]:
        to = self._gotos[state * self._n_nonterminals + nonterminal]
        return [self._noted(to)] if to >= 0 else []
