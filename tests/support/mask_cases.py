"""Mask rows and logits for tests, and what masking them means, spelled out slowly."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

DTYPES: dict[str, Any] = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float32": np.float32,
    "float64": np.float64,
}
SHORT_DTYPES = ("float16", "bfloat16", "float32")


def random_table(rng: np.random.Generator, n_slots: int, n_words: int) -> NDArray[np.int32]:
    """Rows of all kinds: everything, nothing, runs of both, noise."""
    bits = rng.random((n_slots, n_words * 32)) < rng.choice([0.0, 0.02, 0.5, 0.98, 1.0], (n_slots, 1))
    runs = np.repeat(rng.random((n_slots, -(-n_words * 32 // 24))) < 0.5, 24, axis=1)[:, : n_words * 32]
    bits = np.where(rng.random((n_slots, 1)) < 0.3, runs, bits)
    return np.packbits(bits, axis=1, bitorder="little").view(np.int32)


def allowed_bits(table: NDArray[np.int32]) -> NDArray[np.bool_]:
    """The same as booleans."""
    return np.unpackbits(np.ascontiguousarray(table).view(np.uint8), axis=1, bitorder="little").astype(bool)


def random_logits(rng: np.random.Generator, shape: tuple[int, int], dtype: str) -> NDArray[Any]:
    """Numbers with ties, zeros of both signs, infinities, and every kind of NaN."""
    values = np.round(rng.normal(0, 4, shape) * 8) / 8
    odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-7, -1e-40, 3.0])
    values = np.where(rng.random(shape) < 0.1, rng.choice(odd, shape), values)
    with np.errstate(over="ignore"):
        logits = values.astype(DTYPES[dtype])
    bits = logits.view(f"u{logits.itemsize}")
    bits[np.isnan(values) & (rng.random(shape) < 0.5)] = ~bits.dtype.type(0)
    return logits


def masked(
    logits: NDArray[Any], table: NDArray[np.int32], ids: Any, rows: Any = None, vocab_size: int | None = None
) -> NDArray[Any]:
    """What apply_rows leaves, one logit at a time."""
    result = logits.copy()
    allowed = allowed_bits(table)
    width = logits.shape[1] if vocab_size is None else vocab_size
    for k, i in enumerate(ids):
        if i == -1:
            continue
        at = k if rows is None else rows[k]
        for j in range(width):
            if j >= allowed.shape[1] or not allowed[i, j]:
                result[at, j] = -np.inf
    return result


def same_bits(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Equal to the bit, NaN and all."""
    unsigned = f"u{a.itemsize}"
    return np.array_equal(np.ascontiguousarray(a).view(unsigned), np.ascontiguousarray(b).view(unsigned))
