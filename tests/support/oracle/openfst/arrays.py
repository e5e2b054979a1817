"""Unweighted acceptors as arrays, and to and from OpenFst.

`pynini.Fst.add_arc` costs a Python call an arc; an automaton of Unicode's `\\w` has thousands. OpenFst's binary
`vector` format is, after its header, a plain sequence of 32-bit words, which NumPy writes in a few array operations.

Format (openfst, fst/vector-fst.h and fst/fst.h): header; then for each state its final weight (float32) and number of
arcs (int64); then for each arc input label, output label (int32), weight (float32), target (int32).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pynini

Ints = npt.NDArray[np.int64]

_MAGIC = 2125659606
_ONE = 0  # the bits of 0.0f, the tropical semiring's one
_ZERO = 0x7F800000  # the bits of infinity


@dataclass(frozen=True)
class Automaton:
    """An acceptor with start state 0.

    Attributes:
        final: bool, shape (states,).
        source, label, target: int64, shape (arcs,), in any order. Label 0 is epsilon in OpenFst.
    """

    final: npt.NDArray[np.bool_]
    source: Ints
    label: Ints
    target: Ints


def to_fst(automaton: Automaton) -> pynini.Fst:
    """The same automaton as an OpenFst acceptor, each state's arcs sorted by label. O(arcs log arcs)."""
    import pynini

    states, arcs = len(automaton.final), len(automaton.source)
    order = np.lexsort((automaton.label, automaton.source))
    source, label, target = (a[order] for a in (automaton.source, automaton.label, automaton.target))
    count = np.bincount(source, minlength=states)
    first_arc = np.cumsum(count) - count
    words = np.empty(3 * states + 4 * arcs, dtype="<i4")
    at_state = 3 * np.arange(states) + 4 * first_arc
    words[at_state] = np.where(automaton.final, _ONE, _ZERO)
    words[at_state + 1] = count
    words[at_state + 2] = 0
    at_arc = 3 * (source + 1) + 4 * np.arange(arcs)
    words[at_arc] = label
    words[at_arc + 1] = label
    words[at_arc + 2] = _ONE
    words[at_arc + 3] = target
    # version 2, no symbol tables, no properties claimed
    header = struct.pack("<i i6s i8s ii Q qqq", _MAGIC, 6, b"vector", 8, b"standard", 2, 0, 0, 0, states, arcs)
    return pynini.Fst.read_from_string(header + words.tobytes())


def from_fst(fst: pynini.Fst) -> Automaton:
    """The arrays of an OpenFst acceptor, renumbered so that the start state is 0."""
    data = fst.write_to_string()
    offset = 4
    for _ in range(2):  # type of automaton, type of arc
        offset += 4 + struct.unpack_from("<i", data, offset)[0]
    start, states, arcs = struct.unpack_from("<qqq", data, offset + 16)
    words = np.frombuffer(data, dtype="<i4", offset=offset + 40)
    if start < 0:
        nothing = np.zeros(0, dtype=np.int64)
        return Automaton(np.zeros(1, dtype=bool), nothing, nothing, nothing)
    states = fst.num_states()  # the header of a mutable automaton may leave the counts open
    at_state = np.empty(states + 1, dtype=np.int64)
    position = 0
    for state in range(states):
        at_state[state] = position
        position += 3 + 4 * int(words[position + 1])
    at_state[states] = position
    count = (np.diff(at_state) - 3) // 4
    arcs = int(count.sum())
    source = np.repeat(np.arange(states), count)
    at_arc = 3 * (source + 1) + 4 * np.arange(arcs)
    name = np.arange(states)
    name[0], name[start] = start, 0  # swap
    final = words[at_state[:-1]] != _ZERO
    return Automaton(final[name], name[source], words[at_arc].astype(np.int64), name[words[at_arc + 3]])
