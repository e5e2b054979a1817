"""The driver of a run: starts tasks, takes in their messages, passes on finished artifacts, and retries tasks where that can help.

Every attempt that fails says why, and that decides what happens:

* the work's own fault (a grammar that cannot be compiled), or its time limit: the job fails, alone;
* memory: the task runs once more, with the job's limit or, where it has none, with twice as much; then the job fails;
* its worker or node was lost: the task runs again, a few times only, since the task itself may have killed it;
* a part that it needs was lost with the node of another task: that task runs again, then this one;
* everything that ran was lost (a Ray that was started for the run): the task runs again, as often as the executor starts another
  Ray;
* no node is large enough: the job fails at once, instead of waiting without end.

Artifacts go to the store as they are finished (`psc.cluster.run.storing`), and from there to registries
(`psc.cluster.run.publishing`). Whatever kills the driver, what is in the store stays, and the next run finds it by its input key.

Cost: the driver hashes each artifact: some 10 ms a job with writing it.
"""

from __future__ import annotations

import contextlib
import hashlib
import heapq
import itertools
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from psc._version import __version__
from psc.artifacts.store import Store
from psc.cluster.run.compilation import Compiled
from psc.cluster.run.executor import Event, Executor
from psc.cluster.run.observer import Observer
from psc.cluster.run.outcomes import RunReport, TaskRun
from psc.cluster.run.plan import Plan, PlannedJob, Task
from psc.cluster.run.publishing import Publish, Publishing
from psc.cluster.run.storing import Storing
from psc.cluster.run.task import Began, Call, Ended, Failure, StageBegan, too_much_time
from psc.errors import ClusterError
from psc.support.readable import size

MAX_LOST = 3
"""How often a task may lose its worker before its job fails."""
_TIME_GRACE_S = 2.0
_COSTS_EVERY_S = 10.0
_PATIENCE_S = 30.0


def run_batch(
    plan: Plan,
    store: Store,
    executor: Executor,
    *,
    publishers: Mapping[str, Publish] | None = None,
    observer: Observer | None = None,
    setup_seconds: float = 0.0,
) -> RunReport:
    """Carries out a plan.

    Args:
        plan: from `psc.cluster.run.plan.plan`; its outcomes are filled in.
        store: of the artifacts.
        executor: that runs the tasks; not closed here, unless the run is interrupted.
        publishers: per registry, by its name in the report, the function that pushes to it.
        observer: notified of events.
        setup_seconds: the time it took to get the executor, for the report.

    Returns:
        The report. After an interruption (Ctrl-C) too; it marks the jobs that were not done.
    """
    return _Run(plan, store, executor, publishers or {}, observer or Observer()).run(setup_seconds)


@dataclass(eq=False)
class _JobState:
    planned: PlannedJob
    rank: int
    """Its position in the plan."""
    tasks: list[_TaskState] = field(default_factory=list)
    outputs: dict[int, Any] = field(default_factory=dict)
    """Per task that is done, the handle of its result."""
    waiting: set[int] = field(default_factory=set)
    """Tasks that are neither ready nor running nor done, by number."""
    ended: bool = False


@dataclass(eq=False)
class _TaskState:
    job: _JobState
    index: int
    memory_bytes: int
    attempts: int = 0
    lost: int = 0
    memory_failures: int = 0
    number: int = -1
    """Of the attempt that is under way."""
    worker: str = ""
    began: float | None = None

    @property
    def task(self) -> Task:
        return self.job.planned.tasks[self.index]


