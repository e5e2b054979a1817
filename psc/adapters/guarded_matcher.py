"""A matcher for engines that end with the process when a matcher raises, or when a mask allows nothing.

A matcher may be unable to continue: a limit was exceeded, or no token of the vocabulary continues the text. Then, as for a request
that psc refused, it gives a row of its engine's choice, accepts no token, and logs the reason once.

Cost: that of the matcher, and reading the row that was filled.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from psc.runtime.compiled import GrammarMatcher

if TYPE_CHECKING:
    from collections.abc import Iterable

    from psc.grammars.compiled_grammar import CompiledGrammar

_log = logging.getLogger("psc.adapters")


def row_of(token_ids: Iterable[int], vocab_size: int) -> NDArray[np.int32]:
    """A mask of these tokens: int32 of shape (ceil(vocab_size / 32),)."""
    bits = np.zeros(-(-vocab_size // 32) * 32, dtype=np.uint8)
    bits[list(token_ids)] = 1
    return np.packbits(bits, bitorder="little").view("<i4").astype(np.int32)


class GuardedMatcher:
    """Follows one request's text.

    Args:
        compiled: the grammar, or the reason for which there is none.
        last_row: the mask when nothing can follow: tokens that end the text, or tokens that are refused when they come.
    """

    def __init__(self, compiled: CompiledGrammar | str, last_row: NDArray[np.int32]) -> None:
        self._matcher = None if isinstance(compiled, str) else GrammarMatcher(compiled)
        self._last_row = last_row
        self.failure: str | None = compiled if isinstance(compiled, str) else None

    def accept_token(self, token_id: int, *, debug_print: bool = False) -> bool:
        """Takes a token: True, or False when the mask does not allow it, and then nothing changes."""
        if self.failure is not None or self._matcher is None:
            return False
        try:
            return self._matcher.accept_token(token_id)
        except Exception as e:
            self._fail(f"{type(e).__name__}: {e}")
            return False

    def rollback(self, num_tokens: int = 1) -> None:
        """Takes back the last tokens, a stop token among them."""
        if self._matcher is None:
            return
        try:
            self._matcher.rollback(num_tokens)
        except Exception as e:
            self._fail(f"{type(e).__name__}: {e}")

    def fill_next_token_bitmask(self, bitmask: Any, index: int = 0) -> None:
        """Writes the mask of the next token to a row of an int32 tensor on the CPU; leaves it as it is after the end."""
        if self.is_terminated():
            return
        rows = np.asarray(bitmask)
        if self.failure is None and self._matcher is not None:
            try:
                self._matcher.fill_next_token_bitmask(bitmask, index)
            except Exception as e:
                self._fail(f"{type(e).__name__}: {e}")
            else:
                if not rows[index].any():
                    self._fail("no token of the vocabulary continues the text, as no token has the bytes that the grammar needs")
        if self.failure is not None:
            rows[index] = self._last_row

    def is_terminated(self) -> bool:
        """Whether a token that ends the text was accepted."""
        return self._matcher is not None and self._matcher.is_terminated()

    def fork(self) -> GuardedMatcher:
        """A second one at the same position."""
        other = GuardedMatcher(self.failure or "", self._last_row)
        other._matcher = None if self._matcher is None else self._matcher.fork()
        other.failure = self.failure
        return other

    def reset(self) -> None:
        """Back to the empty text."""
        if self._matcher is not None:
            self._matcher.reset()
            self.failure = None

    def _fail(self, reason: str) -> None:
        if self.failure is None:
            self.failure = reason
            _log.error("a request's grammar cannot go on: %s", reason)
