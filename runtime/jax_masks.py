"""Mask rows in JAX arrays, on whatever device JAX computes, and logits under them: `numpy_masks` by the same names.

The idea: JAX arrays do not change, so what masks in place elsewhere returns new logits here; XLA writes over the old ones where it
may, within `jax.jit`. All functions can be traced. The table's rows are replaced by a step that meets new ones (the old array is
donated): take ``MaskTable.rows`` anew after each step.

Tokens are drawn by `jax.random`, so a seed draws others than in `numpy_masks` and `cupy_masks`, which agree.

Cost: `MaskTable.step` is native but for the copy of the ids to the device; a new row is sent whole. Masks are expanded to a boolean
a logit, which XLA fuses into what uses them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psc._core import write_mask_rows
from psc.errors import BitmaskError, MissingExtraError
from psc.runtime import mask_table
from psc.runtime.mask_arguments import (
    WORD_BITS,
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


class MaskTable(mask_table.MaskTable[Step]):
    """The mask rows in use, of all grammars of a vocabulary, on a device of JAX's. Not for several threads at once."""

    def __init__(
        self,
        tokenizer_info: VocabularyName,
        *,
        max_bytes: int = 256 << 20,
        max_batch: int = 1024,
        n_buffers: int = 3,
        device: Any = None,
    ) -> None:
        """An empty table.

        Args:
            tokenizer_info: the vocabulary; for a table that follows, an update of its leader does.
            max_bytes: size of the table, which is allocated now.
            max_batch: sequences in a step at most.
            n_buffers: for the interface's sake: every step has ids of its own.
            device: a device or sharding of JAX's; its default one.

        Raises:
            MissingExtraError: JAX is not installed.
            BitmaskError: ``max_bytes`` does not hold ``max_batch`` rows.
        """
        jax = _jax()
        self._slots = RowSlots(tokenizer_info, max_bytes, max_batch, n_buffers)
        self._device = device
        self.rows: Any = jax.device_put(jax.numpy.zeros((self._slots.n_slots, self._slots.n_words), np.int32), device)
        """int32 of shape (n_slots, n_words); another array after a step with new rows."""

    def _begin(self, n: int, stream: object, into: object) -> tuple[NDArray[np.int32], None]:
        if into is not None:
            raise BitmaskError("into=: JAX's arrays cannot be written to; take the ids from the step")
        return np.full(n, -1, np.int32), None

    def _finish(self, n: int, ids: NDArray[np.int32], refused: list[int], writes: RowWrites | None, target: None) -> Step:
        if writes is not None:
            # As many as a power of two, so that few programs are compiled; those too many go to a slot that is not there.
            n_rows = len(writes)
            slots = np.full(1 << (n_rows - 1).bit_length(), self.n_slots, np.int32)
            slots[:n_rows] = writes.writes[::4]
            numbered = writes.writes.copy()
            numbered[::4] = np.arange(n_rows)
            made = np.zeros((len(slots), self._slots.n_words), np.int32)
            write_mask_rows(made, numbered, writes.pool, self._slots.vocab_size)
            self.rows = _programs()["write"](self.rows, slots, made)
        # A copy: on a CPU JAX may use memory that it is given.
        return Step(_jax().device_put(ids.copy(), self._device), refused, self._slots, ids, writes)


def apply_rows(
    logits: Any, table_rows: Any, ids: Any, *, rows: Any = None, vocab_size: int | None = None, stream: object = None
) -> Any:
    """The logits, minus infinity where a mask row does not allow the token: a new array. Arguments as ``numpy_masks.apply_rows``.

    Ids and rows that are arrays of JAX's are not looked at; an id that is in no table allows nothing.

    Raises:
        BitmaskError: a dtype or shape does not fit, or an id or row that is not JAX's is out of range.
    """
    float_format(logits.dtype)
    check_dimensions(logits.ndim, "logits")
    matrix = logits if logits.ndim == 2 else logits[None]
    n_rows, width = matrix.shape
    chosen = rows if rows is None or _is_jax(rows) else checked_rows(rows, n_rows)
    listed = ids if _is_jax(ids) else checked_ids(ids, table_rows.shape[0])
    check_counts(listed.shape[0], n_rows, None if chosen is None else chosen.shape[0])
    end = masked_width(width, table_rows.shape[1], vocab_size)
    masked = _programs()["mask"](matrix if chosen is None else matrix[chosen], table_rows, listed, end)
    if chosen is not None:
        masked = matrix.at[chosen].set(masked)
    return masked if logits.ndim == 2 else masked[0]


def apply_bitmask(logits: Any, bitmask: Any, *, rows: Any = None, vocab_size: int | None = None, stream: object = None) -> Any:
    """As ``apply_rows``, with a mask row for each row of logits: ``bitmask`` is int32 of shape (batch, n_words)."""
    masks = bitmask if bitmask.ndim == 2 else bitmask[None]
    n_rows = logits.shape[0] if logits.ndim == 2 else 1
    if rows is None and len(masks) != n_rows:
        raise BitmaskError(f"{n_rows} rows of logits and {len(masks)} of bitmask; without rows= they must be equally many")
    if rows is None:
        return apply_rows(logits, masks, np.arange(n_rows), vocab_size=vocab_size)
    chosen = rows if _is_jax(rows) else checked_rows(rows, min(n_rows, len(masks)))
    return apply_rows(logits, masks, chosen, rows=chosen, vocab_size=vocab_size)


