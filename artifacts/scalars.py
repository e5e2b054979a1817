"""Numbers among the stored tables: an artifact keeps them in one section, ``scalars``, in the order in which they are declared.

They say how long other tables are. The core checks each length exactly when it loads the tables; `check_lengths` bounds them
before, when a table is still one byte an element in a file that came from anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from psc._core import stored_tables

if TYPE_CHECKING:
    from psc.artifacts.format import IntArray

SCALARS_SECTION = "scalars"
SCALARS = tuple(name for fields in stored_tables().values() for name, index, _, _ in fields if index == "One number")
"""Their names."""
_COUNT_OF = {
    "lexer state": "n_lexer_states",
    "byte class": "n_byte_classes",
    "terminal": "n_terminals",
    "nonterminal": "n_nonterminals",
    "LR state": "n_lr_states",
    "classifier state": "n_classifier_states",
    "token class": "n_classes",
}
"""The number of what a table can have an element for."""
_ONE_MORE = " and one more"


def _counted() -> dict[str, tuple[tuple[str, ...], int]]:
    """Per table whose length the numbers say, the numbers to multiply, and how many elements there are besides."""
    found = {}
    for name, index, _, _ in (field for fields in stored_tables().values() for field in fields):
        of = index.removeprefix("Per ").removesuffix(_ONE_MORE).split(" and ")
        if all(part in _COUNT_OF for part in of):
            found[name] = tuple([_COUNT_OF[part] for part in of]), int(index.endswith(_ONE_MORE))
    return found


_COUNTED = _counted()


def check_lengths(lengths: Mapping[str, int], scalars: IntArray) -> None:
    """Raises ValueError where a table is longer than the numbers allow. Sections that are no tables may have any length.

    Args:
        lengths: per section.
        scalars: the section of the numbers.
    """
    if len(scalars) != len(SCALARS):
        raise ValueError("table 'scalars' has the wrong length")
    numbers = dict(zip(SCALARS, scalars.tolist(), strict=True))
    for name, length in lengths.items():
        if name in _COUNTED:
            of, more = _COUNTED[name]
            if length > max(0, prod(numbers[number] for number in of)) + more:
                raise ValueError(f"table '{name}' has the wrong length")


def with_scalars(stored: Mapping[str, Any]) -> dict[str, IntArray]:
    """The sections of an artifact, from the stored tables by name: arrays and numbers, 0 where there is none."""
    arrays = {name: value for name, value in stored.items() if name not in SCALARS}
    return {**arrays, SCALARS_SECTION: np.array([stored.get(name, 0) for name in SCALARS], np.int32)}


def without_scalars(arrays: Mapping[str, IntArray]) -> dict[str, Any]:
    """The stored tables by name, from an artifact's sections. Raises ValueError, or KeyError for a section that is not there."""
    scalars = arrays[SCALARS_SECTION]
    if len(scalars) != len(SCALARS):
        raise ValueError("table 'scalars' has the wrong length")
    numbers = dict(zip(SCALARS, scalars.tolist(), strict=True))
    return {**{name: array for name, array in arrays.items() if name != SCALARS_SECTION}, **numbers}


def is_closed(arrays: Mapping[str, Any]) -> bool:
    """Whether an artifact has everything, with a classifier that is closed."""
    return has_lexer(arrays) and not is_partly_closed(arrays)


def is_partly_closed(arrays: Mapping[str, Any]) -> bool:
    """Whether an artifact has everything but the classifier, which is built just in time of the sequences that it has instead."""
    return "sequence_before" in arrays


def has_lexer(arrays: Mapping[str, Any]) -> bool:
    """Whether an artifact is closed or partly closed; else it has the tables that all is built of just in time."""
    return "arc_offsets" in arrays
