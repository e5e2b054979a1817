"""The text of a regex while it is read, with the messages that point into it."""

from __future__ import annotations

from psc.errors import GrammarError, ResourceLimitError


class Source:
    """A pattern and the offset of what is read next."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self.at = 0

    @property
    def at_end(self) -> bool:
        return self.at >= len(self.text)

    def peek(self) -> str:
        """The next character, or the empty text at the end."""
        return self.text[self.at : self.at + 1]

    def next(self) -> str:
        """Reads a character, which must be there."""
        self.at += 1
        return self.text[self.at - 1]

    def take(self, text: str) -> bool:
        """Reads `text` if it comes next."""
        if not self.text.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def error(self, at: int, message: str) -> GrammarError:
        """The error to raise for what stands at an offset."""
        return GrammarError.at(self.name, message, **self._position(at))

    def limit(self, at: int, message: str) -> ResourceLimitError:
        """The error to raise where what stands at an offset passes a limit."""
        return ResourceLimitError.at(self.name, message, **self._position(at))

    def _position(self, at: int) -> dict[str, int]:
        begin = self.text.rfind("\n", 0, at) + 1
        return {"line": self.text.count("\n", 0, at) + 1, "column": at - begin + 1}
