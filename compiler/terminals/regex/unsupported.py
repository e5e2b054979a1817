"""The errors of this package: a pattern that has no exact byte automaton, or none of a reasonable size."""

from __future__ import annotations


class UnsupportedRegex(ValueError):
    """A terminal's pattern that cannot be compiled.

    Attributes:
        construct: human name of the offending construct, such as ``backreference``.
        position: its offset in the pattern, in characters, or None where it is not known.
    """

    def __init__(self, construct: str, position: int | None = None) -> None:
        where = "" if position is None else f" at position {position}"
        super().__init__(f"unsupported regular expression: {construct}{where}")
        self.construct = construct
        self.position = position


class RegexTooLarge(UnsupportedRegex):
    """A terminal's pattern that passes a limit, which the message names."""
