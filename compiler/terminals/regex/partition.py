"""The coarsest partition of the code points that a family of sets can tell apart.

A regex that names n sets distinguishes a few classes of characters at most. Its automaton is built over these classes,
and only afterwards over bytes. Surrogates, which UTF-8 cannot spell, and characters in none of the sets have no class.

Cost: O((n + log b) b) for n sets with b boundaries in total, in NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from psc.compiler.terminals.regex.codepoints import CODE_POINTS, EMPTY, FIRST_SURROGATE, LAST_SURROGATE, Bounds, contains

_FRAME = np.array([0, FIRST_SURROGATE, LAST_SURROGATE + 1, CODE_POINTS], dtype=np.int32)


@dataclass(frozen=True)
class Partition:
    """Disjoint classes, numbered by their first code point, and the classes that make up each set."""

    classes: tuple[Bounds, ...]
    members: tuple[frozenset[int], ...]


def without_surrogates(bounds: Bounds) -> Bounds:
    """`bounds` less the code points that UTF-8 cannot spell."""
    low, high = np.searchsorted(bounds, (FIRST_SURROGATE, LAST_SURROGATE + 2)).tolist()  # no boundary may stay on either edge
    if low == high and not low & 1:
        return bounds
    middle = [FIRST_SURROGATE] * (low & 1) + [LAST_SURROGATE + 1] * (high & 1)
    return np.concatenate([bounds[:low], np.array(middle, dtype=np.int32), bounds[high:]])


def partition(sets: Sequence[Bounds]) -> Partition:
    """The classes of characters that `sets` distinguish."""
    points = np.unique(np.concatenate([_FRAME, EMPTY, *sets]))[:-1]
    inside = [contains(bounds, points) for bounds in sets]
    signature = np.zeros(len(points), dtype=np.int64)
    covered = np.zeros(len(points), dtype=bool)
    for i, member in enumerate(inside):
        signature = signature * 2 + member
        covered |= member
        if i % 40 == 39:  # before the signature overflows
            signature = np.unique(signature, return_inverse=True)[1].reshape(-1)
    covered &= (points < FIRST_SURROGATE) | (points > LAST_SURROGATE)
    names, first, number = np.unique(signature[covered], return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(names), dtype=np.int64)
    rank[order] = np.arange(len(names))
    class_of = np.full(len(points) + 2, -1, dtype=np.int64)  # with a stranger at both ends
    class_of[1:-1][covered] = rank[number.reshape(-1)]
    ends = np.append(points, np.int32(CODE_POINTS))
    classes = tuple(ends[np.diff((class_of == c).astype(np.int8)) != 0] for c in range(len(names)))
    where = np.flatnonzero(covered)[first[order]]
    members = tuple(frozenset(np.flatnonzero(member[where]).tolist()) for member in inside)
    return Partition(classes, members)
