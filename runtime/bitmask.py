"""Token bitmasks, and logits under them, for NumPy arrays and torch tensors.

A bitmask is int32 of shape (batch, ceil(vocab / 32)): token ``j`` is bit ``j % 32`` of word ``j // 32``, and 1 means allowed. It is
not uint32, because torch long had none. The names and meanings are XGrammar's.

torch is used where it is installed, and is never needed: what only handles an array imports no torch, because a torch tensor
cannot come from a process that has not imported it. Tensors on the CPU are masked by native code, on an NVIDIA GPU by a kernel
where CuPy is installed (``psc[gpu]``), else by torch's operations. Masks that stay on the GPU are in `psc.runtime.cupy_masks`
(docs/gpu.md).

Cost of ``apply_token_bitmask_inplace``: a few microseconds a call, and 10 to 70 us a row of 128,000 logits on a CPU.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from operator import index
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from psc._core import apply_bitmask
from psc.errors import BitmaskError
from psc.runtime.mask_arguments import WORD_BITS, check_dimensions, checked_rows, float_format, masked_width

if TYPE_CHECKING:
    import torch

Backend = Literal["auto", "cpu", "cuda", "triton", "torch_compile", "torch_native"]

_BACKENDS = ("auto", "cpu", "cuda", "triton", "torch_compile", "torch_native")


bitmask_dtype: Any
"""torch's int32 where torch is installed, else NumPy's."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        # Not a constant, so that importing this module does not import torch.
        if name == "bitmask_dtype":
            torch = _installed_torch()
            return np.dtype(np.int32) if torch is None else torch.int32
        raise AttributeError(f"module 'psc.runtime.bitmask' has no attribute {name!r}", name=name, obj=sys.modules[__name__])


