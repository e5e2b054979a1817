"""Progress of work that takes more than a second: a bar on a terminal, plain lines elsewhere, always on stderr.

Short work shows nothing: a timer shows what is being done when the second is over.
"""

from __future__ import annotations

import sys
import threading
import time
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
_BETWEEN_LINES_S = 1.0


class _Patient:
    """A context that shows nothing for a second, then whatever was noted last, and each note from then on."""

    def __init__(self, title: str, *, quiet: bool, every_line: bool) -> None:
        self._title = title
        self._quiet = quiet
        self._every_line = every_line
        self._lock = threading.Lock()
        self._timer = threading.Timer(_PATIENCE_S, self._begin)
        self._timer.daemon = True
        self._visible = False
        self._printed_at = 0.0
        self._bar: Progress | None = None
        self._description, self._completed, self._total, self._line = title, 0, 1, title

    def __enter__(self) -> Self:
        if not self._quiet:
            self._timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._timer.cancel()
        with self._lock:
            self._quiet, self._visible = True, False
            if self._bar is not None:
                self._bar.stop()
                self._bar = None

    def _columns(self) -> tuple[ProgressColumn, ...]:
        return (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())

    def _note(self, description: str, completed: int, total: int, line: str) -> None:
        with self._lock:
            self._description, self._completed, self._total, self._line = description, completed, total, line
            if self._visible:
                self._show()

    def _begin(self) -> None:
        with self._lock:
            if self._quiet:
                return
            self._visible = True
            if sys.stderr.isatty():
                self._bar = Progress(*self._columns(), console=Console(stderr=True), transient=True)
                self._bar.add_task(self._title, total=self._total)
                self._bar.start()
            self._show()

    def _show(self) -> None:
        if self._bar is not None:
            task = self._bar.task_ids[0]
            self._bar.update(task, description=self._description, completed=self._completed, total=self._total)
        elif self._every_line or time.monotonic() - self._printed_at >= _BETWEEN_LINES_S:
            self._printed_at = time.monotonic()
            print(self._line, file=sys.stderr, flush=True)


class Steps(_Patient):
    """A context in which ``step`` is called as each step of the work begins.

    Args:
        title: what the work is.
        quiet: show nothing.
        every_step: elsewhere than on a terminal, print a line for each step, not at most one a second.
    """

    def __init__(self, title: str, *, quiet: bool = False, every_step: bool = False) -> None:
        super().__init__(title, quiet=quiet, every_line=every_step)

    def step(self, name: str, number: int, n_steps: int) -> None:
        """A step begins; numbers count from 0."""
        self._note(f"{self._title}: {name}", number, n_steps, f"{self._title}: {name} ({number + 1} of {n_steps})")


class Transfers(_Patient):
    """A context in which ``moved`` is called as bytes come or go.

    Args:
        title: what the work is.
        quiet: show nothing.
    """

    def __init__(self, title: str, *, quiet: bool = False) -> None:
        super().__init__(title, quiet=quiet, every_line=False)

    def moved(self, name: str, done: int, total: int) -> None:
        """So many bytes of an artifact, of so many, have been moved."""
        line = f"{self._title}: {name}: {done / 1e6:,.1f} of {total / 1e6:,.1f} MB"
        self._note(f"{self._title}: {name}", done, total, line)

    def _columns(self) -> tuple[ProgressColumn, ...]:
        return (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn())
