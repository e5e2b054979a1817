"""XGrammar's module of matchers and bitmasks, for programs that import it by that name."""

from typing import Any

from psc.runtime.bitmask import allocate_token_bitmask, apply_token_bitmask_inplace, get_bitmask_shape, reset_token_bitmask
from psc.runtime.compiled import BatchGrammarMatcher, GrammarMatcher

__all__ = [
    "BatchGrammarMatcher",
    "GrammarMatcher",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "bitmask_dtype",  # noqa: F822  by __getattr__
    "get_bitmask_shape",
    "reset_token_bitmask",
]


def __getattr__(name: str) -> Any:
    if name == "bitmask_dtype":  # made when asked for: it may import torch
        from psc.runtime import bitmask

        return bitmask.bitmask_dtype
    raise AttributeError(f"module 'psc.matcher' has no attribute {name!r}")
