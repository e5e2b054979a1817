"""XGrammar's module of a kernel, for programs that import it by that name; psc has one function for all devices."""

from collections.abc import Iterable
from typing import Any

from psc.runtime.bitmask import apply_token_bitmask_inplace


def apply_token_bitmask_inplace_torch_compile(
    logits: Any, bitmask: Any, vocab_size: int | None = None, indices: Iterable[int] | None = None
) -> None:
    """Masks logits by torch's operations, in place; arguments and errors as of `psc.apply_token_bitmask_inplace`."""
    apply_token_bitmask_inplace(logits, bitmask, vocab_size=vocab_size, indices=indices, backend="torch_compile")
