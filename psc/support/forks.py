"""Forks: a child has the locks that threads of its parent held, and not the threads.

Cost: a weak reference for each lock.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def new_lock() -> threading.Lock:
    """A lock that is free in the child of a fork, even if another thread held it. Each statement must leave its data right."""
    lock = threading.Lock()
    if hasattr(lock, "_at_fork_reinit"):  # so does the standard library with its own
        _locks.add(lock)
    return lock


def in_child(call: Callable[[], object]) -> None:
    """Has a function called in the child of each fork, after the locks are free. It must not raise."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=call)


def _free_locks() -> None:
    for lock in list(_locks):
        lock._at_fork_reinit()


in_child(_free_locks)
