"""Mask rows in NumPy arrays, and logits under them: what `cupy_masks` does on a GPU, on the CPU. The reference for it, and its
fallback.

The idea: a table holds the mask rows of all grammars of a vocabulary that are in use; a step of a batch gives each sequence the
number of its row. Masking, choosing and drawing then take numbers, not masks. Logits are NumPy arrays (of float16, float32,
float64, and ml_dtypes' bfloat16) or torch tensors on the CPU, which are not copied.

Cost: `MaskTable.step` some 0.15 us a sequence, and a few microseconds for a new row; `apply_rows` as
`psc.apply_token_bitmask_inplace`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psc._core import apply_mask_rows, write_mask_rows
from psc.errors import BitmaskError
from psc.runtime import mask_table
from psc.runtime.gumbel import gumbel, random_bits
from psc.runtime.mask_arguments import (
    FloatFormat,
    check_counts,
    check_dimensions,
    check_seeds,
    checked_ids,
    checked_rows,
    float_format,
    masked_width,
)
from psc.runtime.mask_table import MaskStep as Step
from psc.runtime.row_slots import MaskUpdate, RowSlots, RowWrites, VocabularyName

__all__ = ["MaskTable", "MaskUpdate", "Step", "apply_bitmask", "apply_rows", "masked_argmax", "masked_sample", "union_rows"]

Ids = NDArray[np.int32]
Rows = NDArray[np.int32]


class MaskTable(mask_table.MaskTable[Step]):
    """The mask rows in use, of all grammars of a vocabulary, in NumPy's arrays. Not for several threads at once."""

    def __init__(
        self,
        tokenizer_info: VocabularyName,
        *,
        max_bytes: int = 256 << 20,
        max_batch: int = 1024,
        n_buffers: int = 3,
        device: object = None,
    ) -> None:
        """An empty table.

        Args:
            tokenizer_info: the vocabulary; for a table that follows, an update of its leader does.
            max_bytes: size of the table, which never has more than a million rows. Rows that were not used lately make room when it
                is full.
            max_batch: sequences in a step at most; each may need a row of its own.
            n_buffers: how many steps a step's ids stay.
            device: None or "cpu".

        Raises:
            BitmaskError: ``max_bytes`` does not hold ``max_batch`` rows, or the device is another.

        Cost: none until rows are written; memory is taken by what is used.
        """
        if device not in (None, "cpu"):
            raise BitmaskError(f"device={device!r}: this table is NumPy's; psc.runtime.cupy_masks has tables on GPUs")
        self._slots = RowSlots(tokenizer_info, max_bytes, max_batch, n_buffers)
        self.rows: Rows = np.zeros((self._slots.n_slots, self._slots.n_words), np.int32)
        """int32 of shape (n_slots, n_words): the row with id i is ``rows[i]``."""
        self.fixed_ids: Ids = np.full(max_batch, -1, np.int32)
        """For ``step(into=...)``: always the same memory."""
        self._buffers = np.full((n_buffers, max_batch), -1, np.int32)
        self._turn = 0

    def _begin(self, n: int, stream: object, into: Any) -> tuple[Ids, bool]:
        """Ids that the table has, and that they are; or ``into``."""
        if into is None:
            return self._buffers[self._turn], True
        if not (isinstance(into, np.ndarray) and into.dtype == np.int32 and into.ndim == 1 and into.flags.c_contiguous):
            raise BitmaskError("into= must be a contiguous int32 array of one dimension")
        if len(into) < n:
            raise BitmaskError(f"into= has room for {len(into)} ids, and there are {n} sequences")
        return into, False

    def _finish(self, n: int, ids: Ids, refused: list[int], writes: RowWrites | None, target: bool) -> Step:
        if writes is not None:
            write_mask_rows(self.rows, writes.writes, writes.pool, self._slots.vocab_size)
        if target:
            self._turn = (self._turn + 1) % len(self._buffers)
        else:
            ids[n:] = -1
        found = ids[:n]
        return Step(found, refused, self._slots, found, writes)


