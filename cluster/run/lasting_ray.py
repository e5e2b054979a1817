"""An executor on Ray that outlives its Ray, where it has started it.

A Ray that was started for a run may be lost as a whole, because one of its servers is killed or crashes. Then another Ray is
started, and the tasks that were running run again. Finished artifacts are in the store. When no Ray can be started any more, the
rest of the run is done in this process, which is slower, and says so. The loss of a cluster that was there before the run ends
the run: this executor cannot start it again.

Results that tasks have left in a lost Ray are lost. A task that needs them fails as "inputs lost", and the driver has them made
again.

Cost: what `psc.cluster.run.ray_process` takes to start, each time.
"""

from __future__ import annotations

import importlib.util
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from psc.cluster.run.executor import Event
from psc.cluster.run.in_process import InProcess
from psc.cluster.run.ray_connection import checked_address
from psc.cluster.run.ray_host import Ready
from psc.cluster.run.ray_process import RayGoneError, RayProcess
from psc.cluster.run.task import Call, Ended
from psc.errors import ClusterError, needs_extra

STARTS = 2
"""How often it is tried to start Ray, each time."""
MAX_LOST_RAYS = 3
"""How many Rays a run may lose before it continues in this process."""


class Host(Protocol):
    """As much of `psc.cluster.run.ray_process.RayProcess` as is needed."""

    def ready(self) -> Ready: ...
    def ask(self, method: str, *arguments: Any) -> Any: ...
    def forget(self, output: int) -> None: ...
    def close(self) -> None: ...
    def kill(self) -> None: ...


class _Output:
    """A result that lies in a Ray."""

    def __init__(self, number: int, host: Host) -> None:
        self.number = number
        self.host = host
        weakref.finalize(self, host.forget, number).atexit = False


