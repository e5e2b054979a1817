"""MLX: a logits processor for `mlx_lm.generate`.

    processor = GrammarLogitsProcessor(compiled)
    mlx_lm.generate(model, tokenizer, prompt, logits_processors=[processor])

A batch (`mlx_lm.batch_generate`) takes one processor for each sequence. mlx_lm begins a forward pass before it looks at the token
before; a grammar has to know that token, so with a processor the passes wait for each other.

Cost: the wait; a mask of vocab_size / 8 bytes goes to the device each step, and is applied there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from psc.adapters.constraints import Constraint, Requests
from psc.adapters.sequences import Growth, Sequences
from psc.errors import BitmaskError, MatcherError, needs_extra

with needs_extra("mlx"):
    import mlx.core as mx


class GrammarLogitsProcessor:
    """Holds the text of mlx_lm to a grammar.

    Args:
        grammar: a compiled grammar or a `DeferredGrammar`, of the model's vocabulary.
        prompt_length: tokens that are the prompt; what follows them is the beginning of the constrained text. By default all
            tokens of the first call are.
        assisted: for generation with a `draft_model`, which tries tokens and goes back.

    Raises MatcherError for anything else.

    A processor follows one generation at a time; a next one may begin when the last has ended.
    """

    def __init__(self, grammar: Constraint, *, prompt_length: int | None = None, assisted: bool = False) -> None:
        self._requests = Requests(grammar)
        self._sequences = Sequences(
            self._requests, growth=Growth.BACK_AND_FORTH if assisted else Growth.BY_ONE, prompt_length=prompt_length
        )
        self._bitmask = np.zeros((1, self._requests.n_words), dtype=np.int32)
        self._bits = mx.arange(32, dtype=mx.uint32)

    def reset(self) -> None:
        """The next tokens are a new generation's prompt, whatever they look like."""
        self._sequences.reset()

    def __call__(self, tokens: Any, logits: Any) -> Any:
        """Logits with minus infinity for each token that the grammar does not allow.

        Args:
            tokens: (length,), the prompt and what was generated.
            logits: (1, width) or (width,), of any float dtype.

        Raises:
            BitmaskError: the logits are of the wrong shape, width or dtype.
            MatcherError: a token is not allowed, or the tokens do not fit the generation.
        """
        self._check(tokens, logits)
        hypotheses = self._sequences.step(1, tokens.shape[0], lambda columns: _columns(tokens, columns))
        if not self._requests.fill(hypotheses, self._bitmask):
            return logits
        width = logits.shape[-1]
        words = mx.array(self._bitmask[0].view(np.uint32))
        allowed = ((words[:, None] >> self._bits) & 1).reshape(-1).astype(mx.bool_)
        if allowed.shape[0] < width:  # padding of the output layer
            allowed = mx.concatenate([allowed, mx.zeros((width - allowed.shape[0],), dtype=mx.bool_)])
        return mx.where(allowed[:width], logits, mx.array(-np.inf, dtype=logits.dtype))

    def _check(self, tokens: Any, logits: Any) -> None:
        if not isinstance(tokens, mx.array) or tokens.ndim != 1:
            raise MatcherError("tokens must be an mlx array of one dimension")
        if not isinstance(logits, mx.array) or logits.ndim not in (1, 2) or (logits.ndim == 2 and logits.shape[0] != 1):
            raise BitmaskError("logits must be an mlx array of shape (1, width) or (width,)")
        if not mx.issubdtype(logits.dtype, mx.floating):
            raise BitmaskError(f"logits are {logits.dtype}; logits are floating point numbers")
        self._requests.check_width(logits.shape[-1])


def _columns(tokens: Any, columns: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    if isinstance(columns, slice):
        chosen = tokens[columns]
    else:
        chosen = tokens[columns[0] :] if columns == list(range(columns[0], tokens.shape[0])) else tokens[mx.array(columns)]
    return np.array(chosen, dtype=np.int64)[None]
