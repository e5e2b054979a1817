"""Names that are like a word, for "did you mean".

Cost: some 20 us a name, of 1,000 at most; a word or a name of more than 60 characters is like none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_MAX_CHARACTERS: Final = 60
_MAX_NAMES: Final = 1_000


def similar(word: str, names: Iterable[str], n: int = 1, cutoff: float = 0.6) -> list[str]:
    """The names that are most like a word, the likest first, as `difflib` finds them.

    Of more than 1,000 names of about this length, those that begin as the word does are looked at first.

    Args:
        word: what was written.
        names: what there is.
        n: how many to give at most.
        cutoff: from 0, which all names reach, to 1, which the word itself does.
    """
    import difflib

    size = len(word)
    if size > _MAX_CHARACTERS:
        return []
    near = [m for m in names if len(m) <= _MAX_CHARACTERS and 2 * min(len(m), size) >= cutoff * (len(m) + size)]
    if len(near) > _MAX_NAMES:
        near.sort(key=lambda m: m[:1] != word[:1])
    return difflib.get_close_matches(word, near[:_MAX_NAMES], n=n, cutoff=cutoff)