class LastingRay:
    """Runs tasks on Ray. See `psc.cluster.run.executor.Executor`.

    Args:
        spec: see `psc.cluster.run.ray_executor.connect`; only a Ray for "local" is started again.
        note: called with each event.
        start: starts a process with Ray in it.

    Raises:
        MissingExtraError: Ray is not installed.
        ClusterError: that is no specification.
    """

    def __init__(
        self, spec: str, *, note: Callable[[str], None] = lambda text: None, start: Callable[[str], Host] = RayProcess
    ) -> None:
        checked_address(spec)
        with needs_extra("cluster"):
            if importlib.util.find_spec("ray") is None:
                raise ModuleNotFoundError("No module named 'ray'", name="ray")
        self._spec = spec
        self._owned = spec == "local"
        self._note = note
        self._start = start
        self._host: Host | None = None
        self._instead: InProcess | None = None
        self._lost = 0
        self._shared: dict[str, Any] = {}
        self._running: set[int] = set()
        self._events: list[Event] = []
        """To be reported by the next `wait`."""
        self.name = f"ray {spec}"
        self.cpus = 1
        self.memory_bytes = 0

    def start_ray(self) -> None:
        """Starts Ray, or connects to it.

        Raises:
            MissingExtraError: Ray is not installed.
            ClusterError: there is no such cluster; a Ray of one's own that does not start is no error, the run continues without.
        """
        for attempt in range(1, STARTS + 1):
            try:
                self._host = self._start(self._spec)
                ready = self._host.ready()
            except ClusterError as e:
                if self._host is not None:
                    self._host.kill()
                    self._host = None
                if not self._owned:
                    raise
                self._note(f"{e}; " + ("once more" if attempt < STARTS else "going on in this process, a job at a time"))
                continue
            self.name, self.cpus, self.memory_bytes = ready.name, ready.cpus, ready.memory_bytes
            return
        self._go_on_in_process()

    @property
    def queue(self) -> int:
        """Twice the tasks that can run, so that a worker finds its next task waiting."""
        return self._instead.queue if self._instead is not None else 2 * self.cpus + 2

    def share(self, things: Mapping[str, Any]) -> None:
        self._shared.update(things)
        if self._instead is not None:
            self._instead.share(things)
        else:
            self._ask("share", dict(things))

    def largest_memory(self) -> int:
        answer = None if self._instead is not None else self._ask("largest_memory")
        if answer is None:
            return self._instead.largest_memory() if self._instead is not None else self.memory_bytes
        largest, self.cpus = answer
        return int(largest)

    def start(self, task: int, call: Call, shared: Sequence[str], parts: Sequence[Any], memory_bytes: int) -> None:
        if lost := frozenset(i for i, part in enumerate(parts) if isinstance(part, _Output) and part.host is not self._host):
            why = "a part that it needs was lost with its Ray"
            self._events.append(Event(task, Ended(time.time(), "restarted", why), lost_parts=lost))
        elif self._instead is not None:
            self._instead.start(task, call, shared, parts, memory_bytes)
        else:
            self._running.add(task)
            self._ask("start", task, call, tuple(shared), [part.number for part in parts], memory_bytes)

    def wait(self, seconds: float) -> list[Event]:
        if not self._events:
            events = self._instead.wait(seconds) if self._instead is not None else self._ask("wait", seconds)
            self._events += [self._with_output(event) for event in events or ()]
        events, self._events = self._events, []
        self._running -= {event.task for event in events if isinstance(event.message, Ended)}
        return events

    def _with_output(self, event: Event) -> Event:
        if self._instead is not None or event.output is None or self._host is None:
            return event
        return Event(event.task, event.message, _Output(event.output, self._host), event.lost_parts)

    def fetch(self, output: Any) -> Any:
        if not isinstance(output, _Output):
            return output  # made in this process
        if output.host is not self._host:
            raise LookupError("the result was lost with its Ray")
        host = self._host
        result = self._ask("fetch", output.number)
        if self._host is not host:
            raise LookupError("the result was lost with its Ray")
        return result

    def cancel(self, task: int) -> bool:
        if self._instead is not None:
            return self._instead.cancel(task)
        self._running.discard(task)
        self._events = [event for event in self._events if event.task != task]
        self._ask("cancel", task)
        return True

    def close(self) -> None:
        if self._instead is not None:
            self._instead.close()
        host, self._host = self._host, None
        self._shared.clear()
        if host is not None:
            try:
                host.close()
            except BaseException:
                host.kill()
                raise

    def kill(self) -> None:
        """Ends Ray and all of its processes at once; from any thread."""
        if self._host is not None:
            self._host.kill()

    def _ask(self, method: str, *arguments: Any) -> Any:
        """The answer; None where Ray is lost, and its tasks are reported as lost."""
        if self._host is None:
            return None
        try:
            return self._host.ask(method, *arguments)
        except RayGoneError as e:
            if not self._owned:
                why = f"{self.name}: the connection to the cluster was lost ({e}); run again to go on"
                raise ClusterError(why) from e
            self._start_again(str(e))
            return None

    def _start_again(self, why: str) -> None:
        host, self._host = self._host, None
        assert host is not None
        host.kill()
        self._lost += 1
        now = time.time()
        ended = {event.task for event in self._events if isinstance(event.message, Ended)}
        self._events += [Event(task, Ended(now, "restarted", f"its Ray was lost: {why}")) for task in self._running - ended]
        if self._lost > MAX_LOST_RAYS:
            self._note(f"Ray was lost ({why}), for the {self._lost}th time; going on in this process, a job at a time")
            self._go_on_in_process()
            return
        self._note(f"Ray was lost ({why}); starting another, and what ran is run again")
        self.start_ray()
        if self._host is not None and self._shared:
            self._ask("share", dict(self._shared))

    def _go_on_in_process(self) -> None:
        self._instead = InProcess()
        self._instead.share(self._shared)
        self.name, self.cpus, self.memory_bytes = "in process, without Ray", 1, self._instead.memory_bytes
