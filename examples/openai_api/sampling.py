"""How a token is drawn from logits."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import psc

Logits = NDArray[np.float32]


@dataclass(frozen=True)
class Sampling:
    """What a request says of it."""

    seed: int
    temperature: float = 1.0
    top_p: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: tuple[tuple[int, float], ...] = ()
    n_logprobs: int | None = None
    """How many likely tokens to tell of at each step; None: not even that which was drawn."""


@dataclass(frozen=True)
class Drawn:
    """A token."""

    token: int
    logprob: float = 0.0
    """Among the tokens that the grammar allows, at temperature 1."""
    likely: tuple[tuple[int, float], ...] = ()
    """Tokens and their logprobs, the likeliest first."""


class Sampler:
    """Draws the tokens of one text. Cost: some milliseconds for 150,000 logits."""

    def __init__(self, sampling: Sampling, choice: int) -> None:
        self._sampling = sampling
        self._rng = np.random.default_rng((sampling.seed, choice))
        self._seen: Counter[int] = Counter()

    def draw(self, logits: Logits, mask: NDArray[np.int32] | None) -> Drawn:
        """The next token.

        Args:
            logits: (vocab_size,), not changed.
            mask: (ceil(vocab_size / 32),), of the tokens that are allowed; None: all are.

        Raises RuntimeError where none is allowed: the vocabulary lacks what the grammar needs.
        """
        how = self._sampling
        logits = logits.copy()
        for token, bias in how.logit_bias:
            logits[token] += bias
        for token, n in self._seen.items():
            logits[token] -= how.presence_penalty + n * how.frequency_penalty
        if mask is not None:
            psc.apply_token_bitmask_inplace(logits, mask)
        allowed = np.flatnonzero(logits > -np.inf)
        if not len(allowed):
            raise RuntimeError("no token of the vocabulary continues the text")
        values = logits[allowed].astype(np.float64)
        token = int(allowed[self._drawn(values)])
        if how.presence_penalty or how.frequency_penalty:
            self._seen[token] += 1
        return Drawn(token) if how.n_logprobs is None else self._with_logprobs(token, allowed, values)

    def _drawn(self, values: NDArray[np.float64]) -> int:
        """A place in the values."""
        how = self._sampling
        if not how.temperature:
            return int(values.argmax())
        values = values / how.temperature
        if how.top_p < 1:
            order = np.argsort(-values)
            shares = np.exp(values[order] - values[order[0]])
            before = np.cumsum(shares) - shares
            values[order[before > how.top_p * shares.sum()]] = -np.inf
        return int((values + self._rng.gumbel(size=len(values))).argmax())

    def _with_logprobs(self, token: int, allowed: NDArray[Any], values: NDArray[np.float64]) -> Drawn:
        logprobs = values - values.max()
        logprobs -= np.log(np.exp(logprobs).sum())
        n = min(self._sampling.n_logprobs or 0, len(allowed))
        order = np.argsort(-logprobs)[:n]
        drawn = float(logprobs[np.searchsorted(allowed, token)])
        return Drawn(token, drawn, tuple((int(allowed[i]), float(logprobs[i])) for i in order))