def apply_rows(
    logits: Any,
    table_rows: Any,
    ids: Any,
    *,
    rows: Iterable[int] | None = None,
    vocab_size: int | None = None,
    stream: object = None,
) -> None:
    """Sets the logits of tokens that a mask row does not allow to minus infinity, in place; the others are not touched.

    Args:
        logits: (batch, width) or (width,), floats, any strides; a NumPy array, or a torch tensor on the CPU.
        table_rows: ``MaskTable.rows``: int32 of shape (n_slots, n_words).
        ids: the mask row for each row of logits; -1 leaves it alone.
        rows: which rows of the logits the ids are for; by default all, in order.
        vocab_size: mask only this many logits. By default all; those that no mask row covers are padding, and not allowed.
        stream: for the interface's sake.

    Raises:
        BitmaskError: a dtype, shape or device does not fit, or an id or row is out of range; nothing has been changed.
    """
    bits, form = _bits_of(logits)
    table = _table_of(table_rows)
    width = masked_width(bits.shape[1], table.shape[1], vocab_size)
    known = checked_ids(ids, table.shape[0])
    chosen = None if rows is None else checked_rows(rows, bits.shape[0])
    check_counts(len(known), bits.shape[0], None if chosen is None else len(chosen))
    apply_mask_rows(bits, form.minus_infinity, table, known, width, chosen)


def apply_bitmask(
    logits: Any, bitmask: Any, *, rows: Iterable[int] | None = None, vocab_size: int | None = None, stream: object = None
) -> None:
    """As ``apply_rows``, with a mask row for each row of logits: ``bitmask`` is int32 of shape (batch, n_words).

    ``rows`` are rows of both. Raises BitmaskError as ``apply_rows`` does.
    """
    bits, _ = _bits_of(logits)
    table = _table_of(bitmask)
    if rows is None:
        if len(table) != len(bits):
            raise BitmaskError(f"{len(bits)} rows of logits and {len(table)} of bitmask; without rows= they must be equally many")
        chosen = np.arange(len(bits))
    else:
        chosen = checked_rows(rows, min(len(bits), len(table)))
    apply_rows(logits, table, chosen, rows=chosen, vocab_size=vocab_size)


def union_rows(table_rows: Any, ids: Any, out: Rows | None = None, *, stream: object = None) -> Rows:
    """The union of k mask rows for each sequence: int32 of shape (n, n_words), where ``ids`` has shape (n, k).

    -1 adds nothing. ``out`` is where to write, if given. Raises BitmaskError when an id is out of range.
    """
    table = _table_of(table_rows)
    known = checked_ids(ids, table.shape[0], ndim=2)
    if out is None:
        out = np.empty((len(known), table.shape[1]), np.int32)
    elif not (isinstance(out, np.ndarray) and out.dtype == np.int32 and out.shape == (len(known), table.shape[1])):
        raise BitmaskError(f"out= must be int32 of shape {(len(known), table.shape[1])}")
    for row, some in zip(out, known, strict=True):
        np.bitwise_or.reduce(table[some[some >= 0]], axis=0, out=row)
    return out


def masked_argmax(logits: Any, table_rows: Any, ids: Any, *, out: Ids | None = None, stream: object = None) -> Ids:
    """The largest logit that the mask row allows, for each row of logits; the first of equals. int32 of shape (batch,).

    Where the id is -1 every logit is allowed; NaN is less than any number; -1 is the answer where nothing is allowed. The logits
    are float16, bfloat16 or float32, and are not changed. Raises BitmaskError as ``apply_rows`` does.
    """
    bits, form, allowed = _choice(logits, table_rows, ids)
    return _best(allowed, out, lambda k, columns: _order(_upper(bits[k, columns], form), form.infinity))


def masked_sample(
    logits: Any,
    table_rows: Any,
    ids: Any,
    *,
    temperature: float = 1.0,
    seed: int,
    step: int,
    out: Ids | None = None,
    stream: object = None,
) -> Ids:
    """A token drawn from the softmax of logits / temperature over what the mask row allows. int32 of shape (batch,).

    The same seed, step and row of the batch draw the same token, on a CPU and on a GPU; each step of a generation needs another
    ``step``. The rest is as in ``masked_argmax``.

    Raises:
        BitmaskError: as ``apply_rows``; or the temperature is not positive, or ``seed`` or ``step`` does not fit 64 bits.
    """
    check_seeds(temperature, seed, step)
    bits, form, allowed = _choice(logits, table_rows, ids)
    inverse = np.float32(1) / np.float32(temperature)

    def scores(k: int, columns: NDArray[np.int64]) -> NDArray[np.uint32]:
        with np.errstate(over="ignore", invalid="ignore"):
            drawn = _values(bits[k, columns], form) * inverse + gumbel(random_bits(columns, k, seed=seed, step=step))
        return _order(drawn.view(np.uint32), 0x7F80_0000)

    return _best(allowed, out, scores)


