"""An object for a process of its own. A module of its own, for the other process to import."""

from __future__ import annotations

import os
import time


class Counter:
    """Something that keeps a number."""

    def __init__(self, n: int) -> None:
        if n < 0:
            raise ValueError("negative")
        self.n = n

    def add(self, by: int) -> int:
        self.n += by
        return self.n

    def fail(self) -> None:
        raise RuntimeError("no\nmore of it")

    def crash(self) -> None:
        os._exit(3)

    def sleep(self) -> None:
        time.sleep(60)
