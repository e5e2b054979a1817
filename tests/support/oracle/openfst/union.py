"""The byte automaton of all terminals by OpenFst, to test the native one against.

Each terminal's automaton gets an end marker of its own, the union of all is determinized and minimized by OpenFst, and a state's
end markers are the terminals that match there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pynini

from .arrays import from_fst

_FIRST_MARKER = 257  # labels 1..256 are bytes


def union_automaton(languages: Sequence[pynini.Fst]) -> tuple[npt.NDArray[np.int32], tuple[frozenset[int], ...]]:
    """One automaton of several.

    Args:
        languages: acceptors over byte + 1.

    Returns:
        (states, 256) next state or -1, and per state the languages that a text leading there is in. Numbered breadth-first from
        state 0, into which no arc leads.
    """
    marked = [language + pynini.accep(f"[{_FIRST_MARKER + i}]") for i, language in enumerate(languages)]
    union = pynini.union(*marked) if len(marked) > 1 else marked[0]
    union.rmepsilon()
    machine = pynini.determinize(union)
    machine.minimize()
    arcs = from_fst(machine)
    n = len(arcs.final)
    is_byte = arcs.label < _FIRST_MARKER
    full = np.full((n, 256), -1, np.int32)
    full[arcs.source[is_byte], arcs.label[is_byte] - 1] = arcs.target[is_byte]
    matches: list[set[int]] = [set() for _ in range(n)]
    for state, label in zip(arcs.source[~is_byte].tolist(), arcs.label[~is_byte].tolist(), strict=True):
        matches[state].add(label - _FIRST_MARKER)
    # A copy of the start makes sure that nothing leads into it.
    order: dict[int, int] = {}
    queue = deque([0])
    sources = [0]
    while queue:
        for target in full[queue.popleft()].tolist():
            if target >= 0 and target not in order:
                order[target] = len(sources)
                sources.append(target)
                queue.append(target)
    renumber = np.full(n + 1, -1, np.int32)
    for old, new in order.items():
        renumber[old] = new
    return renumber[full[sources]], tuple(frozenset(matches[s]) for s in sources)  # -1 picks the last entry, which stays -1