def get_bitmask_shape(batch_size: int, vocab_size: int) -> tuple[int, int]:
    """The shape of a bitmask: ``(batch_size, ceil(vocab_size / 32))``. Raises BitmaskError if one of them is negative."""
    if index(batch_size) < 0 or index(vocab_size) < 0:
        raise BitmaskError(f"batch_size={batch_size} and vocab_size={vocab_size}: neither can be negative")
    return batch_size, -(-vocab_size // WORD_BITS)


@overload
def allocate_token_bitmask(
    batch_size: int, vocab_size: int, *, library: Literal["numpy"], pin_memory: bool = False
) -> NDArray[np.int32]: ...


@overload
def allocate_token_bitmask(
    batch_size: int, vocab_size: int, *, library: Literal["torch"], pin_memory: bool = False
) -> torch.Tensor: ...


@overload
def allocate_token_bitmask(batch_size: int, vocab_size: int, *, library: None = None, pin_memory: bool = False) -> Any: ...


def allocate_token_bitmask(
    batch_size: int, vocab_size: int, *, library: Literal["torch", "numpy"] | None = None, pin_memory: bool = False
) -> Any:
    """A new bitmask on the CPU that allows everything (each word is -1).

    Args:
        batch_size: number of rows.
        vocab_size: number of logits of the model.
        library: whose array; by default a torch tensor where torch is installed, else a NumPy array.
        pin_memory: for a torch tensor, page-locked memory, from which copies to a GPU are faster. Needs a GPU.

    Raises:
        BitmaskError: a size is negative, or memory of a NumPy array should be pinned.
        ModuleNotFoundError: torch is requested and not installed.
    """
    shape = get_bitmask_shape(batch_size, vocab_size)
    if library not in (None, "torch", "numpy"):
        raise BitmaskError(f"library={library!r}: it is 'torch', 'numpy' or None")
    torch = None if library == "numpy" else _installed_torch()
    if torch is not None:
        return torch.full(shape, -1, dtype=torch.int32, pin_memory=pin_memory)
    if library == "torch":
        raise ModuleNotFoundError("library='torch': torch is not installed", name="torch")
    if pin_memory:
        raise BitmaskError("pin_memory: only memory of a torch tensor can be pinned")
    return np.full(shape, -1, dtype=np.int32)


def reset_token_bitmask(bitmask: Any) -> None:
    """Allows everything again, in place. Raises BitmaskError if it is no int32 array."""
    _check_bitmask(bitmask)
    if _is_tensor(bitmask):
        bitmask.fill_(-1)
    else:
        bitmask.fill(-1)


def apply_token_bitmask_inplace(
    logits: Any,
    bitmask: Any,
    *,
    vocab_size: int | None = None,
    indices: Iterable[int] | None = None,
    backend: Backend = "auto",
) -> None:
    """Sets the logits of tokens that are not allowed to minus infinity, in place; the others are not touched.

    Args:
        logits: (batch, width) or (width,); float16, bfloat16, float32 or float64; a NumPy array or a torch tensor, any strides.
        bitmask: (batch, words) or (words,), int32, on the same device.
        vocab_size: mask only the first logits, this many, and leave the others as they are. By default all logits are masked, and
            those beyond the bitmask are not allowed: they are padding of the model's output layer, and no token.
        indices: the rows to mask, out of both arrays; by default all, and then both have equally many.
        backend: for XGrammar's callers. "auto" is right; "cpu" insists on the CPU, "cuda" and "triton" on a GPU, "torch_native" and
            "torch_compile" take torch's own operations on any device, with or without CuPy.

    Raises:
        BitmaskError: a shape, dtype or device does not fit, an index or ``vocab_size`` is out of range, the logits are read-only.
    """
    _check_logits(logits)
    _check_bitmask(bitmask)
    logits_device, bitmask_device = _device(logits), _device(bitmask)
    if logits_device != bitmask_device:
        raise BitmaskError(f"the logits are on {logits_device} and the bitmask is on {bitmask_device}; move one to the other")
    _check_backend(backend, logits)
    rows, masks = _as_matrix(logits, "logits"), _as_matrix(bitmask, "bitmask")
    width = masked_width(rows.shape[1], masks.shape[1], vocab_size)
    chosen = None if indices is None else checked_rows(indices, min(rows.shape[0], masks.shape[0]), name="indices")
    if chosen is None and rows.shape[0] != masks.shape[0]:
        raise BitmaskError(
            f"{rows.shape[0]} rows of logits and {masks.shape[0]} of bitmask; without indices= they must be equally many"
        )
    device = logits.device.type if _is_tensor(logits) else "cpu"
    if device == "cpu" and backend not in ("torch_native", "torch_compile"):
        apply_bitmask(rows, masks, width, chosen)
    elif device == "cuda" and backend in ("auto", "cuda", "triton") and _apply_with_cupy(rows, masks, vocab_size, chosen):
        pass
    else:
        _apply_with_torch(sys.modules["torch"], rows, masks, width, chosen)


def _installed_torch() -> Any:
    try:
        import torch
    except ImportError:
        return None
    return torch


def _is_tensor(array: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def _device(array: Any) -> str:
    return str(array.device) if _is_tensor(array) else "cpu"


def _check_logits(logits: Any) -> None:
    if not (_is_tensor(logits) or isinstance(logits, np.ndarray)):
        raise BitmaskError(f"logits must be a NumPy array or a torch tensor, not {type(logits).__name__}")
    name = float_format(logits.dtype).name
    if isinstance(logits, np.ndarray) and not logits.flags.writeable:
        raise BitmaskError("the logits are read-only")
    if isinstance(logits, np.ndarray) and name == "bfloat16":
        raise BitmaskError("logits are a NumPy array of bfloat16; only torch has that dtype")


def _check_bitmask(bitmask: Any) -> None:
    if not (_is_tensor(bitmask) or isinstance(bitmask, np.ndarray)):
        raise BitmaskError(f"a bitmask must be a NumPy array or a torch tensor, not {type(bitmask).__name__}")
    if str(bitmask.dtype).removeprefix("torch.") != "int32":
        raise BitmaskError(f"the bitmask is {bitmask.dtype}; it must be int32")


def _check_backend(backend: str, logits: Any) -> None:
    if backend not in _BACKENDS:
        raise BitmaskError(f"unknown backend {backend!r}; it is one of {', '.join(_BACKENDS)}")
    kind = logits.device.type if _is_tensor(logits) else "cpu"
    if (backend == "cpu" and kind != "cpu") or (backend in ("cuda", "triton") and kind != "cuda"):
        raise BitmaskError(f"backend {backend!r} cannot mask logits on {kind}; leave it at 'auto'")
    if backend in ("torch_native", "torch_compile") and not _is_tensor(logits):
        raise BitmaskError(f"backend {backend!r} masks torch tensors only; leave it at 'auto'")


def _as_matrix(array: Any, what: str) -> Any:
    check_dimensions(array.ndim, what)
    if _is_tensor(array) and array.requires_grad:
        array = array.detach()  # the same memory; a tensor that records gradients does not let others write into it
    return array if array.ndim == 2 else array[None]


def _apply_with_cupy(logits: Any, bitmask: Any, vocab_size: int | None, rows: NDArray[np.int64] | None) -> bool:
    """Whether it could be done: CuPy is not everywhere where torch is."""
    from psc.runtime import cuda_device, cupy_masks

    if not cuda_device.is_usable():
        return False
    words = bitmask if bitmask.shape[1] < 2 or bitmask.stride(1) == 1 else bitmask.contiguous()
    cupy_masks.apply_bitmask(logits, words, rows=rows, vocab_size=vocab_size)
    return True


def _apply_with_torch(torch: Any, logits: Any, bitmask: Any, width: int, rows: NDArray[np.int64] | None) -> None:
    minus_infinity = float("-inf")
    covered = min(width, bitmask.shape[1] * WORD_BITS)
    where = slice(None) if rows is None else torch.from_numpy(rows).to(logits.device)
    bits = torch.arange(WORD_BITS, dtype=torch.int32, device=logits.device)
    masked = ((bitmask[where].unsqueeze(-1) >> bits) & 1).eq(0).flatten(1)[:, :covered]
    logits[where, :covered] = logits[where, :covered].masked_fill(masked, minus_infinity)
    logits[where, covered:width] = minus_infinity
