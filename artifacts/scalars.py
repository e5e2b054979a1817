"""Numbers among the stored tables: an artifact keeps them in one section, ``scalars``, in the order in which they are declared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psc._core import stored_tables
from psc.artifacts.format import IntArray

SCALARS = tuple(name for fields in stored_tables().values() for name, index, _, _ in fields if index == "One number")
"""Their names."""


def with_scalars(stored: Mapping[str, Any]) -> dict[str, IntArray]:
    """The sections of an artifact, from the stored tables by name: arrays and numbers, 0 where there is none."""
    arrays = {name: value for name, value in stored.items() if name not in SCALARS}
    return {**arrays, "scalars": np.array([stored.get(name, 0) for name in SCALARS], np.int32)}


def without_scalars(arrays: Mapping[str, IntArray]) -> dict[str, Any]:
    """The stored tables by name, from an artifact's sections. Raises ValueError, or KeyError for a section that is not there."""
    scalars = arrays["scalars"]
    if len(scalars) != len(SCALARS):
        raise ValueError("table 'scalars' has the wrong length")
    numbers = dict(zip(SCALARS, scalars.tolist(), strict=True))
    return {**{name: array for name, array in arrays.items() if name != "scalars"}, **numbers}


def is_closed(arrays: Mapping[str, Any]) -> bool:
    """Whether an artifact has a classifier, which is closed; else it has the tables that one is built of just in time."""
    return "arc_offsets" in arrays
