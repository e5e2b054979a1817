"""The LR table that the construction is done over: the compiler's own, or that of an artifact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from psc.artifacts.format import SCALARS

Ints = npt.NDArray[np.int32]


class Table(Protocol):
    """What is read of an LR table; `psc._core.LrTables` is one. The end of the text is the last terminal. Equal to itself only."""

    def __hash__(self) -> int: ...

    @property
    def n_states(self) -> int: ...
    @property
    def n_terminals(self) -> int: ...
    @property
    def n_nonterminals(self) -> int: ...
    @property
    def end_state(self) -> int:
        """The state after the end of the text."""
        ...

    @property
    def action_offsets(self) -> Ints:
        """(states * terminals + 1,): where each cell's actions begin."""
        ...

    @property
    def actions(self) -> Ints:
        """Twice the state to shift to, or twice the production to reduce by and one."""
        ...

    @property
    def gotos(self) -> Ints:
        """(states * nonterminals,): a state, or -1."""
        ...

    @property
    def lhs(self) -> Ints:
        """(productions,)."""
        ...

    @property
    def length(self) -> Ints:
        """(productions,): the number of symbols on the right-hand side."""
        ...

    @property
    def accessing(self) -> Ints:
        """(states,): the symbol that leads into a state, nonterminals counted after terminals; -1 for the start."""
        ...


def with_scalars(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The sections of an artifact and its scalars, each by its name."""
    return {**arrays, **dict(zip(SCALARS, arrays["scalars"].tolist(), strict=True))}


@dataclass(frozen=True, eq=False)
class ArtifactTable:
    """The table of an artifact; see :class:`Table`."""

    n_states: int
    n_terminals: int
    n_nonterminals: int
    end_state: int
    action_offsets: Ints
    actions: Ints
    gotos: Ints
    lhs: Ints
    length: Ints
    accessing: Ints

    @classmethod
    def of(cls, arrays: Mapping[str, Any]) -> ArtifactTable:
        """Reads it from an artifact's sections and scalars. O(table)."""
        n_states, n_terminals = int(arrays["n_lr_states"]), int(arrays["n_terminals"])
        n_nonterminals = int(arrays["n_nonterminals"])
        offsets, actions = arrays["action_offsets"], arrays["actions"]
        gotos = np.asarray(arrays["gotos"], np.int32)
        accessing = np.full(n_states, -1, np.int32)
        terminal = np.repeat(np.arange(n_states * n_terminals) % n_terminals, np.diff(offsets))
        shifts = actions % 2 == 0
        accessing[actions[shifts] // 2] = terminal[shifts]
        led = gotos >= 0
        accessing[gotos[led]] = n_terminals + np.flatnonzero(led) % n_nonterminals
        return cls(
            n_states,
            n_terminals,
            n_nonterminals,
            int(arrays["end_state"]),
            offsets,
            actions,
            gotos,
            arrays["production_lhs"],
            arrays["production_length"],
            accessing,
        )
