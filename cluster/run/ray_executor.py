"""Tasks on Ray: each a streaming generator whose messages the driver reads as they come.

What is shared goes into the object store once; workers on a node read vocabularies where they lie. Ray reserves a CPU and the
estimated memory for a task, and retries nothing itself: the driver decides after a failure, see
`psc.cluster.run.batch`. That also keeps Ray from trying a task again and again that runs out of memory, which it does without end
by default.

Workers' clocks may be off; a worker's time is put on the driver's clock by the shortest way that any of its node's messages took.

Cost: some 10 ms of a core per task on one machine, half of it writing the artifact.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from psc.cluster.run.executor import Event
from psc.cluster.run.ray_connection import Connection, open_connection
from psc.cluster.run.task import Attempt, Began, Call, Ended, Failure, StageBegan
from psc.compiler.revision import COMPILER_REVISION
from psc.errors import ClusterError
from psc.support.readable import size

_LARGEST_FOR_S = 2.0
_STRANDED_EVERY_S = 5.0
_FETCH_S = 120.0
_WARM_UP_S = 10.0
_GRACE_S = 120.0
"""For how long a node may be away before tasks that no other can take are given up: one that is restarted comes back."""


def connect(spec: str) -> RayExecutor:
    """Connects to Ray, or starts it.

    Args:
        spec: "local", to start it here on all cores; "auto", the cluster that this machine is part of; or the HOST:PORT of one.

    Raises:
        MissingExtraError: Ray is not installed.
        ClusterError: there is no cluster there, it does not answer, runs other versions, or its workers have no psc, or another
            one.
    """
    connection = open_connection(spec)
    try:
        executor = RayExecutor(connection)
        executor.warm_up()
    except BaseException:
        connection.close()
        raise
    return executor


@dataclass
class _Running:
    messages: Any
    """The generator of references to the task's results."""
    parts: Sequence[Any]
    memory_bytes: int
    node: str | None = None


