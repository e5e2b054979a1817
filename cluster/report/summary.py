"""The figures of a batch run that its reports open with, and that follow from what its tasks did.

Cost: a sort of the tasks by their times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from psc.cluster.run.outcomes import RunReport, TaskRun


@dataclass(frozen=True)
class RunSummary:
    """A run in a few figures."""

    jobs: int
    by_status: Mapping[str, int]
    wall_seconds: float
    own_seconds: float
    """The jobs' own times together: what one worker would have needed."""
    lost_seconds: float
    """Spent in attempts that failed."""
    busy_share: float
    """Of the CPUs' time during the run, the part in which a task ran on them."""
    peak_job_bytes: int
    """The most that one task had."""
    peak_together_bytes: int
    """The most that tasks running at the same time had, if each was at its own peak: an upper bound."""
    artifact_bytes: int

    @property
    def with_artifact(self) -> int:
        return self.by_status.get("compiled", 0) + self.by_status.get("present", 0)

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


def waits(report: RunReport) -> dict[str, float]:
    """Per job the seconds from the run's begin to that of its first task; jobs without a task are not in it."""
    first: dict[str, float] = {}
    for task in report.tasks:
        first[task.job] = min(first.get(task.job, task.begin), task.begin)
    return {job: max(begin, 0.0) for job, begin in first.items()}


def stage_names(stages: Iterable[Mapping[str, float]]) -> list[str]:
    """All stages, in the order in which they first come up."""
    return list(dict.fromkeys(name for found in stages for name in found))


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