def _bits_of(logits: Any, at_most: int = 8) -> tuple[NDArray[Any], FloatFormat]:
    """Logits as the integers that they are stored as: (batch, width), the same memory."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(logits, torch.Tensor):
        if logits.device.type != "cpu":
            raise BitmaskError(f"the logits are on {logits.device}; psc.runtime.cupy_masks is for tensors on a GPU")
        form = float_format(logits.dtype, at_most=at_most)
        array = logits.detach().view({2: torch.int16, 4: torch.int32, 8: torch.int64}[form.size]).numpy().view(form.bits)
    elif isinstance(logits, np.ndarray):
        form = float_format(logits.dtype, at_most=at_most)
        if not logits.dtype.isnative:
            raise BitmaskError(f"logits are {logits.dtype.str}, which is not this machine's byte order")
        array = logits.view(form.bits)
    else:
        raise BitmaskError(f"logits must be a NumPy array or a torch tensor, not {type(logits).__name__}")
    check_dimensions(array.ndim, "logits")
    if not array.flags.writeable and at_most == 8:
        raise BitmaskError("the logits are read-only")
    return (array if array.ndim == 2 else array[None]), form


def _table_of(rows: Any) -> Rows:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(rows, torch.Tensor) and rows.device.type == "cpu":
        rows = rows.numpy()
    if not isinstance(rows, np.ndarray) or rows.dtype != np.int32:
        raise BitmaskError("mask rows must be int32, an array of NumPy's or a torch tensor on the CPU")
    check_dimensions(rows.ndim, "mask rows")
    return np.ascontiguousarray(rows if rows.ndim == 2 else rows[None])


def _choice(logits: Any, table_rows: Any, ids: Any) -> tuple[NDArray[Any], FloatFormat, list[NDArray[np.int64]]]:
    """The bits of the logits, and the columns that are allowed in each row."""
    bits, form = _bits_of(logits, at_most=4)
    table = _table_of(table_rows)
    width = masked_width(bits.shape[1], table.shape[1], None)
    known = checked_ids(ids, table.shape[0])
    check_counts(len(known), len(bits), None)

    def columns(i: int) -> NDArray[np.int64]:
        if i < 0:
            return np.arange(width)
        return np.flatnonzero(np.unpackbits(table[i].view(np.uint8), bitorder="little")[:width])

    return bits, form, [columns(int(i)) for i in known]


def _best(allowed: list[NDArray[np.int64]], out: Ids | None, scores: Any) -> Ids:
    if out is None:
        out = np.empty(len(allowed), np.int32)
    elif not (isinstance(out, np.ndarray) and out.dtype == np.int32 and out.shape == (len(allowed),)):
        raise BitmaskError(f"out= must be int32 of shape {(len(allowed),)}")
    for k, columns in enumerate(allowed):
        out[k] = columns[scores(k, columns).argmax()] if len(columns) else -1
    return out


def _order(bits: NDArray[np.uint32], infinity: int) -> NDArray[np.uint32]:
    """The bits of floats as integers of the same order: NaN least, +0 and -0 equal."""
    sign = np.uint32(0x8000_0000)
    negative = (bits & sign) != 0
    order = np.where(bits == sign, sign, np.where(negative, ~bits, bits | sign))
    return np.where((bits & ~sign) > np.uint32(infinity), np.uint32(0), order)


def _values(bits: NDArray[Any], form: FloatFormat) -> NDArray[np.float32]:
    if form.name == "float16":
        return bits.view(np.float16).astype(np.float32)
    return _upper(bits, form).view(np.float32)


def _upper(bits: NDArray[Any], form: FloatFormat) -> NDArray[np.uint32]:
    """As the upper bits of 32."""
    return np.left_shift(bits.astype(np.uint32), np.uint32(32 - 8 * form.size))
