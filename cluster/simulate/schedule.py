"""One run of a batch on a cluster that need not exist: a discrete event simulation of how the pipeline schedules.

Tasks are ready when those before them are done, and are taken by priority, then those of jobs that were begun, then those of the
longest job; one that does not fit anywhere now is skipped. A task takes one CPU and its memory reservation on one node. Nodes
are filled as Ray does by default: the first one up to half of what it has, then the least used. A task slows down with the number
of busy CPUs beside it. A node that is lost takes its tasks with it, which start again elsewhere, and comes back empty.

What is not modelled: how many tasks are submitted ahead, and the network.

Cost: per task, its node's other tasks and the nodes are looked at when it begins and ends. A thousand tasks on 100 nodes of 8 CPUs
take about a tenth of a second.
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from random import Random

from psc.errors import SimulationError

_LOSSES_PER_TASK = 200
_DONE_S = 1e-9


@dataclass(frozen=True)
class SimulatedTask:
    """A piece of work for one CPU."""

    job: str
    seconds: float
    """Alone on a node of speed 1."""
    memory_bytes: int = 0
    """Reserved."""
    _: KW_ONLY
    what: str = "compile"
    priority: int = 0
    """Higher goes first."""
    after: tuple[int, ...] = ()
    """Numbers of the tasks that must be done before."""
    estimated: bool = False
    """Whether its costs are inferred from other jobs'."""


@dataclass(frozen=True)
class Node:
    """A node of the cluster."""

    name: str
    cpus: int
    memory_bytes: int
    """That tasks may reserve."""
    speed: float = 1.0
    losses_per_second: float = 0.0
    downtime: float = 0.0


@dataclass(frozen=True)
class Delays:
    """The delays besides the tasks' own work, in seconds; and ``slowdown``, see `psc.cluster.simulate.cluster_spec.Scheduler`."""

    startup: float = 0.0
    per_task: float = 0.0
    per_worker: float = 0.0
    slowdown: float = 0.0


@dataclass
class Placed:
    """When and where a task ran in the end."""

    begin: float
    end: float
    node: int


@dataclass
class Use:
    """The use of a node."""

    busy_seconds: float = 0.0
    peak_reserved_bytes: int = 0
    tasks: int = 0


@dataclass
class Schedule:
    """The course of a simulated run."""

    makespan: float
    placed: list[Placed]
    """Per task."""
    use: list[Use]
    """Per node."""
    losses: int = 0
    """Attempts that went down with their node."""
    queue_empty_at: float = 0.0
    """When the last task began: from then on CPUs fall idle."""


@dataclass
class _Running:
    task: int
    begin: float
    works_from: float
    remaining: float


@dataclass
class _State:
    node: Node
    number: int
    free_cpus: int
    free_memory: int
    unused_workers: int
    up: bool = True
    at: float = 0.0
    """Up to when the running tasks' remaining work is accounted for."""
    version: int = 0
    """Events of an older one are void."""
    running: list[_Running] = field(default_factory=list)

    def rate(self, slowdown: float) -> float:
        cpus = self.node.cpus
        crowd = max(len(self.running) - 1, 0) / (cpus - 1) if cpus > 1 else 0.0
        return self.node.speed / (1.0 + slowdown * crowd)

    def used_share(self) -> float:
        memory = self.node.memory_bytes
        return max(1 - self.free_cpus / self.node.cpus, 1 - self.free_memory / memory if memory else 0.0)


def run_schedule(
    tasks: Sequence[SimulatedTask],
    nodes: Sequence[Node],
    delays: Delays,
    *,
    chance: Random | None = None,
    duration_noise: float = 0.0,
) -> Schedule:
    """Simulates one run.

    Args:
        tasks: ``after`` refers to earlier ones.
        nodes: the nodes.
        delays: the time besides the work.
        chance: the source of losses of nodes, and of noise; without it neither happens.
        duration_noise: standard deviation of the logarithm of a task's time.

    Raises:
        SimulationError: nodes are lost so often that the tasks cannot end; or a task fits on no node.
    """
    return _Run(tasks, nodes, delays, chance, duration_noise).run()


def longest_chains(tasks: Sequence[SimulatedTask]) -> list[float]:
    """Per task the seconds of the longest chain that begins with it."""
    remaining = [task.seconds for task in tasks]
    for i in range(len(tasks) - 1, -1, -1):
        for before in tasks[i].after:
            remaining[before] = max(remaining[before], tasks[before].seconds + remaining[i])
    return remaining


def _queue_order(tasks: Sequence[SimulatedTask]) -> list[tuple[int, bool, float, int]]:
    """Per task its key in the order of ready tasks."""
    of_job: dict[str, float] = {}
    for task in tasks:
        of_job[task.job] = of_job.get(task.job, 0.0) + task.seconds
    return [(-task.priority, not task.after, -of_job[task.job], i) for i, task in enumerate(tasks)]


