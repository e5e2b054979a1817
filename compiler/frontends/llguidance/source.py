"""The text of a grammar, with the messages that point into it."""

from __future__ import annotations

from typing import TypeVar

from psc.errors import GrammarError, ResourceLimitError

_LONGEST_LINE = 120
_Error = TypeVar("_Error", bound=GrammarError)


class Source:
    """A grammar text and its name. Lines end with LF, and are counted from 1, as columns are."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name

    def line(self, offset: int) -> int:
        """The line of an offset."""
        return self.text.count("\n", 0, offset) + 1

    def error(self, offset: int, message: str) -> GrammarError:
        """The error to raise about what stands at an offset."""
        return self._positioned(GrammarError(self._told(offset, message)), offset)

    def limit(self, offset: int, message: str) -> ResourceLimitError:
        """The error to raise where what stands at an offset passes a limit."""
        return self._positioned(ResourceLimitError(self._told(offset, message)), offset)

    def _positioned(self, error: _Error, offset: int) -> _Error:
        column = offset - self.text.rfind("\n", 0, offset)
        return error.with_position(path=self.name, line=self.line(offset), column=column)

    def _told(self, offset: int, message: str) -> str:
        begin = self.text.rfind("\n", 0, offset) + 1
        end = self.text.find("\n", offset)
        shown = self.text[begin : len(self.text) if end < 0 else end].rstrip("\r")
        place = f"{self.name}: Lark error at line {self.line(offset)}, column {offset - begin + 1}: {message}"
        return place if len(shown) > _LONGEST_LINE else f"{place}\n  {shown}\n  {' ' * (offset - begin)}^"
