"""Forced text as tokens: cut as the model's tokenizer cuts it, and no further than any continuation leaves it so.

A tokenizer cuts a text as a whole, so where a text is forced its tokens depend on what stands before and on what follows. In
``{"name": "`` a tokenizer may cut ` "` at the end; when the string begins with a comma, it cuts ` ",`. So the last tokens are held
back where something longer could stand in their place, and the rest are what the model would write.

What may follow is looked at one token at a time. Let ``B`` be the text up to the end of what is forced. If a tokenizer cuts a
longer text so that a token begins in ``B`` and reaches beyond it, then that token is in the vocabulary, its first bytes are the end
of ``B``, and the grammar allows its others next. There are few such tokens. The tokenizer itself says of each whether it makes it
there: it cuts ``B`` and those bytes. What all these cuts of ``B`` have in common stays, whatever follows:

    B = {"a": "     tokens that reach beyond it:  ` ",`  ` "(`  …     B ",  is cut  {"  a  ":  ` ",`     common:  {"  a  ":

This holds for tokenizers that cut the beginning of a text, up to where a token ends, as they cut the text: byte pair encodings,
with pieces or without, and unigrams. Some look further than that (a normalizer joins a letter and the accent after it; a piece is
whole in the vocabulary although its beginning is not cut so), so a few usual continuations are tried as well.

Only the end of the text so far is cut again, from a space between two words or signs over which no token of the vocabulary reaches.

Cost: a call of the tokenizer, then one for each place in the last token and for some continuations, each with some hundred bytes:
0.2 to 2 ms. Cuts are kept, so where the same text comes again it takes some look-ups.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from psc._core import GrammarMatcher
from psc.runtime.likely_text import LikelyText
from psc.support.cached_property import cached_property
from psc.vocabulary.tokenizer_info import TokenizerInfo

Encode = Callable[[str], Sequence[int]]
"""The tokens of a text, as a model's tokenizer cuts it, without special tokens."""

_NEAR: Final = 24
"""Bytes before the forced text that are cut again, at least."""
_MAX_BYTES: Final = 4096
"""Of forced text that are cut at once, and of text before it."""
_MAX_TRIED: Final = 64
"""Tokens that reach beyond the end from one place, before it is taken for granted that the tokenizer makes one of the others."""
_MAX_CUTS: Final = 4096
"""Texts whose cuts are kept."""
_SIGNS: Final = ("a", "A", "0", "00", *" \t\n,\"'}])</\\_:.", " a", "  a", "\n\n", "'s")
_COMBINING: Final = ("\u0301", "\u0338", "\u200d", "\ufe0f", "\u00e9", "\u4e2d", "\u3042", "\U0001f600")
_USUAL: Final = tuple(text.encode() for text in (*_SIGNS, *_COMBINING))


@dataclass(frozen=True)
class _Cut:
    """Tokens of a text, or of its beginning, and where each ends."""

    tokens: list[int]
    ends: list[int]

    def after(self, place: int) -> list[int]:
        """The tokens from a place on; none where none begins there."""
        if place == 0:
            return self.tokens
        return self.tokens[self.ends.index(place) + 1 :] if place in self.ends else []

    def has(self, token: bytes, place: int) -> bool:
        """Whether the text is cut at a place, and behind as many bytes as the token has."""
        return (place == 0 or place in self.ends) and place + len(token) in self.ends


