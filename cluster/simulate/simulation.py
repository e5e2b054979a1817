"""The time, cost and memory of a batch on a cluster, and how they change with the number of nodes.

From tasks with known costs (`psc.cluster.costs.measured_costs`) and a cluster's description (`cluster_spec`); what happens in a run
is in `schedule`. With losses of nodes, or noise in the durations, the run is repeated with other chances, and the median and the
5th to 95th percentile are reported.

Cost: see `run_schedule`, times the number of trials.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from random import Random
from typing import Any

from psc.cluster.simulate.cluster_spec import ClusterSpec, Scheduler
from psc.cluster.simulate.schedule import Delays, Node, Schedule, SimulatedTask, longest_chains, run_schedule
from psc.errors import SimulationError
from psc.support.readable import size

SCHEMA = "psc.batch-prediction.v1"
TAIL_JOBS = 8
"""The number of jobs that end last to report."""

_WHAT_IF_TRIALS = 30
_WHAT_IF_GAIN = 0.99


@dataclass(frozen=True)
class NodeUse:
    """The use of one node."""

    name: str
    cpus: int
    memory_bytes: int
    """That tasks may reserve."""
    tasks: int
    busy_share: float
    """Of its CPUs' time until the makespan."""
    peak_reserved_bytes: int


@dataclass(frozen=True)
class PredictedTask:
    """When and where a task runs."""

    job: str
    what: str
    node: str
    begin: float
    end: float
    estimated: bool


@dataclass(frozen=True)
class Prediction:
    """The time and cost of a batch on a cluster. Nodes and tasks are those of a run in which nothing is lost and nothing varies."""

    makespan_seconds: float
    """From the start of the cluster to the end of the last task; the middle of the trials."""
    makespan_p5: float
    makespan_p95: float
    trials: int
    startup_seconds: float
    node_hours: float
    cost: float | None
    """In the currency of the prices; None without them."""
    shortest_seconds: float
    """No schedule on this cluster is shorter: the longest chain of tasks on the fastest node, or all work over all CPUs."""
    longest_job: str
    lost_attempts: float
    """Per run, on average: attempts that go down with their node."""
    nodes: tuple[NodeUse, ...]
    tasks: tuple[PredictedTask, ...]
    tail: tuple[str, ...]
    """The jobs that still run when the queue is empty, the last to end first: these would have to be shorter, or begin earlier."""
    tail_seconds: float
    """How long that lasts."""
    estimated_jobs: tuple[str, ...]
    scheduler: Scheduler = field(default_factory=Scheduler)
    """The figures it was reckoned with."""

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **asdict(self)}


@dataclass(frozen=True)
class WhatIf:
    """The same batch on another number of nodes."""

    nodes: int
    cpus: int
    makespan_seconds: float | None
    """None: some job fits on none of these nodes."""
    node_hours: float
    cost: float | None
    as_specified: bool

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def simulate(tasks: Sequence[SimulatedTask], spec: ClusterSpec) -> Prediction:
    """Predicts a run.

    Args:
        tasks: the work; ``after`` refers to earlier ones.
        spec: the cluster; of its scheduler, what is None counts as 0 (see `psc.cluster.costs.measured_costs.with_measured`).

    Raises:
        SimulationError: a task fits on none of the nodes, named with how much is missing; or nodes are lost too often.
    """
    _check_order(tasks)
    nodes, delays = _nodes(spec), _delays(spec.scheduler)
    _check_fits(tasks, spec, nodes)
    calm = run_schedule(tasks, nodes, delays)
    runs = _trials(tasks, nodes, delays, spec, spec.trials.runs) or [calm]
    spans = sorted(run.makespan for run in runs)
    middle = _percentile(spans, 0.5)
    hours = middle / 3600
    price = spec.price_per_hour
    chains = longest_chains(tasks)
    return Prediction(
        makespan_seconds=middle,
        makespan_p5=_percentile(spans, 0.05),
        makespan_p95=_percentile(spans, 0.95),
        trials=len(runs),
        startup_seconds=delays.startup,
        node_hours=hours * spec.n_nodes,
        cost=None if price is None else hours * price,
        shortest_seconds=_shortest(tasks, nodes, delays),
        longest_job=tasks[chains.index(max(chains))].job if tasks else "",
        lost_attempts=sum(run.losses for run in runs) / len(runs),
        nodes=_node_use(nodes, calm),
        tasks=tuple(
            PredictedTask(task.job, task.what, nodes[placed.node].name, placed.begin, placed.end, task.estimated)
            for task, placed in zip(tasks, calm.placed, strict=True)
        ),
        tail=_tail(tasks, calm),
        tail_seconds=calm.makespan - calm.queue_empty_at if tasks else 0.0,
        estimated_jobs=tuple(dict.fromkeys(task.job for task in tasks if task.estimated)),
        scheduler=spec.scheduler,
    )


def what_if(tasks: Sequence[SimulatedTask], spec: ClusterSpec) -> tuple[WhatIf, ...]:
    """The same batch on 1, 2, 4, 8 … nodes, each kind's share unchanged, until more of them gain less than 1 %.

    Args:
        tasks: as in `simulate`.
        spec: as in `simulate`; its own number of nodes is among the answers.
    """
    answers: list[WhatIf] = []
    n, previous = 1, float("inf")
    while True:
        counts = sorted({n, spec.n_nodes}) if n < spec.n_nodes <= 2 * n - 1 else [n]
        for n_nodes in counts:
            answers.append(_what_if(tasks, spec, n_nodes))
        last = answers[-1].makespan_seconds
        settled = last is not None and last > previous * _WHAT_IF_GAIN
        if (settled and n >= spec.n_nodes) or spec.scaled(2 * n).n_cpus > max(4 * len(tasks), 2 * spec.n_cpus):
            return tuple(answers)
        previous = last if last is not None else previous
        n *= 2


