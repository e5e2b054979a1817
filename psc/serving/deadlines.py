"""Compilations that are called off when they take too long: one thread watches all of them.

Cost: 4 us for a compilation, where a timer of its own would begin a thread.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from psc.support import threads
from psc.support.cancellation import Cancellation
from psc.support.forks import new_lock


class Deadlines:
    """Calls off work that is not done in time.

    Args:
        limit_s: the time limit of each piece of work.
    """

    def __init__(self, limit_s: float) -> None:
        self._limit_s: Final = limit_s
        self._lock = new_lock()
        # In the order in which they began, which is that of their deadlines.
        self._watched: dict[int, tuple[float, Cancellation]] = {}
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None

    @contextmanager
    def watch(self) -> Iterator[Cancellation]:
        """Gives the cancellation of the work inside, which acts at the deadline."""
        cancellation = Cancellation()
        with self._lock:
            number = next(self._numbers)
            self._watched[number] = time.monotonic() + self._limit_s, cancellation
            if self._thread is None or not self._thread.is_alive():  # after a fork it is not
                self._thread = threading.Thread(target=self._run, name="psc deadlines", daemon=True)
                threads.start(self._thread)
        try:
            yield cancellation
        finally:
            with self._lock:
                self._watched.pop(number, None)

    def _run(self) -> None:
        """Ends when nothing is watched; `watch` begins it again."""
        while True:
            with self._lock:
                now = time.monotonic()
                for number, (end, cancellation) in list(self._watched.items()):
                    if end > now:
                        break
                    del self._watched[number]
                    cancellation.cancel()
                if not self._watched:
                    self._thread = None
                    return
                wait_s = next(iter(self._watched.values()))[0] - now
            time.sleep(wait_s)
