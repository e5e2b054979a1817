"""Tokens in grammars: what a front end asks of a vocabulary, and the expressions for tokens themselves, whatever their text is.

A token is a character beyond Unicode, its *symbol*, U+110000 + id (native/text/token_symbols.hpp). So an expression for a set of
tokens is a :class:`~psc.compiler.expressions.expression.Chars`, and what holds for characters holds for tokens. A vocabulary
gives symbols to the tokens that a grammar tells apart. A special token is never text; where a grammar writes text that is the
name of one, the front end may take either, see :meth:`TokenNames.spellings`.

Cost: linear in the ids of a set; finding a token by its text builds a table of the vocabulary once, 20 ms for 128,000 tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np

from psc.compiler.expressions.expression import MAX_CODE_POINT, Chars, merged_ranges
from psc.support.cached_property import cached_property
from psc.support.similar import similar
from psc.vocabulary.tokenizer_info import PADDING, TokenizerInfo

FIRST_TOKEN: Final = MAX_CODE_POINT + 1
"""The symbol of token 0."""
MAX_TOKENS: Final = 1 << 20
"""How many ids can have a symbol."""


class TokenNames:
    """What the front ends ask of a vocabulary.

    Args:
        tokenizer: the vocabulary.
    """

    def __init__(self, tokenizer: TokenizerInfo) -> None:
        self.tokenizer: Final = tokenizer

    @property
    def size(self) -> int:
        """Ids are below."""
        return self.tokenizer.vocab_size

    @property
    def stop_ids(self) -> frozenset[int]:
        """The tokens that end a text."""
        return frozenset(self.tokenizer.stop_token_ids)

    @cached_property
    def special_names(self) -> Mapping[str, int]:
        """Special tokens by their names, where these are text."""
        names = {}
        for name, token in self.tokenizer.special_tokens.items():
            try:
                names[name.decode()] = token
            except UnicodeDecodeError:
                continue
        return names

    @cached_property
    def _by_name(self) -> Mapping[bytes, list[int]]:
        ids: dict[bytes, list[int]] = {}
        for token, name in enumerate(self.tokenizer.decoded_vocab):
            ids.setdefault(name, []).append(token)
        return ids

    @cached_property
    def _by_text(self) -> Mapping[bytes, int]:
        return {text: token for token, text in reversed(list(enumerate(self.tokenizer.token_texts))) if text}

    def special_id(self, text: str) -> int | None:
        """The special token of a name."""
        return self.special_names.get(text)

    def id_of(self, text: str) -> int | None:
        """The token that is called so: a special one's name, or the whole text of one; the smallest id of several."""
        special = self.special_id(text)
        return self._by_text.get(text.encode(errors="surrogatepass")) if special is None else special

    def ids_of(self, text: str) -> list[int]:
        """All tokens that are called so: special ones by their names, and those of which it is the whole text."""
        return self._by_name.get(text.encode(errors="surrogatepass"), []) if text else []

    def is_token(self, token: int) -> bool:
        """Whether an id is one of a token: it is in range and no padding."""
        return 0 <= token < self.size and self.tokenizer.token_kinds[token] != PADDING

    def close_names(self, text: str, n: int = 3) -> list[str]:
        """Names of special tokens that are like a text, for messages."""
        return similar(text, self.special_names, n=n)

    @cached_property
    def _no_free_tokens(self) -> frozenset[int]:
        padding = np.flatnonzero(self.tokenizer.token_kinds == PADDING).tolist()
        return frozenset(padding) | self.stop_ids

    def tokens_except(self, ids: Iterable[int]) -> Chars:
        """Any one token but these and the stop tokens."""
        return _all_but(self._no_free_tokens.union(ids), self.size)


def token_set(ids: Iterable[int]) -> Chars:
    """One of these tokens, itself."""
    return Chars(merged_ranges((FIRST_TOKEN + i, FIRST_TOKEN + i) for i in set(ids)))


def tokens_of(chars: Chars) -> tuple[tuple[int, int], ...]:
    """The inclusive ranges of ids of the tokens in a set of characters."""
    return tuple([(max(low, FIRST_TOKEN) - FIRST_TOKEN, high - FIRST_TOKEN) for low, high in chars.ranges if high >= FIRST_TOKEN])


def _all_but(ids: Iterable[int], size: int) -> Chars:
    gaps = []
    at = 0
    for i in sorted({i for i in ids if 0 <= i < size}):
        if at < i:
            gaps.append((FIRST_TOKEN + at, FIRST_TOKEN + i - 1))
        at = i + 1
    if at < size:
        gaps.append((FIRST_TOKEN + at, FIRST_TOKEN + size - 1))
    return Chars(tuple(gaps))
