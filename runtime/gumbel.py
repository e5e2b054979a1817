"""Random numbers by counter, and Gumbel's distribution from them, the same to the bit in NumPy as in the CUDA kernels.

The idea: drawing a token from a softmax is taking the largest of logit / temperature + g, with g from Gumbel's distribution for
each token. The random bits are Philox4x32-10 of (seed, step, row, column): Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as
easy as 1, 2, 3", SC 2011. The logarithms are spelled in additions, multiplications and divisions of float32, each of which IEEE 754
rounds in one way only; the kernels (kernels/select.cu) contract none of them. So a seed draws the same tokens on every device.

Cost: some 50 ns a token.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Float32s = NDArray[np.float32]
UInt32s = NDArray[np.uint32]

_LN_2 = np.float32(float.fromhex("0x1.62e430p-1"))
_SQRT_2 = np.float32(float.fromhex("0x1.6a09e6p+0"))
_LOW = np.uint64(0xFFFF_FFFF)
_SHIFT = np.uint64(32)


def philox(counter: tuple[Any, Any, Any, Any], key: tuple[int, int]) -> tuple[UInt32s, UInt32s, UInt32s, UInt32s]:
    """Philox4x32-10: four times 32 random bits for each counter, whose parts are integers or arrays that broadcast."""
    c = [np.asarray(part, dtype=np.uint64) for part in np.broadcast_arrays(*counter)]
    k0, k1 = key
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(b >> _SHIFT) ^ c[1] ^ np.uint64(k0), b & _LOW, (a >> _SHIFT) ^ c[3] ^ np.uint64(k1), a & _LOW]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFF_FFFF, (k1 + 0xBB67AE85) & 0xFFFF_FFFF
    first, second, third, fourth = (part.astype(np.uint32) for part in c)
    return first, second, third, fourth


def random_bits(columns: NDArray[np.int64], row: int, *, seed: int, step: int) -> UInt32s:
    """32 random bits for each column of a row of logits; columns are ascending."""
    groups, where = np.unique(columns >> 2, return_inverse=True)
    four = np.stack(philox((groups, row, step & 0xFFFF_FFFF, step >> 32), (seed & 0xFFFF_FFFF, seed >> 32)))
    drawn: UInt32s = four[columns & 3, where]
    return drawn


def _twice_atanh(s: Float32s) -> Float32s:
    z, twice = s * s, s + s
    p = z * np.float32(1 / 9) + np.float32(1 / 7)
    p = z * p + np.float32(1 / 5)
    p = z * p + np.float32(1 / 3)
    return twice + twice * (z * p)


def _minus_log(t: Float32s) -> Float32s:
    bits = t.view(np.uint32)
    e = (bits >> np.uint32(23)).astype(np.int32) - 127
    m = ((bits & np.uint32(0x7FFFFF)) | np.uint32(0x3F800000)).view(np.float32)
    high = m > _SQRT_2
    m = np.where(high, m * np.float32(0.5), m)
    e = e + high
    s = (m - np.float32(1)) / (m + np.float32(1))
    return -(e.astype(np.float32) * _LN_2 + _twice_atanh(s))


def gumbel(bits: UInt32s) -> Float32s:
    """Gumbel's distribution from 32 random bits each: -log(-log(u)) with u = 1 - (bits + 1/2) / 2^32."""
    half, tick, two = np.float32(0.5), np.float32(2.0**-32), np.float32(2)
    v = (bits.astype(np.float32) + half) * tick
    w = ((~bits).astype(np.float32) + half) * tick
    # Where u is near 1, which is where the largest number comes from, 1 - u has all its digits.
    exponential = np.where(bits < np.uint32(1 << 30), _twice_atanh(v / (two - v)), _minus_log(w))
    return _minus_log(exponential.astype(np.float32))
