"""Observers of a run in progress: a terminal's bar, lines in a log, or none."""

from __future__ import annotations

from psc.cluster.run.outcomes import JobOutcome


class Observer:
    """Notified of events; this one ignores them."""

    def run_began(self, done: int, total: int) -> None:
        """The run begins; some jobs are done already, or cannot be."""

    def task_began(self, job: str, what: str, worker: str) -> None:
        """A worker has taken up a task."""

    def stage_began(self, job: str, what: str, stage: str, number: int, of: int) -> None:
        """A task comes to a stage."""

    def task_ended(self, job: str, what: str) -> None:
        """A task has ended, well or not."""

    def job_ended(self, outcome: JobOutcome) -> None:
        """A job has ended."""

    def note(self, text: str) -> None:
        """An event that a waiting user should see."""
