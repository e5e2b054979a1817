"""The costs of jobs, from reports of runs: per task its time alone on the machine and its memory, and the scheduler's share.

A task measured while others ran beside it took longer than it takes alone. Beside how many it ran is in the report, so its time
can be set back; how much neighbours cost follows from tasks that were measured beside few and beside many, in several reports.

Cost: the square of a report's tasks per machine.
"""

from __future__ import annotations

import itertools
import json
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from psc.cluster.run.outcomes import JobOutcome, RunReport, TaskRun
from psc.cluster.simulate.cluster_spec import ClusterSpec, Scheduler
from psc.errors import SimulationError

DEFAULT_SCHEDULER = Scheduler(per_task_overhead=0.02, startup=5.0, worker_startup=0.05, slowdown=0.05)
"""Measured on a 2-core machine with Ray; used for figures that neither the spec nor a report has."""

_MAX_SLOWDOWN = 3.0
_TELLING_DIFFERENCE = 0.25
_MAX_REPORT_BYTES = 256 << 20
_PART = re.compile(r"(.*) (\d+) of (\d+)")


@dataclass(frozen=True)
class PartCost:
    """The cost of one task of a job."""

    what: str
    step: int
    """Tasks of a step begin when those of the steps before are done."""
    seconds: float
    """Alone on a machine of the speed where it was measured."""
    memory_bytes: int
    """To reserve."""


@dataclass(frozen=True)
class JobCost:
    """The measured cost of a job."""

    grammar: str
    tokenizer: str
    input_key: str | None
    parts: tuple[PartCost, ...]

    @property
    def seconds(self) -> float:
        return sum(part.seconds for part in self.parts)

    @property
    def memory_bytes(self) -> int:
        return max(part.memory_bytes for part in self.parts)


@dataclass(frozen=True)
class MeasuredCosts:
    """The figures of reports. Later reports take precedence."""

    jobs: tuple[JobCost, ...] = ()
    scheduler: Scheduler = field(default_factory=Scheduler)
    """The figures in the reports; None for a figure that they lack."""


def read_costs(paths: Sequence[Path]) -> MeasuredCosts:
    """Reads reports of ``psc batch``. Raises SimulationError when one is not, or none has a compiled job."""
    reports = [_read(path) for path in paths]
    costs = measured_costs(reports)
    if not costs.jobs:
        listed = ", ".join(map(str, paths)) or "no report was given"
        raise SimulationError(
            f"{listed}: no job was compiled there, so nothing is known of what jobs cost; run psc batch with an empty store first"
        )
    return costs


def measured_costs(reports: Sequence[RunReport]) -> MeasuredCosts:
    """The costs of jobs and of the scheduler in these reports; later reports take precedence."""
    beside = [_neighbours(report) for report in reports]
    slowdown = fitted_slowdown(reports)
    used = DEFAULT_SCHEDULER.slowdown if slowdown is None else slowdown
    assert used is not None
    jobs: dict[tuple[str, str, str | None], JobCost] = {}
    for report, neighbours in zip(reports, beside, strict=True):
        for job in report.jobs:
            tasks = [(i, t) for i, t in enumerate(report.tasks) if t.job == job.name and t.error is None and t.seconds > 0]
            if job.status == "compiled" and tasks:
                alone = {i: task.seconds / (1 + used * neighbours[i]) for i, task in tasks}
                jobs[job.grammar, job.tokenizer, job.input_key] = _job_cost(job, tasks, alone)
    # A run in this process has no workers to start or to send anything to.
    remote = [report for report in reports if report.executor != "in process"]
    scheduler = Scheduler(
        per_task_overhead=_median(gap for report in remote for gap in _gaps(report)),
        startup=_median(r.setup_seconds for r in remote if r.setup_seconds > 0),
        worker_startup=_median(wait for report in remote for wait in _first_waits(report)),
        slowdown=slowdown,
    )
    if scheduler.worker_startup is not None and scheduler.per_task_overhead is not None:
        scheduler = replace(scheduler, worker_startup=max(scheduler.worker_startup - scheduler.per_task_overhead, 0.0))
    return MeasuredCosts(tuple(jobs.values()), scheduler)


def with_measured(spec: ClusterSpec, costs: MeasuredCosts) -> ClusterSpec:
    """The spec with every figure of its scheduler: its own, else the reports', else the usual one."""

    def first(name: str) -> float:
        said = (getattr(scheduler, name) for scheduler in (spec.scheduler, costs.scheduler, DEFAULT_SCHEDULER))
        return float(next(value for value in said if value is not None))

    scheduler = Scheduler(
        per_task_overhead=first("per_task_overhead"),
        startup=first("startup"),
        worker_startup=first("worker_startup"),
        slowdown=first("slowdown"),
        memory_share=spec.scheduler.memory_share,
    )
    return replace(spec, scheduler=scheduler)


