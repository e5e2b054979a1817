"""Who wants to know how a run goes, while it goes: a terminal's bar, lines in a log, or nobody."""

from __future__ import annotations

from psc.cluster.run.outcomes import JobOutcome


class Observer:
    """Told what happens; this one says nothing."""

    def run_began(self, done: int, total: int) -> None:
        """The run begins; some jobs are done already, or cannot be."""

    def task_began(self, job: str, what: str, worker: str) -> None:
        """A worker has taken up a task."""

    def stage_began(self, job: str, what: str, stage: str, number: int, of: int) -> None:
        """A task comes to a stage."""

    def task_ended(self, job: str, what: str) -> None:
        """A task is over, well or not."""

    def job_ended(self, outcome: JobOutcome) -> None:
        """A job is over."""

    def note(self, text: str) -> None:
        """Something happened that whoever waits should know."""
