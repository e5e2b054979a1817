"""The grammar of one request, as vLLM's manager calls it.

Cost: accepting a token, or validating a draft, 0.1 us in the steady state; filling a row a copy of it and 2 us for the tensor. What
fills the masks of a batch (`psc.adapters.vllm.masks`) needs none of this.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Final

import numpy as np
from vllm.v1.structured_output.backend_types import StructuredOutputGrammar

from psc.grammars.compiled_grammar import CompiledGrammar
from psc.runtime.compiled import GrammarMatcher
from psc.serving.counters import Counters
from psc.serving.first_mask import make_first_mask

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

    from psc.adapters.vllm.reasoning import Reasoning

_log = logging.getLogger("psc.adapters.vllm")
FEW_WORDS: Final = 8
"""Of a mask row, in which a row that allows anything nearly always has a bit."""
PADDING: Final = -1
"""The token that vLLM pads a request's drafts with."""


class PscGrammar(StructuredOutputGrammar):  # type: ignore[misc]
    """A request's grammar, and where its text is.

    Args:
        compiled: the grammar.
        stop_token_ids: the tokens that end the text; None stands for the vocabulary's.
        counters: of the service.
        mask_steps: the limit of a mask's cost; None is psc's own limit.
    """

    def __init__(
        self, compiled: CompiledGrammar, stop_token_ids: list[int] | None, counters: Counters, mask_steps: int | None = None
    ) -> None:
        self.reasoning: Reasoning | None = None
        """What comes before the text, where the grammar begins with the model's reasoning."""
        self.matcher: Final = GrammarMatcher(compiled, override_stop_tokens=stop_token_ids, max_steps=mask_steps)
        self.stop_token_ids: Final = frozenset(self.matcher.stop_token_ids)
        self.counters: Final = counters
        self.terminated = False
        """Whether a token that ends the text was taken."""
        self.failed = False
        """Whether psc failed, and no token is taken any more."""
        self._has_reported_empty_mask = False
        self._is_counted = True

    @property
    def reasons(self) -> bool:
        """Whether the next token belongs to the reasoning, or ends it."""
        return self.reasoning is not None and not self.reasoning.ended

    def make_first_mask(self) -> None:
        """Makes the mask of the text's first step. Raises ResourceLimitError where it costs too much."""
        make_first_mask(self.matcher, self.counters, _log)

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """Takes tokens; those after the end are ignored. False where a mask forbids one: vLLM then ends the request with an error.

        Args:
            request_id: for the log.
            tokens: as they were sampled.
        """
        if self.terminated:
            return True
        if self.failed:
            return False
        taken = 0
        if self.reasoning is not None and not self.reasoning.ended:
            taken = self.reasoning.take(tokens)
            if not self.reasoning.ended:
                return taken == len(tokens) or self._refuse(request_id, tokens[taken])
        try:
            taken += self.matcher.accept_tokens(tokens[taken:] if taken else tokens)
        except Exception as e:
            self.fail(e)
            return False
        if taken and tokens[taken - 1] in self.stop_token_ids:
            self.terminated = self.matcher.is_terminated()
        return taken == len(tokens) or self.terminated or self._refuse(request_id, tokens[taken])

    def _refuse(self, request_id: str, token: int) -> bool:
        self.counters.add("refused_tokens")
        _log.error("request %s: its grammar does not allow token %d after %d tokens", request_id, token, self.matcher.n_steps)
        return False

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        """The longest prefix that would be taken, up to the end of the text; nothing after it. Changes nothing."""
        if self.terminated or self.failed:
            return []
        first = 0
        if self.reasoning is not None and not self.reasoning.ended:
            first, ended = self.reasoning.look(tokens)
            if not ended:
                return tokens[:first]
        try:
            return tokens[: first + self.matcher.validate_tokens(tokens[first:])]
        except Exception as e:
            self.fail(e)
            return []

    def rollback(self, num_tokens: int) -> None:
        """Takes tokens back, one that ended the text among them."""
        of_text = min(num_tokens, self.matcher.n_steps) if self.reasoning is not None else num_tokens
        self.matcher.rollback(of_text)
        if self.reasoning is not None:
            self.reasoning.take_back(num_tokens - of_text, from_start=of_text > 0 and self.matcher.n_steps == 0)
        self.terminated = self.matcher.is_terminated()

    def fill_bitmask(self, bitmask: torch.Tensor, batch_index: int) -> None:
        """Writes the mask of the next token.

        Args:
            bitmask: int32 of shape (rows, words), on the CPU.
            batch_index: the row.
        """
        began = perf_counter()
        self.fill_row(bitmask.numpy(), batch_index)
        if self._is_counted:
            self.counters.add("masks")
            self.counters.add("mask_seconds", amount=perf_counter() - began)

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """Rows that `fill_bitmask` fills inside are not counted."""
        self._is_counted = False
        try:
            yield
        finally:
            self._is_counted = True

    def fill_row(self, rows: NDArray[np.int32], index: int) -> None:
        """As `fill_bitmask`, for NumPy. A mask that cannot be made lets the request fail, and no other."""
        if self.reasoning is not None and not self.reasoning.ended:
            rows[index] = self.reasoning.row
            return
        try:
            if not self.failed:
                self.matcher.fill_next_token_bitmask(rows, index)
        except Exception as e:
            self.fail(e)
        if self.failed:
            rows[index] = -1
        else:
            self.open_if_empty(rows, index)

    def open_if_empty(self, rows: NDArray[np.int32], index: int) -> None:
        """Allows everything in a row in which nothing is allowed, since a sampler would get no numbers from it.

        The grammar refuses whatever is sampled then, and vLLM ends this request with an error, and no other.
        """
        row = rows[index]
        if row[:FEW_WORDS].any() or row.any():
            return
        row.fill(-1)
        self.report_empty_mask()

    def report_empty_mask(self) -> None:
        """Says, once, that no token continues the text."""
        if not self._has_reported_empty_mask:
            self._has_reported_empty_mask = True
            self.counters.add("empty_masks")
            _log.error(
                "no token of the vocabulary continues the text that %r has led to after %d tokens: the request will fail",
                self.matcher.compiled.place,
                self.matcher.n_steps,
            )

    def fail(self, error: Exception) -> None:
        """Notes that the grammar cannot go on, a limit of psc, say: it takes no token any more, and so the request ends."""
        if not self.failed:
            self.failed = True
            self.counters.add("failures")
            _log.error("the request with grammar %r will fail: %s", self.matcher.compiled.place, error, exc_info=error)

    def report_refused_draft(self, token: int) -> None:
        """Logs a draft that `validate_tokens` would not have let pass."""
        _log.error(
            "a draft, token %d, does not go on with grammar %r; what follows it is not used", token, self.matcher.compiled.place
        )

    def is_terminated(self) -> bool:
        """Whether a token that ends the text was taken."""
        return self.terminated

    def reset(self) -> None:
        """Back to the empty text."""
        if self.reasoning is not None:
            self.reasoning.reset()
        self.matcher.reset()
        self.terminated = False
