"""Random sentences of a grammar, drawn from its masks.

Drawing uniformly over tokens is dull: nine tokens of ten are pieces of names, so keywords hardly come up, and names
and comments go on and on. So what happens to the lexer is drawn first: of the pairs (lexer state after the token,
terminals that it completes) that allowed tokens lead to, each is as likely as the other. Then a token that does it is
drawn. Every token allowed can come up.

Nothing in this makes a text end: brackets pile up and comments stay open. After a number of tokens the rest is
therefore not drawn but looked for: the shortest way to the end (``completion``), cut into tokens, each of which the
mask must allow too.

Cost: about a millisecond a token drawn; some 0.1 s to look for the end.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psc.artifacts.format import IntArray
from psc.completion import Completer
from psc.errors import GrammarError, PscError
from psc.parse_tables import ParseTables
from psc.runtime.compiled import CompiledGrammar, GrammarMatcher
from psc.segment import Segmenter

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Sample:
    """A sentence."""

    tokens: tuple[int, ...]
    """Without the stop token."""
    drawn: int
    """How many of the tokens were drawn; the others were looked for, to end the text."""
    text: bytes


class TokenEffects:
    """What tokens do to the lexer, as numbers: two tokens have the same number where they do the same.

    Args:
        arrays: of an artifact. Tokens of a class do the same everywhere, so one spelling of each class is lexed.
    """

    def __init__(self, arrays: Mapping[str, IntArray]) -> None:
        classes, offsets = arrays["byte_class"].astype(np.int64), arrays["class_offsets"].astype(np.int64)
        self._symbols = classes[arrays["class_bytes"]]
        self._begin, self._length = offsets[:-1], np.diff(offsets)
        shape = (len(arrays["at_end"]), -1)
        self._next = arrays["lexer_next"].astype(np.int64).reshape(shape)
        self._emit = arrays["lexer_emit"].astype(np.int64).reshape(shape)
        # The stop tokens are one more class; -1 (special, padding) is never allowed.
        self._class_of_token = arrays["class_of_token"].astype(np.int64)
        self._class_of_token[arrays["stop_tokens"]] = len(self._begin)
        self._known: dict[int, NDArray[np.int64]] = {}

    def of(self, lexer_state: int, tokens: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers of these tokens' effects in a lexer state: int64, of the tokens' shape."""
        known = self._known.get(lexer_state)
        if known is None:
            known = self._known[lexer_state] = self._find(lexer_state)
        return known[self._class_of_token[tokens]]

    def _find(self, lexer_state: int) -> NDArray[np.int64]:
        n = len(self._begin)
        state = np.full(n, lexer_state)
        emitted = np.zeros(n, np.uint64)  # a hash of the emissions so far; a collision makes two effects one, no more
        for position in range(int(self._length.max(initial=0))):
            live = np.flatnonzero((self._length > position) & (state >= 0))
            symbol = self._symbols[self._begin[live] + position]
            emission = self._emit[state[live], symbol]
            state[live] = self._next[state[live], symbol]
            going = emission != 0
            emitted[live[going]] = emitted[live[going]] * _MULTIPLIER + emission[going].astype(np.uint64)
        _, effects = np.unique(np.stack([state.astype(np.uint64), emitted]), axis=1, return_inverse=True)
        return np.append(effects.reshape(-1), n)


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
        self._effects = TokenEffects(arrays)

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
        kept, end = self._end(tokens)
        tokens = [*tokens[:kept], *end]
        vocabulary = self.compiled.tokenizer_info.decoded_vocab
        return Sample(tuple(tokens), kept, b"".join(vocabulary[t] for t in tokens))

    def _end(self, tokens: list[int]) -> tuple[int, list[int]]:
        """How many of the tokens to keep, and tokens that end the text after them.

        All are kept, unless they have led where the next terminal cannot be spelled: in Go a line comment may begin
        wherever blanks may, but its line end may not follow there. Masks take a viable terminal to have a spelling
        (docs/language.md), so such places are reached; then ever more tokens are taken back.
        """
        kept, back = len(tokens), 1
        while True:
            matcher = GrammarMatcher(self.compiled)
            for token in tokens[:kept]:
                self._take(matcher, token)
            if matcher.is_completed():
                return kept, []
            stack = self._tables.stack_of(matcher._stack())
            try:
                end = self._segmenter.segment(self._completer.complete(matcher._lexer_state, stack))
            except GrammarError:
                if not kept:
                    raise
                kept, back = max(0, kept - back), back * 2
                continue
            for token in end:
                self._take(matcher, token)
            return kept, end

    def _draw(self, matcher: GrammarMatcher, rng: random.Random) -> int | None:
        """A token that the mask allows; None if it allows none, which is so where a text can only end and nothing stops it."""
        bits = np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")
        allowed = np.flatnonzero(bits)
        if not len(allowed):
            return None
        effects = self._effects.of(matcher._lexer_state, allowed)
        chosen = np.flatnonzero(np.bincount(effects))
        members = allowed[effects == chosen[rng.randrange(len(chosen))]]
        return int(members[rng.randrange(len(members))])

    def _take(self, matcher: GrammarMatcher, token: int) -> None:
        if not matcher.accept_token(token):
            raise PscError(
                f"{self.compiled.place}: token {token} must be allowed and is not: mask and parser disagree; please report this"
            )
