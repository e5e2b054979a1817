"""What the functions on masks check before they begin, and how logits are stored: the same for every array library.

Logits are moved as integers of their size and minus infinity is a bit pattern, so that half precision needs no arithmetic.

Cost: microseconds; nothing here looks at logits.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psc.errors import BitmaskError
from psc.support.limits import limit

WORD_BITS = 32
MAX_WIDTH = limit("vocabulary_size")
"""Columns of logits that are taken; vocabularies are smaller, and 32-bit arithmetic on columns stays far from its end."""


@dataclass(frozen=True)
class FloatFormat:
    """How a float of some dtype is stored."""

    name: str
    size: int
    minus_infinity: int
    """Its bits."""

    @property
    def infinity(self) -> int:
        """Its bits, as the upper half of 32 where it has 16."""
        return (self.minus_infinity << (32 - 8 * self.size)) & 0x7FFFFFFF

    @property
    def bits(self) -> np.dtype[Any]:
        """The unsigned integer of its size."""
        return np.dtype(f"u{self.size}")


FLOATS = {
    f.name: f
    for f in (
        FloatFormat("float16", 2, 0xFC00),
        FloatFormat("bfloat16", 2, 0xFF80),
        FloatFormat("float32", 4, 0xFF80_0000),
        FloatFormat("float64", 8, 0xFFF0_0000_0000_0000),
    )
}


def float_format(dtype: Any, *, at_most: int = 8) -> FloatFormat:
    """The format of a dtype of any library, by its name. Raises BitmaskError for one that is no float or has more bytes."""
    name = str(dtype).removeprefix("torch.")
    found = FLOATS.get(name)
    if found is None or found.size > at_most:
        raise BitmaskError(f"logits are {name}; {', '.join(f.name for f in FLOATS.values() if f.size <= at_most)} are supported")
    return found


def check_dimensions(n: int, what: str) -> None:
    """Raises BitmaskError unless there is one row, or a batch of rows."""
    if n not in (1, 2):
        raise BitmaskError(f"the {what} have {n} dimensions; one row, or a batch of rows, was expected")


def masked_width(logits_width: int, n_words: int, vocab_size: int | None) -> int:
    """How many columns are masked: all of them, or the first ``vocab_size``. Raises BitmaskError when there are fewer."""
    if logits_width > MAX_WIDTH:
        raise BitmaskError(f"logits of {logits_width} columns; at most {MAX_WIDTH} are supported")
    if vocab_size is None:
        return logits_width
    if not 0 <= index(vocab_size) <= min(logits_width, n_words * WORD_BITS):
        raise BitmaskError(
            f"vocab_size={vocab_size}: the logits are {logits_width} wide and the masks cover {n_words * WORD_BITS} tokens"
        )
    return index(vocab_size)


def checked_ids(ids: Any, n_slots: int, ndim: int = 1) -> NDArray[np.int32]:
    """Ids of mask rows that are on the CPU, as int32. Raises BitmaskError when one is not in the table, or they are no integers."""
    array = np.asarray(ids)
    if array.dtype.kind not in "iu" and array.size:
        raise BitmaskError(f"ids of mask rows are {array.dtype}; they must be integers")
    if array.ndim != ndim:
        raise BitmaskError(f"ids of mask rows have {array.ndim} dimensions, not {ndim}")
    outside = array[(array < -1) | (array >= n_slots)] if array.size else array
    if outside.size:
        raise BitmaskError(f"there is no mask row {outside.flat[0]}: the table has rows 0 to {n_slots - 1}, and -1 is for none")
    return np.ascontiguousarray(array, dtype=np.int32)


def checked_rows(rows: Any, n_rows: int, *, name: str = "rows") -> NDArray[np.int64]:
    """Numbers of rows of logits that are on the CPU, an argument called ``name``. Raises BitmaskError when there is no such row."""
    try:
        array = np.asarray(rows.tolist() if hasattr(rows, "tolist") else list(rows))
    except (TypeError, ValueError) as e:
        raise BitmaskError(f"{name}= must be a list of row numbers: {e}") from e
    if array.size and array.dtype.kind not in "iu":
        raise BitmaskError(f"{name}= are {array.dtype}; they must be integers")
    if array.ndim != 1:
        raise BitmaskError(f"{name}= has {array.ndim} dimensions; a list of row numbers was expected")
    outside = array[(array < 0) | (array >= n_rows)] if array.size else array
    if outside.size:
        raise BitmaskError(f"{name}=: there is no row {outside[0]}; logits and masks have rows 0 to {n_rows - 1}")
    return array.astype(np.int64)


def check_counts(n_ids: int, n_rows: int, n_chosen: int | None) -> None:
    """Raises BitmaskError unless there is an id for each row of logits, or for each that ``rows=`` lists."""
    if n_chosen is not None and n_ids != n_chosen:
        raise BitmaskError(f"{n_ids} ids of mask rows, but {n_chosen} rows listed")
    if n_chosen is None and n_ids != n_rows:
        raise BitmaskError(f"{n_ids} ids of mask rows for {n_rows} rows of logits; without rows= there must be one for each")


def check_seeds(temperature: float, seed: int, step: int) -> None:
    """Raises BitmaskError for a temperature that is none, or a seed or step that does not fit 64 bits."""
    if not (temperature > 0 and np.isfinite(np.float32(temperature)) and np.isfinite(np.float32(1) / np.float32(temperature))):
        raise BitmaskError(f"temperature={temperature}: it must be positive and finite; masked_argmax() is what 0 would mean")
    for name, value in (("seed", seed), ("step", step)):
        if not 0 <= index(value) < 1 << 64:
            raise BitmaskError(f"{name}={value} does not fit 64 bits")


def check_table_size(n_slots: int, row_bytes: int, max_bytes: int, max_batch: int, n_buffers: int) -> None:
    """Raises BitmaskError when a table cannot hold a row for each sequence of a batch, or a number makes no sense."""
    if max_batch < 1 or n_buffers < 1:
        raise BitmaskError(f"max_batch={max_batch} and n_buffers={n_buffers}: both must be positive")
    if n_slots < max_batch:
        raise BitmaskError(
            f"max_bytes={max_bytes} holds {n_slots} mask rows of {row_bytes} bytes, and a batch of max_batch={max_batch} may need "
            f"one each: give the table {max_batch * row_bytes} bytes, or make batches smaller"
        )


def check_batch(n: int, max_batch: int) -> None:
    """Raises BitmaskError for more ids than a table was made for."""
    if n > max_batch:
        raise BitmaskError(f"a step of {n} masks, but the table was made for max_batch={max_batch}")
