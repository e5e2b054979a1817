"""The lines of many places of one text: each by a search among the line breaks, which are found once."""

from __future__ import annotations

import re
from bisect import bisect_left


class LineNumbers:
    """The lines of a text, from 1."""

    def __init__(self, text: str) -> None:
        self._breaks = [m.start() for m in re.finditer("\n", text)]

    def of(self, offset: int) -> int:
        """The line of a character."""
        return bisect_left(self._breaks, offset) + 1
