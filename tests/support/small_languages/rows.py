"""What a file of a small language has: rows of texts, and pieces to make random ones of."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Rows:
    """Texts, by the verdicts of the grammar and of the language's own parser."""

    accepted: Sequence[str]
    """By both."""
    refused: Sequence[str]
    """By both."""
    stricter: Sequence[str] = ()
    """Those that the grammar alone refuses."""
    looser: Sequence[str] = ()
    """Those that it alone accepts."""
    pieces: Sequence[str] = ()
    """Of random texts: put at a place of an accepted one."""
    words: Sequence[str] = ()
    """Of random texts: put among those of an accepted one, blanks between."""
    tokens: Sequence[str] = ()
    """More tokens for masks."""
    texts: int = 2_000
    """How many random texts: fewer where the parser takes long."""
    differs: Callable[[str], bool] = lambda _: False
    """Whether a random text may have what the two judge differently."""
