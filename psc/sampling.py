"""Random sentences of a grammar, drawn from its masks.

Drawing uniformly over tokens is dull: nine tokens of ten are pieces of names, so keywords hardly come up. So a class of tokens that the
lexer never tells apart is drawn first, uniformly over those allowed, and then a token of it: every token allowed can come up, and
punctuation and keywords do so about as often as names.

Nothing in this makes a text end: brackets pile up and comments stay open. After a number of tokens the rest is therefore not drawn but
looked for: the shortest way to the end (``completion``), cut into tokens, each of which the mask must allow too.

Cost: under a millisecond a token drawn; some 0.1 s to look for the end.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from psc.artifacts.format import IntArray
from psc.completion import Completer
from psc.errors import PscError
from psc.parse_tables import ParseTables
from psc.runtime.compiled import CompiledGrammar, GrammarMatcher
from psc.segment import Segmenter


@dataclass(frozen=True)
class Sample:
    """A sentence."""

    tokens: tuple[int, ...]
    """Without the stop token."""
    drawn: int
    """How many of the tokens were drawn; the others were looked for, to end the text."""
    text: bytes


class Sampler:
    """Draws sentences of one compiled grammar.

    Args:
        compiled: the grammar; its vocabulary must be found.
        arrays: of the same artifact.
    """

    def __init__(self, compiled: CompiledGrammar, arrays: Mapping[str, IntArray]) -> None:
        self.compiled = compiled
        self._tables = ParseTables(arrays)
        self._completer = Completer(self._tables)
        self._segmenter = Segmenter(compiled.tokenizer_info)
        # The stop tokens are one more class; -1 (special, padding) is never allowed.
        self._class_of_token = np.array(arrays["class_of_token"], np.int64)
        self._n_classes = int(self._class_of_token.max(initial=-1)) + 2
        self._class_of_token[arrays["stop_tokens"]] = self._n_classes - 1

    def sample(self, rng: random.Random, *, max_tokens: int) -> Sample:
        """Draws a sentence.

        Args:
            rng: the same state gives the same sentence.
            max_tokens: draw at most so many tokens, then end the text the short way, which adds some.

        Raises:
            GrammarError: no end was found.
            TokenizerError: the vocabulary cannot spell the end.
        """
        matcher = GrammarMatcher(self.compiled)
        stop = frozenset(matcher.stop_token_ids)
        tokens: list[int] = []
        while len(tokens) < max_tokens:
            token = self._draw(matcher, rng)
            if token is None or token in stop:
                break
            self._take(matcher, token)
            tokens.append(token)
        drawn = len(tokens)
        if not matcher.is_completed():
            end = self._completer.complete(matcher._lexer_state, self._tables.stack_of(matcher._stack()))
            for token in self._segmenter.segment(end):
                self._take(matcher, token)
                tokens.append(token)
        vocabulary = self.compiled.tokenizer_info.decoded_vocab
        return Sample(tuple(tokens), drawn, b"".join(vocabulary[t] for t in tokens))

    def _draw(self, matcher: GrammarMatcher, rng: random.Random) -> int | None:
        """A token that the mask allows; None if it allows none, which is so where a text can only end and nothing stops it."""
        bits = np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")
        allowed = np.flatnonzero(bits)
        if not len(allowed):
            return None
        classes = self._class_of_token[allowed]
        present = np.zeros(self._n_classes, bool)
        present[classes] = True
        chosen = np.flatnonzero(present)
        members = allowed[classes == chosen[rng.randrange(len(chosen))]]
        return int(members[rng.randrange(len(members))])

    def _take(self, matcher: GrammarMatcher, token: int) -> None:
        if not matcher.accept_token(token):
            raise PscError(
                f"token {token}, which must be allowed, is not: mask and parser of {self.compiled.place} disagree; please report this"
            )
