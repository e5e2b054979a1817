"""XGrammar's module of settings: the depth of recursion, and the version of serialized objects.

Nothing in psc recurses with the depth of a text, so a depth is kept for who asks, and limits nothing. It is checked as XGrammar
checks it, so that a program that relies on the error gets it. The variable ``XGRAMMAR_MAX_RECURSION_DEPTH`` is not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from operator import index

from psc.errors import MatcherError
from psc.support.serialization import get_serialization_version

__all__ = ["get_max_recursion_depth", "get_serialization_version", "max_recursion_depth", "set_max_recursion_depth"]

_LARGEST = 1_000_000
_depth = 10_000


def get_max_recursion_depth() -> int:
    """The depth set last, 10,000 at the start; for callers of XGrammar: it limits nothing."""
    return _depth


def set_max_recursion_depth(max_recursion_depth: int) -> None:
    """Sets what :func:`get_max_recursion_depth` gives, for the whole process. Raises MatcherError unless from 1 to 1,000,000."""
    global _depth
    depth = index(max_recursion_depth)
    if not 1 <= depth <= _LARGEST:
        raise MatcherError(f"max_recursion_depth={depth}; it must be from 1 to {_LARGEST:,}")
    _depth = depth


@contextmanager
def max_recursion_depth(temp_depth: int) -> Iterator[None]:
    """Sets the depth inside a ``with`` block. Raises RuntimeError as :func:`set_max_recursion_depth` does."""
    before = get_max_recursion_depth()
    set_max_recursion_depth(temp_depth)
    try:
        yield
    finally:
        set_max_recursion_depth(before)