def union_rows(table_rows: Any, ids: Any, *, stream: object = None) -> Any:
    """The union of k mask rows for each sequence: int32 of shape (n, n_words), where ``ids`` has shape (n, k); -1 adds nothing."""
    return _programs()["union"](table_rows, ids if _is_jax(ids) else checked_ids(ids, table_rows.shape[0], ndim=2))


def masked_argmax(logits: Any, table_rows: Any, ids: Any, *, stream: object = None) -> Any:
    """The largest logit that the mask row allows, for each row of logits: int32 of shape (batch,); -1 where nothing is allowed.

    NaN counts as minus infinity. Raises BitmaskError as ``apply_rows``.
    """
    return _programs()["argmax"](*_choice(logits, table_rows, ids))


def masked_sample(
    logits: Any, table_rows: Any, ids: Any, *, temperature: float = 1.0, seed: int, step: int, stream: object = None
) -> Any:
    """A token drawn from the softmax of logits / temperature over what the mask row allows: int32 of shape (batch,).

    ``seed`` and ``step`` are below 2**63. Raises BitmaskError as ``apply_rows``, or for a temperature that is not positive.
    """
    check_seeds(temperature, seed, step)
    random = _jax().random
    key = random.fold_in(random.fold_in(random.key(seed & 0xFFFF_FFFF), step & 0xFFFF_FFFF), step >> 32 ^ seed >> 32)
    return _programs()["sample"](*_choice(logits, table_rows, ids), temperature, key)


def _choice(logits: Any, table_rows: Any, ids: Any) -> tuple[Any, Any, Any]:
    float_format(logits.dtype, at_most=4)
    check_dimensions(logits.ndim, "logits")
    matrix = logits if logits.ndim == 2 else logits[None]
    listed = ids if _is_jax(ids) else checked_ids(ids, table_rows.shape[0])
    check_counts(listed.shape[0], matrix.shape[0], None)
    return matrix, table_rows, listed


def _is_jax(array: Any) -> bool:
    return isinstance(array, _jax().Array)


@cache
def _jax() -> Any:
    try:
        import jax
    except ImportError as e:
        raise MissingExtraError("masks in JAX arrays need JAX, which is not installed: pip install jax") from e
    return jax


@cache
def _programs() -> dict[str, Any]:
    """What is computed, compiled for each shape when first used."""
    jax = _jax()
    jnp = jax.numpy

    def allowed(table: Any, ids: Any, width: int) -> Any:
        n_slots, n_words = table.shape
        bits = (table[jnp.clip(ids, 0, n_slots - 1)][:, :, None] >> jnp.arange(WORD_BITS, dtype=jnp.int32)) & 1 != 0
        bits = bits.reshape(len(ids), n_words * WORD_BITS)[:, :width]
        bits = jnp.pad(bits, ((0, 0), (0, width - bits.shape[1])))
        known = (ids >= 0) & (ids < n_slots)
        return (bits & known[:, None]) | (ids == -1)[:, None]

    def mask(logits: Any, table: Any, ids: Any, end: int) -> Any:
        beyond = jnp.arange(logits.shape[1]) >= end
        return jnp.where(allowed(table, ids, logits.shape[1]) | beyond, logits, -jnp.inf).astype(logits.dtype)

    def union(table: Any, ids: Any) -> Any:
        known = (ids >= 0) & (ids < table.shape[0])
        rows = jnp.where(known[:, :, None], table[jnp.clip(ids, 0, table.shape[0] - 1)], 0)
        return jax.lax.reduce(rows, np.int32(0), jax.lax.bitwise_or, (1,))

    def best(scores: Any, may: Any) -> Any:
        scores = jnp.where(jnp.isnan(scores), -jnp.inf, scores)
        # Where all that is allowed is minus infinity, the first of that.
        first = may.argmax(axis=1)
        top = jnp.where(may, scores, -jnp.inf)
        found = jnp.where(jnp.isneginf(top.max(axis=1)), first, top.argmax(axis=1))
        return jnp.where(may.any(axis=1), found, -1).astype(jnp.int32)

    def argmax(logits: Any, table: Any, ids: Any) -> Any:
        return best(logits.astype(jnp.float32), allowed(table, ids, logits.shape[1]))

    def sample(logits: Any, table: Any, ids: Any, temperature: Any, key: Any) -> Any:
        noise = jax.random.gumbel(key, logits.shape, jnp.float32)
        return best(logits.astype(jnp.float32) / temperature + noise, allowed(table, ids, logits.shape[1]))

    def write(table: Any, slots: Any, rows: Any) -> Any:
        return table.at[slots].set(rows, mode="drop")

    return {
        "mask": jax.jit(mask, static_argnums=3),
        "union": jax.jit(union),
        "argmax": jax.jit(argmax),
        "sample": jax.jit(sample),
        "write": jax.jit(write, donate_argnums=0),
    }
