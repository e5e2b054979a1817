"""XGrammar's module of a kernel, for programs that import it by that name; psc has one function for all devices."""

from collections.abc import Iterable
from typing import Any

from psc.runtime.bitmask import apply_token_bitmask_inplace


def apply_token_bitmask_inplace_cuda(logits: Any, bitmask: Any, indices: Iterable[int] | None = None) -> None:
    """Masks logits on an NVIDIA GPU, in place; arguments and errors as of `psc.apply_token_bitmask_inplace`."""
    apply_token_bitmask_inplace(logits, bitmask, indices=indices, backend="cuda")
