r"""Mutants: a text with one token left out, doubled, changed for another, put in, or two neighbours exchanged.

The tokens suit every language: strings, words, numbers, runs of operator characters, single characters. An inserted token comes
from the same text, each different token as likely as any other: the language's own words in wrong positions. Blanks and comments
are never changed, and a blank separates words, so a mutant differs in its tokens only.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

_STRING = r"\"\"\".*?\"\"\"|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`[^`]*`"
_REST = r"(?P<blank>\s+)|(?P<token>\.?[0-9](?:\w|\.|(?<=[eEpP])[-+])*|\w+|[-+*/%&|^<>=!~:]+|.)"
COMMENTS = {
    ";": r";[^\n]*",
    "//": r"//[^\n]*|/\*.*?\*/",
    "--": r"--[^\n]*|/\*.*?\*/",
    "#": r"#[^\n]*",
    "<!--": r"<!--.*?-->",
    "/*": r"/\*.*?\*/",
    "": r"(?!)",
}
"""The pattern of comments, by the start of one of a line."""


@dataclass(frozen=True)
class Mutant:
    """A changed text, and its change: ``drop ;``, ``double (``, ``} for ]``, ``insert else``, ``swap a b``."""

    text: str
    change: str
    offset: int
    """Where, in characters."""


class Tokens:
    """Finds the tokens of texts in one style of comments, a key of `COMMENTS`."""

    def __init__(self, comments: str) -> None:
        self._pattern = re.compile(f"(?P<comment>{COMMENTS[comments]})|(?P<string>{_STRING})|{_REST}", re.DOTALL)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Begin and end of each token, in characters; blanks and comments are none."""
        return [m.span() for m in self._pattern.finditer(text) if m.lastgroup in ("string", "token")]

    def around(self, text: str, offset: int) -> tuple[str, str]:
        """The token that ends at or before a position, and the one there or after it; empty where there is none."""
        before = ""
        for begin, end in self.spans(text):
            if end > offset:
                return before, text[begin:end]
            before = text[begin:end]
        return before, ""

    def mutants(self, text: str, n: int, rng: random.Random) -> Iterator[Mutant]:
        """n mutants, none equal to the text; none of a text without tokens."""
        spans = self.spans(text)
        if not spans:
            return
        words = sorted({text[b:e] for b, e in spans})
        made = 0
        for _ in range(8 * n):  # a change may give the same text again; for a text of one token it always may
            if made == n:
                return
            mutant = _mutant(text, spans, words, rng)
            if mutant.text != text:
                made += 1
                yield mutant


def _mutant(text: str, spans: list[tuple[int, int]], words: list[str], rng: random.Random) -> Mutant:
    i = rng.randrange(len(spans))
    begin, end = spans[i]
    token = text[begin:end]
    kind = rng.choice(("drop", "double", "replace", "insert", "swap"))
    if kind == "drop":
        return Mutant(_joined(text[:begin], "", text[end:]), f"drop {token}", begin)
    if kind == "double":
        return Mutant(_joined(text[:begin], f"{token} {token}", text[end:]), f"double {token}", begin)
    if kind == "replace":
        other = rng.choice(words)
        return Mutant(_joined(text[:begin], other, text[end:]), f"{other} for {token}", begin)
    if kind == "insert":
        other = rng.choice(words)
        return Mutant(_joined(text[:begin], f"{other} ", text[begin:]), f"insert {other}", begin)
    after_begin, after_end = spans[min(i + 1, len(spans) - 1)]
    after = text[after_begin:after_end]
    swapped = after + " " + text[end:after_begin] + token if after_begin > begin else token
    return Mutant(_joined(text[:begin], swapped, text[after_end:]), f"swap {token} {after}", begin)


def _joined(before: str, middle: str, after: str) -> str:
    """The three parts, with a blank where two would otherwise be read as one token."""
    out = before
    for part in (middle, after):
        if out and part and _sticks(out[-1], part[0]):
            out += " "
        out += part
    return out


_OPERATOR = frozenset("-+*/%&|^<>=!~:")


def _sticks(left: str, right: str) -> bool:
    return (_of_a_word(left) and _of_a_word(right)) or (left in _OPERATOR and right in _OPERATOR)


def _of_a_word(character: str) -> bool:
    return character.isalnum() or character in "_$."
