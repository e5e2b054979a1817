"""The interface of a reference parser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

SECONDS_FOR_A_TEXT = 60.0
"""After which a program that parses is ended, and the text is not judged."""


@dataclass(frozen=True)
class Refusal:
    """Why a text is refused, and where."""

    message: str
    line: int = 0
    """From 1; 0 if the parser does not say."""
    column: int = 0
    """From 1; 0 if the parser does not say."""
    of_names: bool = False
    """Whether it is about names that are not equal, such as those of an element's tags, which no context-free grammar compares."""
    judged: bool = True
    """False: the parser has not read the text to its end, for another reason than its syntax."""


def not_in_time(seconds: float) -> Refusal:
    """What is said of a text whose parser has not answered in so many seconds."""
    return Refusal(f"no answer in {seconds:g} s", judged=False)


class Reference(Protocol):
    """A parser that is installed here."""

    @property
    def version(self) -> str:
        """Its name and version."""

    def judge(self, texts: Sequence[str]) -> list[Refusal | None]:
        """For each text None, if the language has it, or the first refusal."""

    def close(self) -> None:
        """Ends what was started for it."""
