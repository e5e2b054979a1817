"""The limits of psc: what a grammar, a text, a file or a call may cost. The table is in native/base/limits.hpp.

::

    MAX_TEXT: Final = limit("ebnf_characters")

The module that enforces a limit has it as a constant, so that a test can set a smaller one there.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from psc import _core


class Limit(NamedTuple):
    """A row of the table."""

    topic: str
    name: str
    value: int
    """The largest that is allowed."""
    of: str
    """What is counted."""
    cost: str
    """Of each; empty where nobody has measured it, or the limit only bounds a number."""
    past_it: str
    """What happens where it is exceeded."""


LIMITS: Final = tuple(Limit(*row) for row in _core.limits())
_VALUES: Final = {row.name: row.value for row in LIMITS}


def limit(name: str) -> int:
    """The largest value that a limit allows. Raises KeyError for a name that the table does not have."""
    return _VALUES[name]
