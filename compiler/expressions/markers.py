"""Markers: texts that a grammar writes around what it constrains, `<tool_call>` say, spelled by characters or by special tokens.

A special token is never text. Where the name of one is in a marker, the token will do, whatever the rest is spelled by:

    <|channel|>final   characters, or the token <|channel|> and then the characters of "final"

A marker is a line of places, from before its first character to behind its last one. A character leads to the next place, a token
from before its name to behind it; so names may overlap.

Cost: linear in the text, and for each special token whose name is in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from psc.compiler.expressions.expression import Automaton, Expression, Literal
from psc.compiler.expressions.tokens import FIRST_TOKEN, token_set


@dataclass(frozen=True, slots=True)
class Marker:
    """What a marker may be spelled by."""

    text: str
    """Its characters; none where it is a token and nothing else."""
    tokens: tuple[tuple[int, int, int], ...] = ()
    """(place before, token, place behind), ascending."""

    @staticmethod
    def of_text(text: str, special: Mapping[str, int]) -> Marker:
        """A text in which names of special tokens may be; `special`: these tokens by their names."""
        tokens = []
        for name, token in special.items():
            at = text.find(name) if name else -1
            while at >= 0:
                tokens.append((at, token, at + len(name)))
                at = text.find(name, at + 1)
        return Marker(text, tuple(sorted(tokens)))

    @staticmethod
    def of_token(token: int) -> Marker:
        """A token, whatever its text is."""
        return Marker("", ((0, token, 1),))

    @property
    def length(self) -> int:
        """The last place."""
        return len(self.text) if self.text else self.tokens[0][2] if self.tokens else 0

    def after(self, place: int) -> Marker:
        """What is left behind a place of a text."""
        return Marker(self.text[place:], tuple([(a - place, t, b - place) for a, t, b in self.tokens if a >= place]))

    def expression(self) -> Expression:
        """All its spellings."""
        if not self.tokens:
            return Literal(self.text)
        if not self.text:
            return token_set([token for _, token, _ in self.tokens])
        arcs = [(i, ord(c), ord(c), i + 1) for i, c in enumerate(self.text)]
        arcs += [(a, FIRST_TOKEN + t, FIRST_TOKEN + t, b) for a, t, b in self.tokens]
        return Automaton((*[False] * len(self.text), True), tuple(sorted(arcs)))
