"""The vocabulary's tokens in a grammar text: ids, texts, and sets of them, checked against the vocabulary where it is known.

llama.cpp's GBNF writes ``<[1000]>`` for the token of an id, ``<think>`` for the one of a text, and ``!`` before either for any
other token. psc takes lists and ranges of ids as well, ``<[3,10-20]>``, which is how it prints sets of tokens.

A text that was read without a vocabulary is read again for one, so a set of all other tokens then reaches as far as ids can.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from psc.compiler.expressions.expression import Chars, Expression, merged_ranges
from psc.compiler.expressions.tokens import FIRST_TOKEN, MAX_TOKENS, TokenNames, token_set
from psc.compiler.frontends.ebnf.lexer import Source
from psc.support.limits import limit
from psc.support.readable import shortened

_LISTED = re.compile(r"\s*([0-9]+)\s*(?:-\s*([0-9]+)\s*)?")
_MAX_DIGITS = 18

MAX_EXCLUDED = limit("ebnf_excluded_tokens")
"""Tokens in ranges with ``!`` before them, all together."""


class VocabularyTokens:
    """Tokens as a grammar text names them.

    Args:
        names: the vocabulary's; None where it is not known yet.
        source: for messages.
    """

    def __init__(self, names: TokenNames | None, source: Source) -> None:
        self._names = names
        self._source = source
        self._excluded = 0
        self.were_named = False
        """Whether the text has named any."""

    def known(self, token: int, offset: int) -> int:
        """An id that may be one of a token. Raises GrammarError where it is not."""
        self.were_named = True
        size = MAX_TOKENS if self._names is None else self._names.size
        if not 0 <= token < size:
            raise self._source.error(offset, f"token {token} is out of range; ids are from 0 to {size - 1:,}")
        if self._names is not None and not self._names.is_token(token):
            raise self._source.error(offset, f"id {token} is padding of the vocabulary, and no token")
        return token

    def named(self, text: str, offset: int) -> int:
        """The id of the token with a text. Raises GrammarError where there is none, or no vocabulary to ask."""
        self.were_named = True
        if self._names is None:
            raise self._source.error(
                offset,
                f"token {shortened(text)!r} is named by its text, which needs a tokenizer: give the text to a GrammarCompiler, or "
                "name the token by its id",
            )
        token = self._names.id_of(text)
        if token is None:
            close = self._names.close_names(text)
            hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
            raise self._source.error(offset, f"the vocabulary has no token {shortened(text)!r}{hint}")
        return token

    def one_of(self, ids: Iterable[int]) -> Chars:
        """One of these tokens."""
        self.were_named = True
        return token_set(ids)

    def any_but(self, ids: Iterable[int]) -> Chars:
        """One token that is none of these, and no stop token."""
        self.were_named = True
        if self._names is not None:
            return self._names.tokens_except(ids)
        gaps, at = [], FIRST_TOKEN
        for token in sorted(set(ids)):
            if at < FIRST_TOKEN + token:
                gaps.append((at, FIRST_TOKEN + token - 1))
            at = FIRST_TOKEN + token + 1
        return Chars((*gaps, (at, FIRST_TOKEN + MAX_TOKENS - 1)) if at < FIRST_TOKEN + MAX_TOKENS else tuple(gaps))

    def written(self, text: str, offset: int) -> Expression:
        """What ``<[1000]>``, ``<think>`` and these with ``!`` before them stand for. Raises GrammarError."""
        negated = text.startswith("!")
        inside = text[negated + 1 : -1]
        ranges = self._listed(inside[1:-1], offset) if inside.startswith("[") else [(self.named(text[negated:], offset),) * 2]
        if not negated:
            return Chars(merged_ranges((FIRST_TOKEN + low, FIRST_TOKEN + high) for low, high in ranges))
        self._excluded += sum([high - low + 1 for low, high in ranges])
        if self._excluded > MAX_EXCLUDED:
            raise self._source.limit(offset, f"tokens are excluded more than {MAX_EXCLUDED:,} times, which is the limit")
        return self.any_but({token for low, high in ranges for token in range(low, high + 1)})

    def _listed(self, text: str, offset: int) -> list[tuple[int, int]]:
        ranges = []
        for part in text.split(","):
            match = _LISTED.fullmatch(part)
            if match is None or len(part.strip()) > 2 * _MAX_DIGITS:
                raise self._source.error(offset, f"<[{text}]> must hold ids of tokens, such as <[1000]>, or <[3,10-20]>")
            low = self.known(int(match[1]), offset)
            high = low if match[2] is None else int(match[2])
            if high < low:
                raise self._source.error(offset, f"the range {part.strip()} runs backwards; write the lower id first")
            if high > low:
                self._check_end(high, offset)
            ranges.append((low, high))
        return ranges

    def _check_end(self, token: int, offset: int) -> None:
        size = MAX_TOKENS if self._names is None else self._names.size
        if token >= size:
            raise self._source.error(offset, f"token {token} is out of range; ids are from 0 to {size - 1:,}")
