"""OpenFst machines to and from NumPy arrays, by OpenFst's own binary vector format.

Adding or reading arcs one by one from Python costs about a microsecond each; the binary format is a header and an array of records,
which NumPy reads and writes at memory speed. Weights must be tropical or standard acceptors' 0 and infinity.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pynini

_ARC = np.dtype([("ilabel", "<i4"), ("olabel", "<i4"), ("weight", "<f4"), ("next", "<i4")])
_MAGIC = 2125659606


@dataclass(frozen=True)
class Arcs:
    """A machine as arrays. ``source``, ``ilabel``, ``olabel``, ``target``: int32, one entry per arc, sorted by source."""

    n_states: int
    start: int
    final: npt.NDArray[np.bool_]
    source: npt.NDArray[np.int32]
    ilabel: npt.NDArray[np.int32]
    olabel: npt.NDArray[np.int32]
    target: npt.NDArray[np.int32]


def read_arcs(fst: pynini.Fst) -> Arcs:
    """The arcs of a vector machine over the tropical semiring; weights are dropped."""
    data: bytes = fst.write_to_string()
    magic, at = struct.unpack_from("<ii", data)[0], 4
    if magic != _MAGIC:
        raise ValueError("not an OpenFst machine")
    strings = []
    for _ in range(2):  # fst type, arc type
        (length,) = struct.unpack_from("<i", data, at)
        strings.append(data[at + 4 : at + 4 + length].decode())
        at += 4 + length
    if strings[0] != "vector":
        raise ValueError(f"a {strings[0]} machine, not a vector one")
    _version, flags, _properties, start, n_states, _n_arcs = struct.unpack_from("<iiQqqq", data, at)
    at += struct.calcsize("<iiQqqq")
    if flags & 3:
        raise ValueError("the machine carries symbol tables; clear them first")
    final = np.zeros(n_states, np.bool_)
    counts = np.zeros(n_states, np.int64)
    chunks = []
    for state in range(n_states):
        weight, n = struct.unpack_from("<fq", data, at)
        at += 12
        final[state] = weight != float("inf")
        counts[state] = n
        chunks.append(data[at : at + 16 * n])
        at += 16 * n
    arcs = np.frombuffer(b"".join(chunks), _ARC)
    source = np.repeat(np.arange(n_states, dtype=np.int32), counts)
    return Arcs(n_states, start, final, source, arcs["ilabel"].copy(), arcs["olabel"].copy(), arcs["next"].copy())


def write_fst(arcs: Arcs) -> pynini.Fst:
    """The machine with these arcs, all weights one."""
    header = struct.pack("<i", _MAGIC)
    for text in (b"vector", b"standard"):
        header += struct.pack("<i", len(text)) + text
    properties = 0x3  # expanded, mutable; OpenFst computes the rest when it needs it
    header += struct.pack("<iiQqqq", 2, 0, properties, arcs.start, arcs.n_states, len(arcs.source))
    records = np.empty(len(arcs.source), _ARC)
    order = np.argsort(arcs.source, kind="stable")
    records["ilabel"], records["olabel"] = arcs.ilabel[order], arcs.olabel[order]
    records["weight"], records["next"] = 0.0, arcs.target[order]
    body = records.tobytes()
    ends = np.cumsum(np.bincount(arcs.source, minlength=arcs.n_states))
    parts, begin = [header], 0
    for state in range(arcs.n_states):
        end = int(ends[state])
        parts.append(struct.pack("<fq", 0.0 if arcs.final[state] else float("inf"), end - begin))
        parts.append(body[16 * begin : 16 * end])
        begin = end
    return pynini.Fst.read_from_string(b"".join(parts))