def _what_if(tasks: Sequence[SimulatedTask], spec: ClusterSpec, n_nodes: int) -> WhatIf:
    scaled = spec.scaled(n_nodes)
    nodes, delays = _nodes(scaled), _delays(spec.scheduler)
    specified = n_nodes == spec.n_nodes
    largest = max((task.memory_bytes for task in tasks), default=0)
    if largest > max(node.memory_bytes for node in nodes):
        return WhatIf(n_nodes, scaled.n_cpus, None, 0.0, None, specified)
    trials = min(spec.trials.runs, _WHAT_IF_TRIALS) if not specified else spec.trials.runs
    runs = _trials(tasks, nodes, delays, scaled, trials) or [run_schedule(tasks, nodes, delays)]
    span = _percentile(sorted(run.makespan for run in runs), 0.5)
    price = scaled.price_per_hour
    return WhatIf(n_nodes, scaled.n_cpus, span, span / 3600 * n_nodes, None if price is None else span / 3600 * price, specified)


def _trials(tasks: Sequence[SimulatedTask], nodes: Sequence[Node], delays: Delays, spec: ClusterSpec, runs: int) -> list[Schedule]:
    if not _has_chance(spec):
        return []
    noise = spec.trials.duration_noise
    return [run_schedule(tasks, nodes, delays, chance=Random(f"{spec.trials.seed} {i}"), duration_noise=noise) for i in range(runs)]


def _has_chance(spec: ClusterSpec) -> bool:
    return spec.trials.duration_noise > 0 or any(f.rate_per_node_hour > 0 for f in spec.failures)


def _nodes(spec: ClusterSpec) -> list[Node]:
    nodes = []
    for pool in spec.pools:
        hit = [f for f in spec.failures if f.nodes in (None, pool.name) and f.rate_per_node_hour > 0]
        rate = sum(f.rate_per_node_hour for f in hit)
        # Several causes: they add up, and the mean loss takes the mean time to be made good.
        downtime = sum(f.downtime * f.rate_per_node_hour for f in hit) / rate if rate else 0.0
        memory = int(pool.memory_bytes * spec.scheduler.memory_share)
        for i in range(pool.count):
            name = f"{pool.name} {i + 1}" if pool.count > 1 else pool.name
            nodes.append(Node(name, pool.cpus, memory, pool.speed, rate / 3600, downtime))
    return nodes


def _delays(scheduler: Scheduler) -> Delays:
    return Delays(
        startup=scheduler.startup or 0.0,
        per_task=scheduler.per_task_overhead or 0.0,
        per_worker=scheduler.worker_startup or 0.0,
        slowdown=scheduler.slowdown or 0.0,
    )


def _check_order(tasks: Sequence[SimulatedTask]) -> None:
    for i, task in enumerate(tasks):
        if any(not 0 <= before < i for before in task.after):
            raise SimulationError(f"{task.job}: task {i} comes after {task.after}, but only earlier ones can come before it")


def _check_fits(tasks: Sequence[SimulatedTask], spec: ClusterSpec, nodes: Sequence[Node]) -> None:
    room = max(node.memory_bytes for node in nodes)
    misfits: dict[str, int] = {}
    for task in tasks:
        if task.memory_bytes > room:
            misfits[task.job] = max(misfits.get(task.job, 0), task.memory_bytes)
    if not misfits:
        return
    largest = max(misfits.values())
    listed = ", ".join(f"{job} ({size(n)})" for job, n in sorted(misfits.items(), key=lambda item: -item[1])[:10])
    more = f" and {len(misfits) - 10} more" if len(misfits) > 10 else ""
    share = spec.scheduler.memory_share
    raise SimulationError(
        f"{len(misfits)} jobs fit on no node: {listed}{more}. The largest node lets tasks reserve {size(room)}"
        f" (memory_share {share:g} of its memory); give some node memory of {_rounded_up(largest / share)} or more,"
        " or lower the jobs' reservations"
    )


def _rounded_up(n_bytes: float) -> str:
    step = 10 ** max(0, math.floor(math.log10(n_bytes)) - 2)  # three digits, as they are printed
    return size((math.floor(n_bytes / step) + 1) * step)


def _shortest(tasks: Sequence[SimulatedTask], nodes: Sequence[Node], delays: Delays) -> float:
    if not tasks:
        return delays.startup
    fastest = max(node.speed for node in nodes)
    together = sum(task.seconds for task in tasks) / sum(node.speed * node.cpus for node in nodes)
    return delays.startup + max(max(longest_chains(tasks)) / fastest, together)


def _node_use(nodes: Sequence[Node], run: Schedule) -> tuple[NodeUse, ...]:
    return tuple(
        NodeUse(
            node.name,
            node.cpus,
            node.memory_bytes,
            use.tasks,
            use.busy_seconds / (run.makespan * node.cpus) if run.makespan > 0 else 0.0,
            use.peak_reserved_bytes,
        )
        for node, use in zip(nodes, run.use, strict=True)
    )


def _tail(tasks: Sequence[SimulatedTask], run: Schedule) -> tuple[str, ...]:
    last = sorted(range(len(tasks)), key=lambda i: (-run.placed[i].end, i))
    still = [tasks[i].job for i in last if run.placed[i].end > run.queue_empty_at]
    return tuple(dict.fromkeys(still))[:TAIL_JOBS]


def _percentile(ordered: Sequence[float], part: float) -> float:
    at = part * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)
