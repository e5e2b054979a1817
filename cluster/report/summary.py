"""The figures of a batch run that its reports open with, and that follow from what its tasks did.

Cost: a sort of the tasks by their times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from psc.cluster.run.outcomes import JobOutcome, RunReport, Status, TaskRun


@dataclass(frozen=True)
class RunSummary:
    """A run in a few figures."""

    jobs: int
    by_status: Mapping[str, int]
    wall_seconds: float
    own_seconds: float
    """The sum of the jobs' own times: one worker would have needed it."""
    lost_seconds: float
    """The time of attempts that failed."""
    busy_share: float
    """Of the CPUs' time during the run, the part in which a task ran on them."""
    peak_job_bytes: int
    """The most that one task had."""
    peak_together_bytes: int
    """The most that tasks running at the same time had, if each was at its own peak: an upper bound."""
    artifact_bytes: int

    @property
    def with_artifact(self) -> int:
        return sum(self.by_status.get(status, 0) for status in ("compiled", "present", "not published"))

    @property
    def wall_to_own(self) -> float | None:
        """Wall time over the sum of own times: 1 is no better than one job after the other. None if nothing was compiled."""
        return self.wall_seconds / self.own_seconds if self.own_seconds > 0 else None


def summarize(report: RunReport) -> RunSummary:
    """The figures of a run."""
    busy = sum(task.seconds for task in report.tasks)
    capacity = report.wall_seconds * report.cpus
    return RunSummary(
        jobs=len(report.jobs),
        by_status=Counter(job.status for job in report.jobs),
        wall_seconds=report.wall_seconds,
        own_seconds=sum(job.own_seconds for job in report.jobs),
        lost_seconds=sum(task.seconds for task in report.tasks if task.error is not None),
        busy_share=min(busy / capacity, 1.0) if capacity > 0 else 0.0,
        peak_job_bytes=max((job.peak_memory_bytes for job in report.jobs), default=0),
        peak_together_bytes=_peak_together(report.tasks),
        artifact_bytes=sum(job.size for job in report.jobs),
    )


@dataclass(frozen=True)
class Cause:
    """Why jobs did not end well: one message, and the jobs that it is about."""

    status: Status
    error: str
    jobs: tuple[JobOutcome, ...]

    def names(self, most: int = 12) -> str:
        """The jobs' names; of many, the first, and how many more there are."""
        named = ", ".join(job.name for job in self.jobs[:most])
        return named if len(self.jobs) <= most else f"{named} and {len(self.jobs) - most} more"


def causes(report: RunReport) -> list[Cause]:
    """The problems of a run, each cause once: failures, then jobs not published, then jobs not run."""
    jobs_of: dict[tuple[Status, str], list[JobOutcome]] = {}
    for job in report.jobs:
        if job.status not in ("compiled", "present"):
            error = job.error or ("the run ended before it" if job.status == "not run" else "no cause was recorded")
            jobs_of.setdefault((job.status, error), []).append(job)
    order = ("failed", "not published", "not run")
    sorted_ = sorted(jobs_of.items(), key=lambda item: order.index(item[0][0]))
    return [Cause(status, error, tuple(jobs)) for (status, error), jobs in sorted_]


def verdict(summary: RunSummary) -> str:
    """How a run ended, in a line. A job with an artifact in the store never counts as lacking it."""
    said = []
    if without := summary.jobs - summary.with_artifact:
        said.append(f"{without} of {summary.jobs} jobs have no artifact")
    if unpublished := summary.by_status.get("not published", 0):
        said.append(
            f"{unpublished} artifacts are in the store, but not published"
            if unpublished > 1
            else "an artifact is in the store, but not published"
        )
    return "; ".join(said) or "every job has its artifact"


def waits(report: RunReport) -> dict[str, float]:
    """Per job the seconds from the run's begin to that of its first task; jobs without a task are not in it."""
    first: dict[str, float] = {}
    for task in report.tasks:
        first[task.job] = min(first.get(task.job, task.begin), task.begin)
    return {job: max(begin, 0.0) for job, begin in first.items()}


def stage_names(stages: Iterable[Mapping[str, float]]) -> list[str]:
    """All stages, in the order in which they first come up."""
    return list(dict.fromkeys(name for names in stages for name in names))


def _peak_together(tasks: Iterable[TaskRun]) -> int:
    # At the same instant ends come first: a worker's next task begins when its last one has ended.
    changes = sorted(
        change for task in tasks for change in ((task.begin, 1, task.peak_memory_bytes), (task.end, 0, -task.peak_memory_bytes))
    )
    now = peak = 0
    for _, _, change in changes:
        now += change
        peak = max(peak, now)
    return peak
