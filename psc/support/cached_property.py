"""`functools.cached_property` as Python 3.12 has it, also in older ones: without a lock.

In older ones one lock serves all instances, while the value is computed. A compilation that holds it makes other threads wait
for what is not theirs, and the child of a fork beside it waits without end. Without it two threads may compute the value of one
instance at once; the last one stays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar

_T = TypeVar("_T")


class cached_property(functools.cached_property[_T]):  # noqa: TID251
    """A property that is computed once for each instance."""

    def __init__(self, func: Callable[[Any], _T]) -> None:
        super().__init__(func)
        self.lock = nullcontext()