class _Run:
    def __init__(
        self,
        tasks: Sequence[SimulatedTask],
        nodes: Sequence[Node],
        delays: Delays,
        chance: Random | None,
        duration_noise: float,
    ) -> None:
        self._tasks = tasks
        self._delays = delays
        self._chance = chance
        self._states = [_State(m, i, m.cpus, m.memory_bytes, m.cpus, at=delays.startup) for i, m in enumerate(nodes)]
        self._work = [t.seconds * (_noise(chance, duration_noise) if chance else 1.0) for t in tasks]
        self._order = _queue_order(tasks)
        self._missing = [len(t.after) for t in tasks]
        self._followers: list[list[int]] = [[] for _ in tasks]
        for i, task in enumerate(tasks):
            for before in task.after:
                self._followers[before].append(i)
        self._ready = sorted(self._order[i] for i, n in enumerate(self._missing) if n == 0)
        self._events: list[tuple[float, int, str, int, int]] = []
        self._n_events = 0
        self._n_done = 0
        self.schedule = Schedule(0.0, [Placed(0.0, 0.0, -1) for _ in tasks], [Use() for _ in nodes])

    def run(self) -> Schedule:
        now = self._delays.startup
        for state in self._states:
            self._draw_loss(state, now)
        self._dispatch(now)
        while self._n_done < len(self._tasks):
            if not self._events:
                raise SimulationError(f"{self._tasks[self._ready[0][-1]].job} fits on no node")
            now, _, kind, number, version = heapq.heappop(self._events)
            state = self._states[number]
            if kind == "end":
                if version != state.version:
                    continue
                self._end(state, now)
            elif kind == "loss":
                self._lose(state, now)
            else:
                state.up = True
                self._draw_loss(state, now)
            self._dispatch(now)
        if self._tasks:
            self.schedule.makespan = now
        else:
            self.schedule.makespan = self._delays.startup
        return self.schedule

    def _dispatch(self, now: float) -> None:
        free = sum(state.free_cpus for state in self._states if state.up)
        too_large: int | None = None
        skipped = []
        changed: set[int] = set()
        for at, entry in enumerate(self._ready):
            if free == 0:
                skipped += self._ready[at:]
                break
            memory = self._tasks[entry[-1]].memory_bytes
            # No node becomes free while tasks are handed out: a task that did not fit before does not fit now.
            state = None if too_large is not None and memory >= too_large else self._choose(memory)
            if state is None:
                too_large = memory if too_large is None else min(too_large, memory)
                skipped.append(entry)
                continue
            if state.number not in changed:
                self._advance(state, now)
                changed.add(state.number)
            self._begin(state, entry[-1], now)
            free -= 1
        self._ready = skipped
        for number in changed:
            self._expect_end(self._states[number], now)

    def _choose(self, memory: int) -> _State | None:
        best, least = None, 2.0
        for state in self._states:
            if state.up and state.free_cpus and state.free_memory >= memory:
                share = max(state.used_share(), 0.5)
                if share < least:
                    best, least = state, share
        return best

    def _begin(self, state: _State, task: int, now: float) -> None:
        works_from = now + self._delays.per_task
        if state.unused_workers:
            state.unused_workers -= 1
            works_from += self._delays.per_worker
        state.running.append(_Running(task, now, works_from, self._work[task]))
        state.free_cpus -= 1
        state.free_memory -= self._tasks[task].memory_bytes
        use = self.schedule.use[state.number]
        use.peak_reserved_bytes = max(use.peak_reserved_bytes, state.node.memory_bytes - state.free_memory)
        self.schedule.queue_empty_at = now

    def _advance(self, state: _State, now: float) -> None:
        rate = state.rate(self._delays.slowdown)
        for running in state.running:
            running.remaining -= max(0.0, now - max(state.at, running.works_from)) * rate
        state.at = now

    def _expect_end(self, state: _State, now: float) -> None:
        state.version += 1
        if state.running:
            rate = state.rate(self._delays.slowdown)
            end = min(max(now, r.works_from) + max(r.remaining, 0.0) / rate for r in state.running)
            self._push(end, "end", state)

    def _end(self, state: _State, now: float) -> None:
        self._advance(state, now)
        rate = state.rate(self._delays.slowdown)
        for running in list(state.running):
            # Clocks far from zero have coarse steps: a task that would end within one of them has ended.
            if now >= running.works_from and running.remaining / rate <= _DONE_S + now * 1e-12:
                self._release(state, running, now)
                self.schedule.placed[running.task] = Placed(running.begin, now, state.number)
                self.schedule.use[state.number].tasks += 1
                self._n_done += 1
                for follower in self._followers[running.task]:
                    self._missing[follower] -= 1
                    if self._missing[follower] == 0:
                        insort(self._ready, self._order[follower])
        self._expect_end(state, now)

    def _lose(self, state: _State, now: float) -> None:
        self._advance(state, now)
        for running in list(state.running):
            self._release(state, running, now)
            insort(self._ready, self._order[running.task])
            self.schedule.losses += 1
        if self.schedule.losses > _LOSSES_PER_TASK * len(self._tasks):
            raise SimulationError(
                f"nodes are lost so often that the tasks hardly end ({state.node.name}: every"
                f" {1 / state.node.losses_per_second:.0f} s); check rate_per_node_hour, or split the jobs"
            )
        state.up = False
        state.version += 1
        state.unused_workers = state.node.cpus
        self._push(now + state.node.downtime, "return", state)

    def _release(self, state: _State, running: _Running, now: float) -> None:
        state.running.remove(running)
        state.free_cpus += 1
        state.free_memory += self._tasks[running.task].memory_bytes
        self.schedule.use[state.number].busy_seconds += now - running.begin

    def _draw_loss(self, state: _State, now: float) -> None:
        if self._chance is not None and state.node.losses_per_second > 0:
            self._push(now + self._chance.expovariate(state.node.losses_per_second), "loss", state)

    def _push(self, at: float, kind: str, state: _State) -> None:
        self._n_events += 1
        heapq.heappush(self._events, (at, self._n_events, kind, state.number, state.version))


def _noise(chance: Random, sigma: float) -> float:
    # The mean is 1, whatever sigma.
    return chance.lognormvariate(-sigma * sigma / 2, sigma) if sigma > 0 else 1.0
