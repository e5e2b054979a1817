"""How a batch goes, on stderr: on a terminal a bar for the run and a line for each job that runs, elsewhere a line per beginning
and end."""

from __future__ import annotations

import sys
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from psc.cluster.run.observer import Observer
from psc.cluster.run.outcomes import JobOutcome
from psc.support.readable import duration, size


def run_display(*, quiet: bool) -> RunDisplay:
    """The observer that suits stderr."""
    if quiet:
        return RunDisplay()
    return TerminalDisplay() if sys.stderr.isatty() else LineDisplay()


class RunDisplay(Observer):
    """A context that shows nothing."""

    def __enter__(self) -> RunDisplay:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stops showing."""

    def connecting(self, text: str) -> None:
        """Before the run: shows the work in progress."""


class LineDisplay(RunDisplay):
    """Plain lines: each task's beginning and end."""

    def __init__(self) -> None:
        self._done = 0
        self._total = 0
        self._causes: set[str] = set()

    def connecting(self, text: str) -> None:
        self._say(text)

    def run_began(self, done: int, total: int) -> None:
        self._total = total
        self._say(f"{total} jobs, {done} of them done already" if done else f"{total} jobs")

    def task_began(self, job: str, what: str, worker: str) -> None:
        self._say(f"{job}: {what}, {worker}")

    def job_ended(self, outcome: JobOutcome) -> None:
        self._done += 1
        self._say(f"[{self._done}/{self._total}] {_ended(outcome, self._causes)}")

    def note(self, text: str) -> None:
        self._say(text)

    def _say(self, text: str) -> None:
        print(f"psc: {text}", file=sys.stderr, flush=True)


class TerminalDisplay(RunDisplay):
    """Bars of rich. A job's own is there while it runs, and is as full as it has gone through its stages."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[stage]}", markup=False),
            console=Console(stderr=True),
            transient=True,
        )
        self._whole: TaskID | None = None
        self._running: dict[tuple[str, str], TaskID] = {}
        self._failed = 0
        self._causes: set[str] = set()

    def __enter__(self) -> TerminalDisplay:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._progress.stop()

    def refresh(self) -> None:
        """Shows what there is now, which happens ten times a second by itself."""
        self._progress.refresh()

    def connecting(self, text: str) -> None:
        self._whole = self._progress.add_task(text, total=None, stage="")

    def run_began(self, done: int, total: int) -> None:
        if self._whole is not None:
            self._progress.remove_task(self._whole)
        self._whole = self._progress.add_task("jobs", total=total, stage="")

    def task_began(self, job: str, what: str, worker: str) -> None:
        label = job if what == "compile" else f"{job}, {what}"
        self._running[job, what] = self._progress.add_task(f"  {label}", total=1, stage="")

    def stage_began(self, job: str, what: str, stage: str, number: int, of: int) -> None:
        if (job, what) in self._running:
            self._progress.update(self._running[job, what], completed=number, total=of, stage=stage)

    def task_ended(self, job: str, what: str) -> None:
        if (job, what) in self._running:
            self._progress.remove_task(self._running.pop((job, what)))

    def job_ended(self, outcome: JobOutcome) -> None:
        if outcome.error is not None:
            self._failed += outcome.status == "failed"
            if outcome.error not in self._causes:
                self.note(_ended(outcome, self._causes))
        if self._whole is not None:
            self._progress.update(self._whole, advance=1, stage=f"{self._failed} failed" if self._failed else "")

    def note(self, text: str) -> None:
        self._progress.console.print(f"psc: {text}", markup=False, highlight=False)


def _ended(outcome: JobOutcome, reported: set[str]) -> str:
    """How a job ended, with the first line of why, unless another job has ended so before. The report has all of it."""
    if outcome.error is not None:
        why = "" if outcome.error in reported else f": {outcome.error.splitlines()[0]}"
        reported.add(outcome.error)
        return f"{outcome.name}: {outcome.status}{why}"
    if outcome.status == "present":
        return f"{outcome.name}: present, {size(outcome.size)}"
    return f"{outcome.name}: {outcome.status} in {duration(outcome.own_seconds)}, {size(outcome.size)}"
