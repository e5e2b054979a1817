"""The interface of a reference parser."""

from __future__ import annotations

import subprocess
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
    """Whether it is about names, such as those of an element's tags that are not equal, which no context-free grammar compares."""
    judged: bool = True
    """False: the parser has not read the text to its end, for another reason than its syntax."""


def not_in_time(seconds: float) -> Refusal:
    """What is said of a text whose parser has not answered within this number of seconds."""
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


class ProcessForEachText:
    """A parser that is a program, started for each text."""

    seconds: float = SECONDS_FOR_A_TEXT
    """For a text."""
    _version: str

    @property
    def version(self) -> str:
        return self._version

    def judge(self, texts: Sequence[str]) -> list[Refusal | None]:
        return [self._judge_in_time(text) for text in texts]

    def close(self) -> None:
        pass

    def _judge(self, text: str) -> Refusal | None:
        """The verdict on a text. Raises `subprocess.TimeoutExpired` after `seconds`."""
        raise NotImplementedError

    def _judge_in_time(self, text: str) -> Refusal | None:
        try:
            return self._judge(text)
        except subprocess.TimeoutExpired:
            return not_in_time(self.seconds)
