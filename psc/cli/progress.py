"""Progress of work that takes more than a second: a bar on a terminal, plain lines elsewhere, always on stderr.

Short work shows nothing: a timer shows what is being done when the second is over.
"""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

_PATIENCE_S = 1.0
_BETWEEN_LINES_S = 1.0


class Steps:
    """A context in which ``step`` is called as each step of the work begins.

    Args:
        title: what the work is.
        quiet: show nothing.
        every_step: elsewhere than on a terminal, print a line for each step, not at most one a second.
    """

    def __init__(self, title: str, *, quiet: bool = False, every_step: bool = False) -> None:
        self._title = title
        self._quiet = quiet
        self._every_step = every_step
        self._lock = threading.Lock()
        self._timer = threading.Timer(_PATIENCE_S, self._begin)
        self._timer.daemon = True
        self._now = ("", 0, 1)
        self._visible = False
        self._printed_at = 0.0
        self._bar: Progress | None = None

    def __enter__(self) -> Steps:
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

    def step(self, name: str, number: int, n_steps: int) -> None:
        """A step begins; numbers count from 0."""
        with self._lock:
            self._now = (name, number, n_steps)
            if self._visible:
                self._show()

    def _begin(self) -> None:
        with self._lock:
            if self._quiet:
                return
            self._visible = True
            if sys.stderr.isatty():
                columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
                self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
                self._bar.add_task(self._title, total=self._now[2])
                self._bar.start()
            self._show()

    def _show(self) -> None:
        name, number, n_steps = self._now
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], description=f"{self._title}: {name}", completed=number, total=n_steps)
        elif self._every_step or time.monotonic() - self._printed_at >= _BETWEEN_LINES_S:
            self._printed_at = time.monotonic()
            print(f"{self._title}: {name} ({number + 1} of {n_steps})", file=sys.stderr, flush=True)
