"""The line of every table, key and array element of a TOML file, which ``tomllib`` does not report.

``tomllib`` has read the text before, so it is valid and only has to be cut. A path indexes the parsed document:
``("jobs", 2, "grammars", 0)``. Cost: linear in the text.
"""

from __future__ import annotations

import bisect
import re
import tomllib

KeyPath = tuple[str | int, ...]

_SPACE = re.compile(r"(?:[ \t]|#[^\n]*)*")
_SPACE_AND_LINES = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
# Three quotes are tried before one; up to two more may precede the three that close.
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})' r"|'''.*?'''(?:'{0,2})" r'|"(?:\\.|[^"\\\n])*"' r"|'[^'\n]*'",
    re.DOTALL,
)
_PLAIN_VALUE = re.compile(r"[^,\]}#\r\n]+")


def key_lines(text: str) -> dict[KeyPath, int]:
    """The line, counted from 1, of every path in a document.

    Args:
        text: of a document that ``tomllib.loads`` accepts.

    Returns:
        Per path its line: of a table's header (the first one that mentions it), of a key, of an array's element.
    """
    # As tomllib does it, so that a carriage return is not part of the value before it.
    scan = _Scan(text.replace("\r\n", "\n"))
    scan.document()
    return scan.lines


class _Scan:
    def __init__(self, text: str) -> None:
        self.lines: dict[KeyPath, int] = {}
        self._text = text
        self._at = 0
        self._newlines = [m.start() for m in re.finditer("\n", text)]
        self._lengths: dict[KeyPath, int] = {}
        """Per array of tables the number of tables so far."""

    def document(self) -> None:
        table: KeyPath = ()
        while True:
            self._skip(_SPACE_AND_LINES)
            if self._at >= len(self._text):
                return
            if self._text.startswith("[[", self._at):
                table = self._array_table()
            elif self._text[self._at] == "[":
                table = self._table()
            else:
                self._pair(table)

    def _array_table(self) -> KeyPath:
        line = self._line()
        self._at += 2
        *outer, last = self._key()
        array = (*self._resolved(outer, line), last)
        self._skip(_SPACE)
        self._at += 2
        number = self._lengths.get(array, 0)
        self._lengths[array] = number + 1
        self._note(array, line)
        self._note((*array, number), line)
        return (*array, number)

    def _table(self) -> KeyPath:
        line = self._line()
        self._at += 1
        path = self._resolved(self._key(), line)
        self._skip(_SPACE)
        self._at += 1
        return path

    def _resolved(self, keys: list[str], line: int) -> KeyPath:
        """The path that a header's keys mean: of an array of tables, its last one."""
        path: KeyPath = ()
        for key in keys:
            path = (*path, key)
            self._note(path, line)
            if path in self._lengths:
                path = (*path, self._lengths[path] - 1)
        return path

    def _pair(self, table: KeyPath) -> None:
        line = self._line()
        path = table
        for key in self._key():
            path = (*path, key)
            self._note(path, line)
        self._skip(_SPACE)
        self._at += 1  # =
        self._skip(_SPACE)
        self._value(path)

    def _value(self, path: KeyPath) -> None:
        start = self._text[self._at]
        if start == "[":
            self._array(path)
        elif start == "{":
            self._inline_table(path)
        else:
            self._skip(_STRING if start in "\"'" else _PLAIN_VALUE)

    def _array(self, path: KeyPath) -> None:
        self._at += 1
        number = 0
        while True:
            self._skip(_SPACE_AND_LINES)
            if self._text[self._at] == "]":
                break
            if self._text[self._at] == ",":
                self._at += 1
                continue
            self._note((*path, number), self._line())
            self._value((*path, number))
            number += 1
        self._at += 1

    def _inline_table(self, path: KeyPath) -> None:
        self._at += 1
        while True:
            self._skip(_SPACE_AND_LINES)
            if self._text[self._at] == "}":
                break
            if self._text[self._at] == ",":
                self._at += 1
                continue
            self._pair(path)
        self._at += 1

    def _key(self) -> list[str]:
        keys = []
        while True:
            self._skip(_SPACE)
            if self._text[self._at] in "\"'":
                begin = self._at
                self._skip(_STRING)
                keys.append(str(tomllib.loads(f"k={self._text[begin : self._at]}")["k"]))
            else:
                begin = self._at
                self._skip(_BARE_KEY)
                keys.append(self._text[begin : self._at])
            self._skip(_SPACE)
            if not self._text.startswith(".", self._at):
                return keys
            self._at += 1

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self._text, self._at)
        assert match is not None, f"not TOML at {self._at}"
        self._at = match.end()

    def _line(self) -> int:
        return bisect.bisect_left(self._newlines, self._at) + 1

    def _note(self, path: KeyPath, line: int) -> None:
        self.lines.setdefault(path, line)
