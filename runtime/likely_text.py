"""Text that probably comes next, where a grammar leaves nothing open but white space: a guess, for drafts that a model verifies.

JSON may have white space between any two tokens. So of ``{"name": "Ada", "age": 36}`` nothing is forced but the letters of names.
Yet the next byte that is not white space often has no alternative, and a text has the same white space in the same places. So white
space is guessed: as it was before in this text, in lines or in one line; at the beginning as most models write it, with a space
after commas and colons.

Cost: 5 to 30 us for each place where white space is guessed, and the cost of `find_jump_forward_string` between them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import numpy as np

from psc._core import GrammarMatcher
from psc.vocabulary.tokenizer_info import TokenizerInfo

_BLANKS: Final = b" \t\n\r"
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_OPENING: Final = (b"{", b"[")
_CLOSING: Final = (b"}", b"]")
_FIRST_LINE: Final = re.compile(rb"[{\[]\r?\n([ \t]+)")
_LAST_LINE: Final = re.compile(rb"(?:\A|\n)([ \t]*)[^\n]*\Z")
_MAX_BYTES: Final = 512
"""Of text that is guessed at once."""


class LikelyText:
    """Guesses for one vocabulary.

    Args:
        info: the vocabulary.
    """

    def __init__(self, info: TokenizerInfo) -> None:
        single = [(text[0], token) for token, text in enumerate(info.token_texts) if len(text) == 1]
        self._bytes = np.array([byte for byte, _ in single], np.int64)
        tokens = np.array([token for _, token in single], np.int64)
        self._words, self._bits = tokens >> 5, (tokens & 31).astype(np.int32)

    def find(self, matcher: GrammarMatcher, before: Callable[[], bytes]) -> bytes:
        """The bytes that probably come next; empty where no white space has to be guessed, and all is forced or open.

        Args:
            matcher: where the text is; it is not changed.
            before: gives the end of the text so far; the longer, the better the guess.
        """
        ahead, found, is_guess = matcher.fork(), b"", False
        while len(found) < _MAX_BYTES and not ahead.is_terminated():
            more = ahead.find_jump_forward_string().encode()  # whole characters
            if not more and (other := self._only_other(ahead)):
                text = before() + found
                usual, begun = usual_blanks(text, other), text[len(text.rstrip(_BLANKS)) :]
                more = usual[len(begun) :] + other if usual.startswith(begun) else b""
                is_guess = True
            if not more or not ahead.accept_string(more):
                break
            found += more
        return found if is_guess else b""

    def _only_other(self, ahead: GrammarMatcher) -> bytes:
        """The byte that is allowed next besides white space, where there is one; else nothing."""
        if ahead.is_completed():
            return b""
        allowed = set(self._bytes[(ahead.mask()[self._words] >> self._bits & 1) == 1].tolist())
        others = bytes(allowed.difference(_BLANKS))
        return others if len(others) == 1 < len(allowed) else b""


def usual_blanks(text: bytes, following: bytes) -> bytes:
    """The white space that probably stands between the last other character of a text and one that follows.

    Args:
        text: up to there, with a part of that white space or without.
        following: the character.
    """
    frame = _STRING.sub(b'""', text)  # whose signs are no strings' signs
    solid = frame.rstrip(_BLANKS)
    last, end = solid[-1:], len(solid) - 1
    if last in _OPENING:  # as behind the bracket before it
        if following in _CLOSING:
            return b""
        before = max(solid.rfind(sign, 0, end) for sign in _OPENING)
        blanks = _blanks_at(frame, before + 1) if before >= 0 else b""
        return _line(frame, 1) if b"\n" in blanks else blanks
    bracket = _open_bracket(solid)
    blanks = _blanks_at(frame, bracket + 1) if bracket >= 0 else b""
    if following in _CLOSING:
        return _line(frame, -1) if b"\n" in blanks else blanks
    if last == b",":
        if b"\n" in blanks:
            return _line(frame, 0)
        same = solid.rfind(b",", bracket + 1, end)
        same = solid.rfind(b":") if same < 0 else same
    else:
        same = solid.rfind(last, 0, end) if last else -1
    return _blanks_at(frame, same + 1) if same >= 0 else b" " if last in (b",", b":") else b""


def _line(text: bytes, depth: int) -> bytes:
    """A line end and the indentation of a text's last line, by one level deeper, or as it is, or less deep."""
    first, last = _FIRST_LINE.search(text), _LAST_LINE.search(text.rstrip(_BLANKS))
    level, indentation = first[1] if first else b"", last[1] if last else b""
    return b"\n" + (indentation + level if depth > 0 else indentation[: len(indentation) + depth * len(level)])


def _blanks_at(text: bytes, place: int) -> bytes:
    """The white space that begins at a place."""
    return text[place : len(text) - len(text[place:].lstrip(_BLANKS))]


def _open_bracket(text: bytes) -> int:
    """Where the innermost bracket that is open at the end of a text stands; -1 if there is none."""
    depth = 0
    for place in range(len(text) - 1, -1, -1):
        if text[place] in b"}]":
            depth += 1
        elif text[place] in b"{[":
            depth -= 1
            if depth < 0:
                return place
    return -1
