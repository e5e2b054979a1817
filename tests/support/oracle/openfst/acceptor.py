"""Running a byte acceptor in plain Python: slow and obvious, for tests and for looking at single terminals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .arrays import from_fst

if TYPE_CHECKING:
    import pynini


class Acceptor:
    """A deterministic acceptor over byte + 1, ready to be run. O(arcs) to make, O(1) a byte."""

    def __init__(self, fst: pynini.Fst) -> None:
        automaton = from_fst(fst)
        arcs = (automaton.source.tolist(), automaton.label.tolist())
        self.steps: dict[tuple[int, int], int] = dict(zip(zip(*arcs, strict=True), automaton.target.tolist(), strict=True))
        if len(self.steps) != len(automaton.source):
            raise ValueError("the automaton is not deterministic")
        self.final = frozenset(np.flatnonzero(automaton.final).tolist())

    def accepts(self, text: bytes) -> bool:
        """Whether `text` is in the language."""
        state = 0
        for byte in text:
            following = self.steps.get((state, byte + 1))
            if following is None:
                return False
            state = following
        return state in self.final
