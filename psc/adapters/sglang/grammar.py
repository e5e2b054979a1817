"""One request's grammar inside SGLang.

The scheduler aborts a request whose `accept_token` raises ValueError, and ends with the process for anything else that a grammar
raises. So nothing else is raised here. A grammar that cannot go on (a limit was exceeded) and one that no token continues (the
vocabulary lacks bytes) allow all text for one step, since logits that are all minus infinity end the process too; the token that
is then sampled is refused, and the request fails with the reason.

Cost: accepting a token 0.3 us; a mask the copy of its row and some microseconds.
"""

from __future__ import annotations

import dataclasses
import logging
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sglang.srt.constrained.xgrammar_backend import XGrammarGrammar

from psc.runtime.compiled import GrammarMatcher
from psc.serving.first_mask import make_first_mask

if TYPE_CHECKING:
    import torch
    from sglang.srt.constrained.base_grammar_backend import GrammarStats

    from psc.grammars.compiled_grammar import CompiledGrammar
    from psc.serving.counters import Counters
    from psc.vocabulary.tokenizer_info import TokenizerInfo

_log = logging.getLogger("psc.adapters.sglang")
_MAX_NAMED = 8
"""The most expected terminals that a message names."""


class PscGrammar(XGrammarGrammar):  # type: ignore[misc]  # the package is not typed
    """A request's state in its grammar. The engine's own code allocates, moves and applies masks, as those of XGrammar.

    Args:
        compiled: the grammar.
        text: of the request, for messages.
        stats: the engine's figures on the grammar.
        counters: of the service.
        mask_steps: the limit of a mask's cost; None is psc's own limit.
    """

    def __init__(
        self,
        compiled: CompiledGrammar,
        text: str,
        stats: GrammarStats | None,
        counters: Counters,
        mask_steps: int | None = None,
    ) -> None:
        super().__init__(GrammarMatcher(compiled, max_steps=mask_steps), compiled.vocab_size, compiled, None, text, stats)
        self.counters = counters
        self.mask_steps = mask_steps
        self.failure: str | None = None

    def make_first_mask(self) -> None:
        """Makes the mask of the first step. Raises ResourceLimitError where it costs too much."""
        make_first_mask(self.matcher, self.counters, _log)

    def make_root_mask(self) -> None:
        """Makes the mask after the text so far, so that it is there even if drafts fail.

        Raises the error of making it. The grammar has failed then, and is not used again.
        """
        try:
            self.matcher.mask_row()
        except Exception as e:
            self.fail(e)
            raise

    def accept_token(self, token: int) -> None:
        """Takes a token; after the end any will do, and changes nothing. Raises ValueError for one that is not allowed."""
        if self.is_terminated():
            return
        self.current_token = token
        try:
            accepted = self.failure is None and self.matcher.accept_token(token)
        except Exception as e:
            self.fail(e)
            accepted = False
        if not accepted:
            self.counters.add("refused_tokens")
            raise ValueError(f"Tokens not accepted: {token}: {self.failure or self._refusal(token)}")

    def rollback(self, k: int) -> None:
        """Takes back the last `k` tokens, a stop token among them."""
        try:
            self.matcher.rollback(k)
        except Exception as e:
            self.fail(e)

    def is_terminated(self) -> bool:
        """Whether a token that ends the text was accepted."""
        return bool(self.matcher.is_terminated())

    def fill_vocab_mask(self, vocab_mask: torch.Tensor, idx: int) -> None:
        """Writes the mask of the next token to a row; leaves the row as it is after the end."""
        if self.is_terminated():
            return
        if self.failure is None:
            try:
                self.matcher.fill_next_token_bitmask(vocab_mask, idx)
            except Exception as e:
                self.fail(e)
        self.mend(vocab_mask.numpy(), idx)

    def mend(self, rows: NDArray[np.int32], idx: int) -> None:
        """Writes all tokens that are text to a row in which nothing is allowed. Whichever is sampled, `accept_token` refuses it."""
        if self.failure is None:
            if rows[idx].any():
                return
            self.counters.add("empty_masks")
        rows[idx] = _text_row(self.ctx.tokenizer_info)

    def copy(self) -> PscGrammar:
        """The same grammar at the beginning of a text."""
        stats = self.grammar_stats
        if stats is not None:
            stats = dataclasses.replace(stats, is_cache_hit=True, tree_traversal_time=[])
        return PscGrammar(self.ctx, self.key_string, stats, self.counters, self.mask_steps)

    def jump_and_retokenize(self, old_output_ids: list[int], new_output_ids: list[int], next_state: int) -> None:
        """Replaces the text's last tokens by others that spell it. Raises ValueError for one that is not allowed."""
        same = 0
        while same < min(len(old_output_ids), len(new_output_ids)) and old_output_ids[same] == new_output_ids[same]:
            same += 1
        self.rollback(len(old_output_ids) - same)
        for token in new_output_ids[same:]:
            self.accept_token(token)

    def __repr__(self) -> str:
        return f"PscGrammar({self.ctx.grammar_name!r}, {self.matcher.n_steps} tokens)"

    def fail(self, error: Exception) -> None:
        """Notes why the grammar cannot go on: from now on no token is accepted."""
        if self.failure is None:
            self.failure = f"{type(error).__name__}: {error}"
            self.counters.add("failures")
            _log.error("%r cannot go on: %s", self, self.failure)

    def _refusal(self, token: int) -> str:
        matcher: GrammarMatcher = self.matcher
        origin = f"{self.ctx.grammar_name}, after {matcher.n_steps} tokens"
        if not len(matcher.allowed_tokens()):
            return f"{origin}: no token of the vocabulary continues the text, as no token has the bytes that the grammar needs"
        expected = matcher.expected_terminals()
        named = ", ".join(expected[:_MAX_NAMED]) + (", …" if len(expected) > _MAX_NAMED else "")
        in_vocabulary = 0 <= token < self.ctx.vocab_size
        spelling = repr(self.ctx.tokenizer_info.token_bytes(token) or "a special token") if in_vocabulary else "no token"
        return f"{origin}: {spelling} is not allowed, expected {named}"


@lru_cache(maxsize=4)
def _text_row(tokenizer_info: TokenizerInfo) -> NDArray[np.int32]:
    bits = np.zeros(-(-tokenizer_info.vocab_size // 32) * 32, dtype=np.uint8)
    bits[tokenizer_info.text_token_ids] = 1
    return np.packbits(bits, bitorder="little").view("<i4").astype(np.int32)