class RayExecutor:
    """Runs tasks on a Ray cluster. See `psc.cluster.run.executor.Executor`.

    Args:
        connection: to it, closed by `close`.
    """

    def __init__(self, connection: Connection) -> None:
        self._ray = connection.ray
        self._connection = connection
        self.name = connection.name
        self._shared: dict[str, Any] = {}
        self._running: dict[int, _Running] = {}
        self._clock_offsets: dict[str, float] = {}
        self._largest = 0
        self._largest_seen = self._looked_at_nodes = -math.inf
        self._looked_for_stranded = time.monotonic()
        self._task = self._ray.remote(_run_on_worker)
        total = self._ray.cluster_resources()
        self.cpus = int(total.get("CPU", 0))
        self.memory_bytes = int(total.get("memory", 0))
        self._closed = False

    @property
    def queue(self) -> int:
        """Twice the tasks that can run, so that a worker finds its next task waiting, and an elastic cluster grows."""
        return 2 * self.cpus + 2

    def warm_up(self) -> None:
        """Has workers import the compiler, and sees that it is this one.

        Raises:
            ClusterError: psc is not installed there, or another version of it.
        """
        look = self._ray.remote(_look)
        refs = [look.options(num_cpus=1, max_retries=0).remote() for _ in range(min(self.cpus, 64))]
        ready, waiting = self._ray.wait(refs, num_returns=len(refs), timeout=_WARM_UP_S) if refs else ([], [])
        for ref in ready:
            try:
                revision, version, node = self._ray.get(ref)
            except Exception as e:
                raise ClusterError(_no_psc(e)) from e
            if revision != COMPILER_REVISION:
                raise ClusterError(
                    f"{self.name}: node {node} has psc {version} with compiler revision {revision}, and here it is "
                    f"{COMPILER_REVISION}; install the same psc on all nodes"
                )
        del waiting  # busy with something else; the artifacts that they make are checked, too

    def share(self, things: Mapping[str, Any]) -> None:
        self._shared.update((name, self._ray.put(thing)) for name, thing in things.items())

    def largest_memory(self) -> int:
        """The memory of the largest node that can run tasks, now or lately; looked up at most every other second."""
        now = time.monotonic()
        if now - self._looked_at_nodes > _LARGEST_FOR_S:
            self._looked_at_nodes = now
            with self._connected():
                nodes = [n["Resources"] for n in self._ray.nodes() if n["Alive"]]
            largest = max((int(n.get("memory", 0)) for n in nodes if n.get("CPU", 0) >= 1), default=0)
            if largest >= self._largest or now - self._largest_seen > _GRACE_S:
                self._largest, self._largest_seen = largest, now
            self.cpus = max(self.cpus, int(sum(n.get("CPU", 0) for n in nodes)))
        return self._largest

    def start(self, task: int, call: Call, shared: Sequence[str], parts: Sequence[Any], memory_bytes: int) -> None:
        options = self._task.options(
            num_cpus=1,
            memory=memory_bytes,
            num_returns="streaming",
            max_retries=0,
            name=str(call.options.get("grammar_name", "psc")),
        )
        with self._connected():
            messages = options.remote(call, *(self._shared[name] for name in shared), *parts)
        self._running[task] = _Running(messages, parts, memory_bytes)

    def wait(self, seconds: float) -> list[Event]:
        by_generator = {r.messages: task for task, r in self._running.items()}
        generators = list(by_generator)
        if not generators:
            return []
        with self._connected():
            ready, _ = self._ray.wait(generators, num_returns=1, timeout=seconds)
            if ready and len(generators) > 1:
                ready, _ = self._ray.wait(generators, num_returns=len(generators), timeout=0)
        events = [self._next(by_generator[generator]) for generator in ready]
        return events + self._stranded()

    def fetch(self, output: Any) -> Any:
        try:
            return self._ray.get(output, timeout=_FETCH_S)
        except self._ray.exceptions.RayError as e:
            raise LookupError(f"the result was lost with its node ({type(e).__name__})") from e

    def cancel(self, task: int) -> bool:
        """Kills the worker, if the task has one."""
        running = self._running.pop(task, None)
        if running is not None:
            with contextlib.suppress(Exception):  # it may have ended, or its node be gone: then there is nothing to stop
                self._ray.cancel(running.messages, force=True)
        return True

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if not self._connection.owned:
            # Else the workers go with the connection. Not by force: that, of several streams at once, has ended the driver.
            for running in self._running.values():
                with contextlib.suppress(Exception):
                    self._ray.cancel(running.messages, force=False)
        self._running.clear()
        self._shared.clear()
        self._connection.close()

    @contextlib.contextmanager
    def _connected(self) -> Iterator[None]:
        """Says so where Ray says that the cluster is gone."""
        try:
            yield
        except (self._ray.exceptions.RayError, ConnectionError) as e:
            raise ClusterError(f"{self.name}: the connection to the cluster was lost ({_brief(e)}); run again to go on") from e

    def _next(self, task: int) -> Event:
        """The next message of a task that has one, or the end of the task."""
        running = self._running[task]
        try:
            message = self._ray.get(next(running.messages))
        except StopIteration:
            return self._ended(task, "lost", "its worker stopped in the middle")
        except Exception as e:
            return self._ended(task, *self._why(e, running))
        if isinstance(message, Began):
            running.node = message.worker.rpartition(":")[0]
        message = replace(message, at=self._on_this_clock(running.node or "", message.at))
        if not isinstance(message, Ended):
            assert isinstance(message, Began | StageBegan)
            return Event(task, message)
        del self._running[task]
        if message.failure is not None:
            return Event(task, message)
        try:
            return Event(task, message, next(running.messages))
        except Exception as e:
            return Event(task, replace(message, failure="lost", error=f"its result was lost: {_brief(e)}"))

    def _ended(self, task: int, failure: Failure, error: str, lost: frozenset[int] = frozenset()) -> Event:
        del self._running[task]
        return Event(task, Ended(time.time(), failure, error), lost_parts=lost)

    def _why(self, error: Exception, running: _Running) -> tuple[Failure, str, frozenset[int]]:
        """The meaning of Ray's exception for the driver."""
        exceptions = self._ray.exceptions
        cause = getattr(error, "cause", None)
        for e in (error, cause):
            if isinstance(e, exceptions.OutOfMemoryError):
                return (
                    "memory",
                    f"its node ran out of memory, and Ray stopped it at {size(running.memory_bytes)} reserved",
                    frozenset(),
                )
            if isinstance(e, exceptions.ObjectLostError):
                lost = frozenset(i for i, part in enumerate(running.parts) if part.hex() == e.object_ref_hex)
                if lost:
                    return "inputs lost", f"a part that it needs was lost with its node ({type(e).__name__})", lost
        # A system error inside a task is one of loading its inputs.
        if isinstance(error, exceptions.RayTaskError) and (
            isinstance(cause, exceptions.RaySystemError) or not isinstance(cause, exceptions.RayError)
        ):
            missing = isinstance(cause, ImportError) or "No module named" in str(cause)
            return "error", _no_psc(error) if missing else _brief(error), frozenset()
        where = f" on {running.node}" if running.node else ""
        return "lost", f"its worker{where} was lost ({type(error).__name__})", frozenset()

    def _on_this_clock(self, node: str, at: float) -> float:
        took = time.time() - at
        self._clock_offsets[node] = min(took, self._clock_offsets.get(node, took))
        return at + self._clock_offsets[node]

    def _stranded(self) -> list[Event]:
        """Tasks that nobody has taken up, and that since a node went no node is large enough for: Ray would wait without end."""
        now = time.monotonic()
        if now - self._looked_for_stranded < _STRANDED_EVERY_S:
            return []
        self._looked_for_stranded = now
        largest, events = self.largest_memory(), []
        for task, running in list(self._running.items()):
            if running.node is None and running.memory_bytes > largest:
                error = f"waits for {size(running.memory_bytes)} of memory, but the largest node left has {size(largest)}"
                self.cancel(task)
                events.append(Event(task, Ended(time.time(), "refused", error)))
        return events


def _run_on_worker(call: Call, *inputs: Any) -> Iterator[Any]:
    import ray

    yield from Attempt(f"{_node(ray)}:{os.getpid()}", call, inputs).messages()


def _look() -> tuple[int, str, str]:
    import ray

    importlib.import_module("psc.cluster.run.compilation")  # so that the first task finds it imported
    from psc._version import __version__

    time.sleep(0.05)  # long enough that each of the workers gets one
    return COMPILER_REVISION, __version__, _node(ray)


def _node(ray: Any) -> str:
    return str(ray.util.get_node_ip_address())


def _no_psc(error: Exception) -> str:
    return f"the cluster's workers cannot import psc: install psc[cluster], this version, on every node ({_brief(error)})"


def _brief(error: BaseException) -> str:
    """An exception without the traceback that Ray puts into it."""
    cause = getattr(error, "cause", None) or error
    lines = [line for line in str(cause).splitlines() if line.strip()]
    return f"{type(cause).__name__}: {lines[-1].strip() if lines else ''}"
