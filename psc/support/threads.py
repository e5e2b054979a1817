"""Starting daemon threads where the program may end at any moment.

Example: a program calls `GrammarCompiler.finish` and ends. Where the interpreter goes between the start of a thread and its first
step, CPython 3.11 frees the thread's state, which the thread then reads: the process dies of signal 11. So no thread is started
once the program ends, and its end waits until those that were started run.

Cost: a lock, beside the 50 us of a thread.
"""

from __future__ import annotations

import threading
import time

from psc.support import ending
from psc.support.forks import in_child, new_lock

_PATIENCE_S = 1.0


class _Starts:
    """The threads that are being started."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._n = 0
        self._ended = False

    def start(self, thread: threading.Thread) -> None:
        """Starts a thread. Raises RuntimeError where the program ends, or has too many threads."""
        with self._lock:
            if self._ended:
                raise RuntimeError("the program ends")
            self._n += 1
        try:
            thread.start()  # returns once the thread runs
        finally:
            with self._lock:
                self._n -= 1

    def end(self) -> None:
        """Nothing is started from here on. Returns when all that was started runs, or after a second."""
        with self._lock:
            self._ended = True
        last = time.monotonic() + _PATIENCE_S
        while self._n and time.monotonic() < last:
            time.sleep(0.0001)

    def in_child(self) -> None:
        """After a fork: the threads are not there."""
        self._n = 0


_STARTS = _Starts()
start = _STARTS.start
in_child(_STARTS.in_child)
ending.at_end(_STARTS.end)
