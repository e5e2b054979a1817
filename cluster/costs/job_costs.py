"""The tasks of jobs with what each is expected to cost, for the simulator: as measured, else as planned, else inferred.

Inferred: on a logarithmic scale a job's time is the grammar's part plus the tokenizer's part, least squares over all jobs
measured; a grammar, or tokenizer, that was never measured counts as the median. So one measured row and one measured column give
a whole matrix.

Cost: a least squares problem with an equation for each measured job.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from psc.cluster.costs.measured_costs import JobCost, MeasuredCosts, PartCost
from psc.cluster.run.plan import Plan
from psc.cluster.simulate.schedule import SimulatedTask
from psc.errors import SimulationError

_WEAK = 1e-3


@dataclass(frozen=True)
class WantedJob:
    """A job whose costs are requested."""

    name: str
    grammar: str
    tokenizer: str
    input_key: str | None = None
    """Measurements are looked up under it first. The next best are of the same names and another key, that is, an older version."""
    priority: int = 0
    planned: tuple[PartCost, ...] = ()
    """The expectation of the pipeline, if it has planned the job; the reservation follows it even where there are measurements."""
    planned_from_measurement: bool = False


def wanted_jobs(plan: Plan) -> list[WantedJob]:
    """The jobs that a plan has to do."""
    wanted = []
    for planned in plan.todo:
        steps: list[int] = []
        for task in planned.tasks:
            steps.append(max((steps[before] + 1 for before in task.needs), default=0))
        parts = (PartCost(t.what, step, t.seconds, t.memory_bytes) for t, step in zip(planned.tasks, steps, strict=True))
        job, measured = planned.job, planned.estimate.basis == "measured"
        wanted.append(
            WantedJob(job.name, job.grammar.name, job.tokenizer.name, planned.input_key, job.priority, tuple(parts), measured)
        )
    return wanted


def tasks_for(jobs: Sequence[WantedJob], costs: MeasuredCosts) -> list[SimulatedTask]:
    """The tasks of some jobs.

    Args:
        jobs: the work.
        costs: the measurements.

    Raises:
        SimulationError: nothing was measured, and some job is not planned.
    """
    by_key = {cost.input_key: cost for cost in costs.jobs if cost.input_key is not None}
    by_name = {(cost.grammar, cost.tokenizer): cost for cost in costs.jobs}
    infer_seconds = _inference(costs.jobs, lambda cost: cost.seconds)
    infer_memory = _inference(costs.jobs, lambda cost: float(cost.memory_bytes))
    tasks: list[SimulatedTask] = []
    for job in jobs:
        same = by_key.get(job.input_key or "") or by_name.get((job.grammar, job.tokenizer))
        reserved = max((part.memory_bytes for part in job.planned), default=0)
        if same is not None:
            parts, estimated = same.parts, False
        elif job.planned and (job.planned_from_measurement or infer_seconds is None):
            parts, estimated = job.planned, not job.planned_from_measurement
        elif infer_seconds is not None:
            memory = int(infer_memory(job)) if infer_memory is not None else 0
            parts, estimated = (PartCost("compile", 0, infer_seconds(job), memory),), True
        else:
            raise SimulationError(
                f"{job.name}: nothing is known of what jobs cost; name a report of psc batch as costs in the spec"
            )
        tasks += _as_tasks(job, parts, reserved, estimated, len(tasks))
    return tasks


def _as_tasks(job: WantedJob, parts: Sequence[PartCost], reserved: int, estimated: bool, first: int) -> list[SimulatedTask]:
    tasks: list[SimulatedTask] = []
    previous: tuple[int, ...] = ()
    for step in sorted({part.step for part in parts}):
        begin = first + len(tasks)
        tasks += [
            SimulatedTask(
                job.name,
                part.seconds,
                reserved or part.memory_bytes,
                what=part.what,
                priority=job.priority,
                after=previous,
                estimated=estimated,
            )
            for part in parts
            if part.step == step
        ]
        previous = tuple(range(begin, first + len(tasks)))
    return tasks


def _inference(jobs: Sequence[JobCost], figure: Callable[[JobCost], float]) -> Callable[[WantedJob], float] | None:
    """A figure of any job, as a grammar's factor times a tokenizer's factor, fitted to the jobs there are; None without any."""
    measured = [job for job in jobs if figure(job) > 0]
    if not measured:
        return None
    grammars = {name: i for i, name in enumerate(dict.fromkeys(job.grammar for job in measured))}
    tokenizers = {name: i for i, name in enumerate(dict.fromkeys(job.tokenizer for job in measured))}
    logs = np.log([figure(job) for job in measured])
    middle = float(np.median(logs))
    n, m = len(grammars), len(tokenizers)
    # One equation per job, and a weak one per factor that it be 1, so that the solution is unique.
    equations = np.zeros((len(measured) + n + m, n + m))
    for row, job in enumerate(measured):
        equations[row, grammars[job.grammar]] = equations[row, n + tokenizers[job.tokenizer]] = 1.0
    equations[len(measured) :] = _WEAK * np.eye(n + m)
    solution = np.linalg.lstsq(equations, np.concatenate([logs - middle, np.zeros(n + m)]), rcond=None)[0]
    of_grammar, of_tokenizer = solution[:n], solution[n:]
    middle_grammar, middle_tokenizer = float(np.median(of_grammar)), float(np.median(of_tokenizer))

    def infer(job: WantedJob) -> float:
        g = float(of_grammar[grammars[job.grammar]]) if job.grammar in grammars else middle_grammar
        t = float(of_tokenizer[tokenizers[job.tokenizer]]) if job.tokenizer in tokenizers else middle_tokenizer
        return float(np.exp(middle + g + t))

    return infer
