"""Progress of work that takes more than a second: a bar on stderr, where that is a terminal; nothing in a pipe or a file.

Short work shows nothing: a timer shows the work in progress after the second.
"""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TransferSpeedColumn,
)

_PATIENCE_S = 1.0


class _Patient:
    """A context that shows nothing for a second, then whatever was noted last, and each note from then on."""

    def __init__(self, title: str, *, quiet: bool = False) -> None:
        self._title = title
        self._quiet = quiet or not sys.stderr.isatty()
        self._lock = threading.Lock()
        self._timer = threading.Timer(_PATIENCE_S, self._begin)
        self._timer.daemon = True
        self._bar: Progress | None = None
        self._description, self._completed, self._total = title, 0, 1

    def __enter__(self) -> Self:
        if not self._quiet:
            self._timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._timer.cancel()
        with self._lock:
            self._quiet = True
            if self._bar is not None:
                self._bar.stop()
                self._bar = None

    def _columns(self) -> tuple[ProgressColumn, ...]:
        return (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())

    def _note(self, description: str, completed: int, total: int) -> None:
        with self._lock:
            self._description, self._completed, self._total = description, completed, total
            self._show()

    def _begin(self) -> None:
        with self._lock:
            if self._quiet:
                return
            self._bar = Progress(*self._columns(), console=Console(stderr=True), transient=True)
            self._bar.add_task(self._title, total=self._total)
            self._bar.start()
            self._show()

    def _show(self) -> None:
        if self._bar is not None:
            task = self._bar.task_ids[0]
            self._bar.update(task, description=self._description, completed=self._completed, total=self._total)


class Steps(_Patient):
    """A context in which ``step`` is called as each step of the work begins.

    Args:
        title: the name of the work.
        quiet: show nothing.
    """

    def step(self, name: str, number: int, n_steps: int) -> None:
        """A step begins; numbers count from 0."""
        self._note(f"{self._title}: {name}", number, n_steps)


class Transfers(_Patient):
    """A context in which ``moved`` is called as bytes come or go.

    Args:
        title: the name of the work.
        quiet: show nothing.
    """

    def moved(self, name: str, done: int, total: int) -> None:
        """Shows how many of an artifact's bytes have been moved."""
        self._note(f"{self._title}: {name}", done, total)

    def _columns(self) -> tuple[ProgressColumn, ...]:
        return (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn())