class ForcedTokens:
    """Cuts forced texts for one vocabulary and its tokenizer.

    Args:
        info: the vocabulary.
        encode: the tokenizer. What it gives is checked: tokens count as far as their bytes are the text's.
    """

    def __init__(self, info: TokenizerInfo, encode: Encode) -> None:
        self._info = info
        self._encode = encode
        self._texts, self._ids = info.sorted_texts
        self._longest = max(map(len, self._texts), default=0)
        self._cuts: dict[bytes, _Cut] = {}

    def find(self, matcher: GrammarMatcher, steps: Sequence[int | bytes], forced: bytes) -> list[int]:
        """The tokens of a forced text that stay, whatever follows.

        Args:
            matcher: where the text is; it is not changed.
            steps: the last that it took.
            forced: what comes next; it may end inside a character.
        """
        before = self._text_before(steps, is_all=matcher.n_steps == len(steps))
        forced = _whole_characters(forced[:_MAX_BYTES], before or b"")
        behind = matcher.fork()
        if before is None or not forced or not behind.accept_string(forced):
            return []
        tokens = self._stable(before, forced, behind)
        return tokens[: matcher.validate_tokens(tokens)]

    def find_likely(self, matcher: GrammarMatcher, steps: Sequence[int | bytes]) -> list[int]:
        """The tokens of the text that probably comes next, see `LikelyText`; an empty list where nothing has to be guessed.

        The last token is left out, since what follows may make it longer.

        Args:
            matcher: where the text is; it is not changed.
            steps: the last that it took.
        """
        likely = self._likely.find(matcher, lambda: b"".join(self._text_of(step) for step in steps))
        before = self._text_before(steps, is_all=matcher.n_steps == len(steps)) if likely else None
        if before is None:
            return []
        tokens = self._cut(_whole_characters(before + likely)).after(len(before))[:-1]
        return tokens[: matcher.validate_tokens(tokens)]

    @cached_property
    def _likely(self) -> LikelyText:
        return LikelyText(self._info)

    def _text_before(self, steps: Sequence[int | bytes], *, is_all: bool) -> bytes | None:
        """The end of the text so far, from a place where a token begins; None where there is no such place."""
        pieces: list[bytes] = []
        for step in reversed(steps):
            piece = self._text_of(step)
            if isinstance(step, int) and not piece:  # a special token: the text begins behind it
                is_all = True
                break
            pieces.append(piece)
        text = b"".join(reversed(pieces))
        if is_all and len(text) <= 4 * _NEAR:
            return text
        place = len(text) - _NEAR
        while (place := text.rfind(b" ", 1, max(place, 1))) > 0:
            around = text[place - 1], text[place + 1]
            if not any(bytes((byte,)).isspace() for byte in around) and text[place - 1 : place] not in self._before_spaces:
                return text[place:]
        return text if is_all and len(text) <= _MAX_BYTES else None

    def _text_of(self, step: int | bytes) -> bytes:
        return step if isinstance(step, bytes) else self._info.token_texts[step]

    @cached_property
    def _before_spaces(self) -> frozenset[bytes]:
        """Bytes that stand before a space inside a token, as `.` in a token `. The`."""
        return frozenset(
            text[i - 1 : i] for text in self._texts if b" " in text[1:] for i in range(1, len(text)) if text[i : i + 1] == b" "
        )

    def _stable(self, before: bytes, forced: bytes, behind: GrammarMatcher) -> list[int]:
        text, begin = before + forced, len(before)
        tokens = self._cut(text).after(begin)
        for place in range(len(text) - 1, max(len(text) - self._longest, -1), -1):
            if not tokens:
                return []
            longer = self._longer(text[place:])
            # Where the tokens are known to end before, what begins here leaves them alone.
            if longer and not (begin <= place < len(text) - 1 and self._begins(place, begin, tokens, text)):
                tokens = self._left_by(longer, place, begin, tokens, text, behind)
        if tokens and begin + sum(len(self._info.token_texts[token]) for token in tokens) == len(text):
            for more in _USUAL:
                if _allows(behind, more):
                    tokens = _common(tokens, self._cut(text + more).after(begin))
        return tokens

    def _begins(self, place: int, begin: int, tokens: list[int], text: bytes) -> bool:
        """Whether the text up to a place is cut into these tokens first, and more."""
        return self._cut(text[:place]).after(begin)[: len(tokens)] == tokens

    def _left_by(
        self, longer: list[bytes], place: int, begin: int, tokens: list[int], text: bytes, behind: GrammarMatcher
    ) -> list[int]:
        """Of tokens, those that stay where one of others may reach from a place beyond the end of the text."""
        tried = 0
        for token in longer:
            more = token[len(text) - place :]
            if not _allows(behind, more):
                continue
            if tried == _MAX_TRIED or not _is_whole(text + more):
                return _common(tokens, self._cut(_whole_characters(text[:place])).after(begin))
            tried += 1
            cut = self._cut(text + more)
            tokens = _common(tokens, cut.after(begin))
            if cut.has(token, place) or not tokens:
                break
        return tokens

    def _longer(self, beginning: bytes) -> list[bytes]:
        """The tokens with this beginning that are longer, those with small ids first: they are the frequent ones."""
        first = bisect_right(self._texts, beginning)
        last = bisect_left(self._texts, beginning + b"\xff" * (self._longest - len(beginning) + 1))
        return [self._info.token_texts[token] for token in sorted(self._ids[first:last])]

    def _cut(self, text: bytes) -> _Cut:
        """How the tokenizer cuts a text, as far as the bytes of its tokens are the text's."""
        found = self._cuts.get(text)
        if found is None:
            if len(self._cuts) >= _MAX_CUTS:
                self._cuts.clear()
            found = self._cuts[text] = self._cut_anew(text)
        return found

    def _cut_anew(self, text: bytes) -> _Cut:
        try:
            tokens = list(self._encode(text.decode()))
        except UnicodeDecodeError:
            return _Cut([], [])
        cut = self._matching(tokens, text, 0)
        if cut.ends[-1:] != [len(text)]:  # some tokenizers put a space before a text
            spaced = self._matching(tokens, b" " + text, -1)
            if spaced.ends[-1:] == [len(text)]:
                return spaced
        return cut

    def _matching(self, tokens: list[int], text: bytes, shift: int) -> _Cut:
        place, ends = 0, []
        for token in tokens:
            piece = self._info.token_texts[token] if 0 <= token < self._info.vocab_size else b""
            if not piece or text[place : place + len(piece)] != piece:
                break
            place += len(piece)
            ends.append(place + shift)
        return _Cut(tokens[: len(ends)], ends)


def _allows(behind: GrammarMatcher, text: bytes) -> bool:
    """Whether a text may come next."""
    if not behind.accept_string(text):
        return False
    behind.rollback(1)
    return True


def _common(tokens: list[int], others: list[int]) -> list[int]:
    """The tokens with which both begin."""
    n = 0
    while n < min(len(tokens), len(others)) and tokens[n] == others[n]:
        n += 1
    return tokens[:n]


def _is_whole(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _whole_characters(text: bytes, before: bytes = b"") -> bytes:
    """A text without the character that it ends in, if that is not whole. It may begin inside one."""
    for n in range(4):
        if n <= len(text) and _is_whole(before + text[: len(text) - n]):
            return text[: len(text) - n]
    return b""