class _Run:
    def __init__(self, plan: Plan, store: Store, executor: Executor, publishers: Mapping[str, Publish], observer: Observer) -> None:
        self._plan = plan
        self._executor = executor
        self._observer = observer
        self._publishing = Publishing(publishers, store, observer)
        self._storing = Storing(store, self._publishing, observer)
        self._t0 = time.time()
        self._numbers = itertools.count()
        self._jobs = [_JobState(planned, rank) for rank, planned in enumerate(plan.todo)]
        self._ready: list[tuple[tuple[float, ...], _TaskState]] = []
        self._running: dict[int, _TaskState] = {}
        self._runs: list[TaskRun] = []
        self._said_something = time.monotonic()

    def run(self, setup_seconds: float) -> RunReport:
        interrupted = False
        started = datetime.now().astimezone().isoformat(timespec="seconds")
        outcomes = self._plan.outcomes
        self._observer.run_began(sum(o.status != "not run" for o in outcomes), len(outcomes))
        for outcome in outcomes:
            if outcome.status == "failed":
                self._observer.job_ended(outcome)
        try:
            self._executor.share(self._plan.shared)
            for present in self._plan.present:
                self._publishing.add(present.outcome, present.reference)
            for job in self._jobs:
                job.tasks = [_TaskState(job, i, task.memory_bytes) for i, task in enumerate(job.planned.tasks)]
                job.waiting = set(range(len(job.tasks)))
                self._release(job)
            self._loop()
        except KeyboardInterrupt:
            interrupted = True
            self._interrupted("interrupted")
        except ClusterError as e:
            self._interrupted(str(e))
            for outcome in outcomes:
                outcome.error = str(e) if outcome.status == "not run" else outcome.error
        finally:
            self._publishing.close(wait=not interrupted)
            self._plan.costs.save()
        return RunReport(
            jobs=outcomes,
            tasks=self._runs,
            wall_seconds=time.time() - self._t0,
            executor=self._executor.name,
            cpus=self._executor.cpus,
            memory_bytes=self._executor.memory_bytes,
            started=started,
            psc_version=__version__,
            setup_seconds=setup_seconds,
            interrupted=interrupted,
        )

    def _loop(self) -> None:
        saved = time.monotonic()
        while self._ready or self._running or self._storing.next_due is not None or self._publishing.busy or self._publishing.waits:
            self._fill()
            if self._running:
                for event in self._executor.wait(self._patience()):
                    self._take(event)
                self._stop_the_late()
            elif self._storing.next_due is not None or self._publishing.busy:
                time.sleep(self._patience())
            elif self._publishing.waits:
                self._publishing.ask_again()
            self._storing.write_due()
            self._publishing.take_in()
            if time.monotonic() - saved > _COSTS_EVERY_S:
                saved = time.monotonic()
                self._plan.costs.save()

    def _patience(self) -> float:
        wait = 0.05 if self._publishing.busy else 0.5
        due = self._storing.next_due
        return wait if due is None else max(0.0, min(wait, due - time.monotonic()))

    # Starting

    def _release(self, job: _JobState) -> None:
        """Queues the tasks of a job whose inputs are there."""
        for index in sorted(job.waiting):
            task = job.planned.tasks[index]
            if all(part in job.outputs for part in task.needs):
                job.waiting.discard(index)
                self._make_ready(job.tasks[index])

    def _make_ready(self, state: _TaskState) -> None:
        job = state.job
        # Jobs that were begun are finished before others begin: their parts take room.
        order = (-job.planned.job.priority, not job.outputs, job.rank, state.index, next(self._numbers))
        heapq.heappush(self._ready, (order, state))

    def _fill(self) -> None:
        while self._ready and len(self._running) < self._executor.queue:
            state = heapq.heappop(self._ready)[1]
            if state.job.ended:
                continue
            if any(part not in state.job.outputs for part in state.task.needs):
                state.job.waiting.add(state.index)  # a part was lost since, and is made again
            elif self._fits(state):
                self._start(state)

    def _fits(self, state: _TaskState) -> bool:
        """Whether a node is large enough; if not, the job fails at once, without the executor."""
        largest, planned = self._executor.largest_memory(), state.job.planned
        if state.memory_bytes <= largest:
            return True
        estimate = planned.estimate
        if estimate.basis == "formula" and estimate.memory_bytes <= largest:
            state.memory_bytes = largest  # the headroom over a guess is no reason to refuse
            return True
        if largest == 0:
            why = "no node of the cluster has a CPU and memory for tasks"
        else:
            why = (
                f"{size(state.memory_bytes)} of memory are to be reserved for it ({_basis(planned)}), but the largest node "
                f"has {size(largest)}; add a larger node, or set memory = for it in the jobs file, to try it with less"
            )
        self._fail(state.job, why)
        return False

    def _start(self, state: _TaskState) -> None:
        task, job = state.task, state.job.planned.job
        state.number = next(self._numbers)
        state.attempts += 1
        state.began, state.worker = None, ""
        self._running[state.number] = state
        call = Call(task.work, task.options, state.memory_bytes, job.time_limit)
        parts = [state.job.outputs[part] for part in task.needs]
        self._executor.start(state.number, call, task.shared, parts, state.memory_bytes)

    # What tasks say

    def _take(self, event: Event) -> None:
        state = self._running.get(event.task)
        if state is None:
            return  # stopped, or its job has ended
        self._said_something = time.monotonic()
        message, job = event.message, state.job.planned.job
        if isinstance(message, Began):
            state.began, state.worker = message.at, message.worker
            self._observer.task_began(job.name, state.task.what, message.worker)
        elif isinstance(message, StageBegan):
            self._observer.stage_began(job.name, state.task.what, message.name, message.number, message.of)
        else:
            del self._running[event.task]
            self._observer.task_ended(job.name, state.task.what)
            self._ended(state, message, event)

    def _ended(self, state: _TaskState, message: Ended, event: Event) -> None:
        began = message.at if state.began is None else state.began
        if message.failure == "restarted" and state.began is None:
            state.attempts -= 1  # nobody had taken it up
        else:
            self._record(state, began, message.at, message.error, message)
        if message.failure is not None:
            self._failed(state, message.failure, message.error or message.failure, event.lost_parts)
            return
        job = state.job
        if job.ended:
            return  # another of its tasks has failed
        outcome = job.planned.outcome
        outcome.own_seconds += message.at - began
        outcome.peak_memory_bytes = max(outcome.peak_memory_bytes, message.peak_memory_bytes)
        stages = dict(outcome.stages)
        for stage, seconds in message.stages.items():
            stages[stage] = stages.get(stage, 0.0) + seconds
        outcome.stages = stages
        if state.index == len(job.planned.tasks) - 1:
            self._finished(state, event.output)
        else:
            job.outputs[state.index] = event.output
            self._release(job)

    def _finished(self, state: _TaskState, output: Any) -> None:
        """The job's last task is done: its artifact."""
        job = state.job
        try:
            compiled = self._executor.fetch(output)
        except LookupError as e:
            self._failed(state, "lost", str(e), frozenset())
            return
        assert isinstance(compiled, Compiled)
        planned = job.planned
        if compiled.reference.input_key != planned.input_key:
            self._fail(
                job,
                f"{state.worker} made an artifact of input key {compiled.reference.input_key[:12]}… instead of "
                f"{planned.input_key[:12]}…: another psc is installed there; install {__version__}, as here",
            )
            return
        if hashlib.sha256(compiled.data).hexdigest() != compiled.reference.digest:
            self._failed(state, "lost", f"the artifact was damaged on its way from {state.worker}", frozenset())
            return
        job.ended = True
        job.outputs.clear()
        outcome = planned.outcome
        self._plan.costs.add(planned.costs_key, planned.fingerprint, outcome.own_seconds, outcome.peak_memory_bytes)
        self._storing.add(planned, compiled)

    def _failed(self, state: _TaskState, failure: Failure, error: str, lost_parts: frozenset[int]) -> None:
        job = state.job
        if job.ended:
            return
        if failure == "memory" and (more := self._more_memory(state)) is not None:
            self._observer.note(f"{job.planned.job.name}: {error}; once more, with {size(more)}")
            state.memory_bytes = more
            self._make_ready(state)
        elif failure == "memory":
            self._fail(job, f"{error}; {_memory_way_out(job.planned)}")
        elif failure == "restarted" or (failure in ("lost", "inputs lost") and state.lost < MAX_LOST - 1):
            if failure != "restarted":
                state.lost += 1
                self._observer.note(f"{job.planned.job.name}: {error}; again")
            for part in lost_parts:
                index = state.task.needs[part]
                if job.outputs.pop(index, None) is not None:  # else it is being made again already
                    job.waiting.add(index)
            if lost_parts:
                job.waiting.add(state.index)
                self._release(job)
            else:
                self._make_ready(state)
        elif failure in ("lost", "inputs lost"):
            self._fail(
                job,
                f"{error}, {state.lost + 1} times in a row; the job may be what kills it: see the worker's log, and try "
                "memory = with more in the jobs file",
            )
        else:
            self._fail(job, error)

    def _more_memory(self, state: _TaskState) -> int | None:
        """The next memory limit of a task that exceeded its own; None where there is none to try."""
        state.memory_failures += 1
        if state.memory_failures > 1:
            return None
        largest, limit = self._executor.largest_memory(), state.job.planned.job.memory_limit
        more = min(largest, 2 * state.memory_bytes if limit is None else limit)
        return more if more > state.memory_bytes else None

    def _stop_the_late(self) -> None:
        now = time.time()
        for state in list(self._running.values()):
            limit = state.job.planned.job.time_limit
            if limit is None or state.began is None or now - state.began < limit + _TIME_GRACE_S:
                continue
            if self._executor.cancel(state.number):
                del self._running[state.number]
                self._observer.task_ended(state.job.planned.job.name, state.task.what)
                error = too_much_time(limit)
                self._record(state, state.began, now, error)
                self._failed(state, "time", error, frozenset())
        waiting = [s for s in self._running.values() if s.began is None]
        if waiting and len(waiting) == len(self._running) and time.monotonic() - self._said_something > _PATIENCE_S:
            self._said_something = time.monotonic()
            largest = max(s.memory_bytes for s in waiting)
            self._observer.note(
                f"waiting for the cluster: no worker has taken up any of {len(waiting)} tasks, of {size(largest)} at most"
            )

    def _fail(self, job: _JobState, error: str) -> None:
        job.ended = True
        job.outputs.clear()
        for state in [s for s in self._running.values() if s.job is job]:
            if self._executor.cancel(state.number):
                del self._running[state.number]
        for outcome in (job.planned.outcome, *job.planned.followers):
            outcome.status, outcome.error = "failed", error
            self._observer.job_ended(outcome)

    def _interrupted(self, why: str) -> None:
        """Saves finished artifacts, and stops running tasks; a second interruption ends that, too."""
        with contextlib.suppress(KeyboardInterrupt):
            self._observer.note(f"{why}: stopping; Ctrl-C again stops at once")
            now = time.time()
            for state in self._running.values():
                if state.began is not None:
                    self._record(state, state.began, now, why)
            self._storing.write_all()
            self._publishing.stop()
            self._executor.close()

    def _record(self, state: _TaskState, began: float, ended: float, error: str | None, message: Ended | None = None) -> None:
        job = state.job.planned
        job.outcome.attempts += 1
        self._runs.append(
            TaskRun(
                job=job.job.name,
                what=state.task.what,
                worker=state.worker,
                begin=max(0.0, began - self._t0),
                end=max(0.0, ended - self._t0),
                peak_memory_bytes=message.peak_memory_bytes if message else 0,
                attempt=max(1, state.attempts),
                error=error,
                stages=message.stages if message else {},
            )
        )


def _basis(planned: PlannedJob) -> str:
    if planned.estimate.basis == "formula":
        return "guessed from the grammar's size"
    return "from what it took before" if planned.estimate.basis == "measured" else "from what its grammar took for other tokenizers"


def _memory_way_out(planned: PlannedJob) -> str:
    limit = planned.job.memory_limit
    if limit is None:
        return "set memory = for it in the jobs file, make the grammar smaller, or use a machine with more"
    return f"its limit is {size(limit)}: raise memory = in the jobs file, or make the grammar smaller"
