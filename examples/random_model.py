"""A language model with random weights, in NumPy or CuPy: what the examples generate with.

A recurrent network of one layer over a real vocabulary. It knows no language; `inclinations` make it like to end texts and dislike
white space, so that what it writes under a grammar has an end.
"""

from typing import Any

import numpy as np

import psc


class RandomModel:
    """Random weights; states (batch, hidden), tokens (batch,) to states and logits (batch, vocabulary).

    Args:
        info: the vocabulary.
        hidden: size of a state.
        seed: of the weights.
        library: numpy, or cupy.
    """

    def __init__(self, info: psc.TokenizerInfo, *, hidden: int = 24, seed: int = 0, library: Any = np) -> None:
        rng = np.random.default_rng(seed)
        self.library = library
        self.embedding = library.asarray(rng.standard_normal((info.vocab_size, hidden), dtype=np.float32))
        self.recurrent = library.asarray(rng.standard_normal((hidden, hidden), dtype=np.float32) / hidden**0.5)
        self.bias = library.asarray(inclinations(info))

    def start(self, batch: int) -> Any:
        """States at the beginning."""
        return self.library.zeros((batch, self.recurrent.shape[0]), dtype=np.float32)

    def __call__(self, state: Any, tokens: Any) -> tuple[Any, Any]:
        """The states after the tokens, and the logits of the next."""
        state = self.library.tanh(state @ self.recurrent + self.embedding[tokens])
        return state, state @ self.embedding.T * 0.5 + self.bias


def inclinations(info: psc.TokenizerInfo) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Logits to add: to what closes strings and brackets, and to the tokens that end a text; few to white space."""
    bias = np.zeros(info.vocab_size, np.float32)
    for token in range(info.vocab_size):
        spelled = info.token_bytes(token)
        if spelled and not spelled.strip(b'":}]'):
            bias[token] = 12.0 if spelled.startswith(b'"') else 7.0
        elif spelled and not spelled.strip():
            bias[token] = -8.0
    bias[list(info.stop_token_ids)] = 9.0
    return bias
