"""The trigger that tokens have to contain before their grammar begins: a text such as ``</think>``, or token ids.

The idea: Knuth, Morris and Pratt's automaton over the bytes of each text, and over the ids of each sequence of ids, all of them
stepped together. A text may be spelled across tokens, and may end inside one; what that token has after it is reported, because
it is the beginning of what the grammar constrains. Special tokens are not text: they break a text that is being spelled, except
that a special token which is *called* like a text is that text (models have ``</think>`` as one token, special or not).

Cost: a token's bytes, times the number of triggers; a state is a tuple of small integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from psc.errors import MatcherError
from psc.vocabulary.tokenizer_info import TokenizerInfo

State = tuple[int, ...]


class Completed(NamedTuple):
    """A trigger ended within a token."""

    rest: bytes
    """The token's bytes after it; empty when it ended where the token ends."""


class Trigger:
    """Texts and sequences of token ids; the first to appear counts.

    Args:
        triggers: a text, bytes, a token id, a sequence of token ids, or several of these in a list. A list of integers alone is one
            sequence.
        tokenizer_info: the vocabulary.

    Raises:
        MatcherError: there is none, one is empty, or an id is not in the vocabulary.
    """

    def __init__(self, triggers: Pattern | Iterable[Pattern], tokenizer_info: TokenizerInfo) -> None:
        self.tokenizer_info = tokenizer_info
        self._texts: list[bytes] = []
        self._ids: list[tuple[int, ...]] = []
        for pattern in _patterns(triggers):
            if isinstance(pattern, bytes):
                self._texts.append(pattern)
                named = tokenizer_info.special_tokens.get(pattern)
                if named is not None:
                    self._ids.append((named,))
            else:
                for token_id in pattern:
                    if not 0 <= token_id < tokenizer_info.vocab_size:
                        raise MatcherError(f"trigger: there is no token {token_id}; the vocabulary has {tokenizer_info.vocab_size}")
                self._ids.append(pattern)
        if not self._texts and not self._ids:
            raise MatcherError("no trigger was given; without one the grammar would never begin")
        if not all(self._texts) or not all(self._ids):
            raise MatcherError("an empty trigger is everywhere; use the grammar without a trigger")
        self._text_borders = [_borders(text) for text in self._texts]
        self._id_borders = [_borders(ids) for ids in self._ids]
        self._special = frozenset(tokenizer_info.special_token_ids)
        self.start: State = (0,) * (len(self._texts) + len(self._ids))

    def step(self, state: State, token_id: int) -> State | Completed:
        """The state after a token, or that a trigger has ended in it.

        When several end, the one that ends first counts, and of ids and text the ids: then nothing of the token is left.
        """
        n_texts = len(self._texts)
        after: list[int] = []
        by_id = False
        for ids, borders, matched in zip(self._ids, self._id_borders, state[n_texts:], strict=True):
            matched = _advance(ids, borders, matched, token_id)
            by_id = by_id or matched == len(ids)
            after.append(matched)
        if by_id:
            return Completed(b"")
        if not n_texts:
            return tuple(after)
        if token_id in self._special:
            return (0,) * n_texts + tuple(after)
        spelled = self.tokenizer_info.token_bytes(token_id)
        states = list(state[:n_texts])
        for position, byte in enumerate(spelled):
            for i, text in enumerate(self._texts):
                states[i] = _advance(text, self._text_borders[i], states[i], byte)
                if states[i] == len(text):
                    return Completed(spelled[position + 1 :])
        return (*states, *after)

    def __repr__(self) -> str:
        return f"Trigger({[*(t.decode(errors='replace') for t in self._texts), *map(list, self._ids)]})"


Pattern = str | bytes | int | Sequence[int]


def _patterns(triggers: Pattern | Iterable[Pattern]) -> list[bytes | tuple[int, ...]]:
    listed: list[Any] = [triggers] if isinstance(triggers, str | bytes | int) else list(triggers)
    if listed and all(isinstance(each, int) for each in listed):
        listed = [listed]  # one sequence of ids
    patterns: list[bytes | tuple[int, ...]] = []
    for each in listed:
        if isinstance(each, str):
            patterns.append(each.encode())
        elif isinstance(each, bytes):
            patterns.append(each)
        elif isinstance(each, int):
            patterns.append((each,))
        elif isinstance(each, Sequence) and all(isinstance(i, int) for i in each):
            patterns.append(tuple(each))
        else:
            raise MatcherError(f"a trigger is a text, bytes, a token id or a sequence of token ids, not {each!r}")
    return patterns


def _borders(pattern: Sequence[int]) -> list[int]:
    """For each prefix, the length of its longest proper border: where the automaton goes back to."""
    borders = [0] * len(pattern)
    length = 0
    for i in range(1, len(pattern)):
        while length and pattern[i] != pattern[length]:
            length = borders[length - 1]
        length += pattern[i] == pattern[length]
        borders[i] = length
    return borders


def _advance(pattern: Sequence[int], borders: list[int], matched: int, symbol: int) -> int:
    while matched and pattern[matched] != symbol:
        matched = borders[matched - 1]
    return matched + (pattern[matched] == symbol)
