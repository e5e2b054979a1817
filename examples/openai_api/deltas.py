"""What a text is made of, as it comes: text, and calls of tools."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Text:
    """Text that is no call."""

    text: str


@dataclass(frozen=True)
class CallBegin:
    """The begin of the ``index``-th call, from 0."""

    index: int
    name: str


@dataclass(frozen=True)
class Arguments:
    """More of the JSON text of a call's arguments, or of the text that a custom tool is called with."""

    index: int
    text: str


Delta = Text | CallBegin | Arguments


class Reader(Protocol):
    """Finds calls in a text."""

    def feed(self, piece: str) -> Iterator[Delta]:
        """What is certain with one more piece."""

    def finish(self) -> Iterator[Delta]:
        """What is left at the end of the text."""


class TextReader:
    """Of a text without calls."""

    def feed(self, piece: str) -> Iterator[Delta]:
        """The piece."""
        yield Text(piece)

    def finish(self) -> Iterator[Delta]:
        """Nothing."""
        return iter(())


def kept_back(text: str, markers: tuple[str, ...]) -> int:
    """How many characters at the end of a text may be the begin of a marker."""
    return max((n for m in markers for n in range(1, len(m)) if text.endswith(m[:n])), default=0)