def fitted_slowdown(reports: Sequence[RunReport]) -> float | None:
    """How much longer a task takes when all other CPUs of its machine are busy, as a part of its time alone.

    Args:
        reports: in which some tasks of the same inputs were measured beside different numbers of others.

    Returns:
        The figure that explains the times best, by least squares of their logarithms, long tasks weighing more; None when no
        task shows it.
    """
    measured: dict[object, list[tuple[float, float]]] = defaultdict(list)
    for report in reports:
        keys = {job.name: (job.input_key or job.name) for job in report.jobs}
        for task, beside in zip(report.tasks, _neighbours(report), strict=True):
            if task.error is None and task.seconds > 0:
                measured[keys.get(task.job, task.job), task.what].append((beside, task.seconds))
    telling = [np.array(m) for m in measured.values() if max(b for b, _ in m) - min(b for b, _ in m) >= _TELLING_DIFFERENCE]
    if not telling:
        return None
    candidates = np.linspace(0.0, _MAX_SLOWDOWN, 301)
    error = np.zeros(len(candidates))
    for group in telling:
        left = np.log(group[:, 1])[None, :] - np.log1p(candidates[:, None] * group[None, :, 0])
        # Short tasks vary for reasons of their own, and matter less.
        error += group[:, 1].mean() * ((left - left.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    return float(candidates[int(error.argmin())])


def _read(path: Path) -> RunReport:
    try:
        if path.stat().st_size > _MAX_REPORT_BYTES:
            raise SimulationError(f"{path}: too large for a report of psc batch")
        return RunReport.from_json(json.loads(path.read_bytes()))
    except OSError as e:
        raise SimulationError(f"{path}: cannot read the report: {e.strerror or e}") from e
    except (ValueError, RecursionError, AttributeError) as e:
        if isinstance(e, SimulationError):
            raise
        raise SimulationError(f"{path}: {e}; psc batch writes reports with --report") from e


def _job_cost(job: JobOutcome, tasks: Sequence[tuple[int, TaskRun]], alone: dict[int, float]) -> JobCost:
    # "classifier 2 of 4": parts of one step, begun in whichever order.
    steps: dict[str, float] = {}
    last: dict[str, tuple[int, TaskRun]] = {}
    for i, task in tasks:
        name = _step_name(task.what)
        steps[name] = min(steps.get(name, task.begin), task.begin)
        last[task.what] = (i, task)
    order = {name: n for n, name in enumerate(sorted(steps, key=lambda name: steps[name]))}
    reserved = max(job.memory_estimate_bytes, job.peak_memory_bytes)
    parts = tuple(
        PartCost(what, order[_step_name(what)], alone[i], max(reserved, task.peak_memory_bytes)) for what, (i, task) in last.items()
    )
    return JobCost(job.grammar, job.tokenizer, job.input_key, parts)


def _step_name(what: str) -> str:
    match = _PART.fullmatch(what)
    return match[1] if match else what


def host_of(worker: str) -> str:
    """The machine of a worker: its name without the number of the process."""
    return re.sub(r"[\s:/#,]*(?:\b(?:pid|process|worker)\b)?[\s:/#,]*\d+\s*$", "", worker) or worker


def _neighbours(report: RunReport) -> list[float]:
    """Per task how many of its machine's other CPUs were busy beside it, on average: 0 none, 1 all."""
    by_host: dict[str, list[int]] = defaultdict(list)
    for i, task in enumerate(report.tasks):
        by_host[host_of(task.worker)].append(i)
    shares = [0.0] * len(report.tasks)
    for numbers in by_host.values():
        others = report.cpus / len(by_host) - 1
        for i in numbers if others > 0 else ():
            task = report.tasks[i]
            if task.seconds > 0:
                together = sum(_overlap(task, report.tasks[j]) for j in numbers if j != i)
                shares[i] = min(together / task.seconds / others, 1.0)
    return shares


def _overlap(a: TaskRun, b: TaskRun) -> float:
    return max(0.0, min(a.end, b.end) - max(a.begin, b.begin))


def _gaps(report: RunReport) -> list[float]:
    """Seconds between a task's end and the next one's begin on the same worker, while there were tasks waiting."""
    last_begin = max((task.begin for task in report.tasks), default=0.0)
    gaps = []
    for tasks in _by_worker(report):
        gaps += [max(b.begin - a.end, 0.0) for a, b in itertools.pairwise(tasks) if b.begin <= last_begin]
    return gaps


def _first_waits(report: RunReport) -> list[float]:
    return [max(tasks[0].begin, 0.0) for tasks in _by_worker(report)][: report.cpus]


def _by_worker(report: RunReport) -> list[list[TaskRun]]:
    by_worker: dict[str, list[TaskRun]] = defaultdict(list)
    for task in sorted(report.tasks, key=lambda t: t.begin):
        by_worker[task.worker].append(task)
    return list(by_worker.values())


def _median(values: Iterable[float]) -> float | None:
    listed = list(values)
    return statistics.median(listed) if listed else None
