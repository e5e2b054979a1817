"""Random sentences of a grammar, drawn from its masks.

Drawing uniformly over tokens gives dull texts. Nine tokens of ten are pieces of names, so keywords are rare, and names and comments
hardly end. So the effect on the lexer is drawn first (``token_effects``), then a token with that effect.

Tokens are not alike, either: most of a vocabulary is seldom written, in scripts that few texts mix, or is runs of blanks. A token
weighs as much as it is likely in a text, by Zipf's law over the ids (vocabularies are numbered by frequency, more or less), and far
less if it is no plain word, number or sign. An effect weighs a small power of the weight of its tokens. Every token that is allowed
can be drawn.

Drawing alone would hardly end a text: brackets pile up and comments stay open. After a number of tokens the rest is therefore not
drawn but searched: the shortest way to the end (``completion``), cut into tokens, each of which the mask must allow, too.

Cost: about a millisecond a token drawn, some 15 in a lexer state visited for the first time; some 0.1 s to look for the end.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psc.errors import GrammarError, PscError
from psc.inspection.completion import Completer
from psc.inspection.configurations import configurations
from psc.inspection.linked import TokenSearch
from psc.inspection.token_effects import TokenEffects
from psc.runtime.compiled import GrammarMatcher, LoadedGrammar
from psc.support.cached_property import cached_property
from psc.vocabulary.segment import Segmenter
from psc.vocabulary.tokenizer_info import TokenizerInfo

_PLAIN = re.compile(rb" ?(?:[a-z]+|[A-Z]?[a-z]{2,}|[0-9]{1,2}|[!-/:-@\[-`{-~]{1,2}) ?|[ \n]|\n {2,8}")
"""Words, small numbers, blanks, and one or two signs."""


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
        compiled: the grammar; its vocabulary must be available.
    """

    def __init__(self, compiled: LoadedGrammar) -> None:
        self.compiled = compiled
        self._completer = Completer(compiled)
        self._segmenter = Segmenter(compiled.tokenizer_info)

    def sample(self, rng: random.Random, *, max_tokens: int) -> Sample:
        """Draws a sentence.

        Args:
            rng: the same state gives the same sentence.
            max_tokens: the number of tokens after which the text is ended the short way, which adds some.

        Raises:
            GrammarError: no end was found.
            TokenizerError: the vocabulary cannot spell the end.
        """
        matcher = GrammarMatcher(self.compiled)
        stop = frozenset(matcher.stop_token_ids)
        tokens: list[int] = []
        while len(tokens) < max_tokens:
            token = self._draw(matcher, tokens, rng)
            if token is None or token in stop:
                break
            self._take(matcher, token)
            tokens.append(token)
        end = self._end(matcher)
        kept = matcher.n_steps - len(end)
        tokens = [*tokens[:kept], *end]
        vocabulary = self.compiled.tokenizer_info.token_texts
        return Sample(tuple(tokens), kept, b"".join(vocabulary[t] for t in tokens))

    @cached_property
    def _effects(self) -> TokenEffects:
        return TokenEffects(self.compiled)

    @cached_property
    def _first_bytes(self) -> NDArray[np.int64]:
        return np.array([text[0] if text else 256 for text in self.compiled.tokenizer_info.token_texts], np.int64)

    @cached_property
    def _weights(self) -> NDArray[np.float64]:
        return token_weights(self.compiled.tokenizer_info)

    def _end(self, matcher: GrammarMatcher) -> list[int]:
        """Ends the text; returns the tokens that do.

        The tokens drawn stay, unless the next terminal cannot be spelled after them. In Go, for example, a line comment may
        begin wherever blanks may, but its line end may not follow everywhere. Masks take a viable terminal to have a spelling
        (docs/language.md), so drawing gets there. Then ever more tokens are taken back.
        """
        back = 1
        while not matcher.is_completed():
            try:
                end = self._found_end(matcher)
            except GrammarError:
                if matcher.n_steps == 0:
                    raise
                matcher.rollback(min(back, matcher.n_steps))
                back *= 2
                continue
            for token in end:
                self._take(matcher, token)
            return end
        return []

    def _found_end(self, matcher: GrammarMatcher) -> list[int]:
        if self.compiled.is_linked:
            return TokenSearch(self.compiled.tokenizer_info).complete(matcher)
        return self._segmenter.segment(self._completer.complete(matcher))

    def _draw(self, matcher: GrammarMatcher, tokens: Sequence[int], rng: random.Random) -> int | None:
        """A token that the mask allows; None if it allows none: the text can only end, and no token does that.

        Args:
            matcher: after these tokens; it stays there.
            tokens: the text so far.
            rng: what to draw with.
        """
        allowed = matcher.allowed_tokens().astype(np.int64)
        if not len(allowed):
            return None
        weights = self._weights[allowed]
        if self.compiled.is_linked:  # of parts: instead of the effect, the first byte is drawn
            effects = self._first_bytes[allowed]
        else:
            effects = self._effects.of(frozenset(c.lexer_state for c in configurations(matcher)), allowed)
        chosen = drawn(np.power(np.bincount(effects, weights), 0.3), rng)
        return int(allowed[drawn(np.where(effects == chosen, weights, 0.0), rng)])

    def _take(self, matcher: GrammarMatcher, token: int) -> None:
        if not matcher.accept_token(token):
            raise PscError(
                f"{self.compiled.place}: token {token} must be allowed and is not: mask and parser disagree; please report this"
            )


def token_weights(tokenizer_info: TokenizerInfo) -> NDArray[np.float64]:
    """How often a token is written, about: float64 of shape (vocab_size,), positive."""
    weights: NDArray[np.float64] = 1.0 / (np.arange(tokenizer_info.vocab_size, dtype=np.float64) + 300.0)
    for token, text in enumerate(tokenizer_info.token_texts):
        weights[token] *= 1.0 if _PLAIN.fullmatch(text) else 3e-3 if text.isascii() else 1e-7
    weights[tokenizer_info.stop_token_ids] = weights.mean()
    return weights


def drawn(weights: NDArray[np.float64], rng: random.Random) -> int:
    """An index, as likely as its weight is large."""
    total = np.cumsum(weights)
    return int(np.searchsorted(total, rng.random() * total[-1], side="right"))
