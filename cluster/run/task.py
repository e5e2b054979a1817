"""One piece of work as a worker runs it: messages as it begins, as each stage begins and when it has ended, then its result.

The work runs in a thread of its own and the messages are yielded beside it, so that a driver sees a stage when it begins, not when
it has ended; the native stages release the interpreter's lock. Every failure becomes a message too: exceptions need not cross
processes. The same generator serves as a Ray task and for the in-process executor.

Cost: a thread and some ten small messages per task.
"""

from __future__ import annotations

import queue
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from psc.cluster.run.memory import Measured, measured
from psc.errors import PscError
from psc.support.readable import duration, size

Failure = Literal["error", "memory", "time", "lost", "inputs lost", "restarted", "refused"]
"""Why an attempt failed. "error": the work's own fault. "memory", "time": a limit. "lost": its worker or node was lost. "inputs
lost": a part that it needs was lost. "restarted": the executor lost everything that ran, and has started anew. "refused": no node
is large enough."""

Progress = Callable[[str, int, int], None]

TASK_THREAD = "psc task"
"""The name of the threads in which tasks run."""


@dataclass(frozen=True)
class Call:
    """The work of a worker: ``work(*shared, *parts, **options, progress=…)``."""

    work: Callable[..., Any]
    """A function at the top of a module of psc, so that it travels as a name."""
    options: Mapping[str, Any] = field(default_factory=dict)
    memory_limit: int | None = None
    """Bytes above the worker's memory before."""
    time_limit: float | None = None
    """Seconds; looked at as each stage begins, and by the driver where it can stop a worker."""


@dataclass(frozen=True)
class Began:
    """A worker has taken the task up. ``at`` is in seconds of the worker's clock, in the next two too."""

    worker: str
    at: float


@dataclass(frozen=True)
class StageBegan:
    """A stage of the work begins."""

    name: str
    number: int
    of: int
    at: float


@dataclass(frozen=True)
class Ended:
    """The work has ended; if it did not fail, its result comes next."""

    at: float
    failure: Failure | None = None
    error: str | None = None
    peak_memory_bytes: int = 0
    stages: Mapping[str, float] = field(default_factory=dict)


Message = Began | StageBegan | Ended


class _TimeExceeded(Exception):
    pass


class _Stopped(Exception):
    pass


class Attempt:
    """A task that runs in a thread of its own.

    Args:
        worker: the name of this process.
        call: the work.
        inputs: the values shared between tasks, then the results of the tasks that this one needs.
    """

    def __init__(self, worker: str, call: Call, inputs: tuple[Any, ...]) -> None:
        self._worker = worker
        self._call = call
        self._inputs = inputs
        self._messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._stopped = False
        self._result: Any = None
        self._began = 0.0
        self._stage: tuple[str, float] | None = None
        self._stages: dict[str, float] = {}
        self._memory: Measured | None = None
        self._thread = threading.Thread(target=self._run, name=TASK_THREAD, daemon=True)

    def messages(self) -> Iterator[Any]:
        """Starts it. Yields messages, the last of which is `Ended`; then, where that names no failure, the result."""
        yield Began(self._worker, time.time())
        self._began = time.perf_counter()
        self._thread.start()
        while True:
            message = self._messages.get()
            if isinstance(message, Ended):
                self._thread.join()
            yield message
            if isinstance(message, Ended):
                break
        if message.failure is None:
            result, self._result = self._result, None
            yield result

    def stop(self) -> None:
        """Stops it where its next stage begins. A stage may take long, so that is not waited for longer than a second."""
        self._stopped = True
        if self._thread.is_alive():
            self._thread.join(1.0)

    @property
    def alive(self) -> bool:
        """Whether it is at work."""
        return self._thread.is_alive()

    def _run(self) -> None:
        failure: Failure | None = None
        error: str | None = None
        with measured(self._call.memory_limit) as memory:
            self._memory = memory
            try:
                self._result = self._call.work(*self._inputs, **self._call.options, progress=self._progress)
                self._stage_over()
            except _Stopped:
                failure, error = "error", "stopped"
            except _TimeExceeded:
                failure, error = "time", self._too_long()
            except MemoryError:
                failure, error = "memory", too_much_memory(self._call.memory_limit)
            except PscError as e:
                failure, error = ("memory", too_much_memory(self._call.memory_limit)) if _memory_is_why(e) else ("error", str(e))
            except Exception as e:
                failure, error = "error", _internal(e)
                if _memory_is_why(e):
                    failure, error = "memory", too_much_memory(self._call.memory_limit)
        self._inputs = ()
        self._messages.put(Ended(time.time(), failure, error, memory.peak_bytes, self._stages))

    def _progress(self, name: str, number: int, of: int) -> None:
        self._stage_over()
        if self._stopped:
            raise _Stopped
        assert self._memory is not None
        self._memory.check()
        limit = self._call.time_limit
        if limit is not None and time.perf_counter() - self._began > limit:
            raise _TimeExceeded
        self._stage = (name, time.perf_counter())
        self._messages.put(StageBegan(name, number, of, time.time()))

    def _stage_over(self) -> None:
        if self._stage is not None:
            name, since = self._stage
            self._stages[name] = self._stages.get(name, 0.0) + time.perf_counter() - since
            self._stage = None

    def _too_long(self) -> str:
        return too_much_time(self._call.time_limit or 0.0)


def too_much_memory(limit: int | None) -> str:
    """The message for a task that exceeded its memory limit."""
    allowed = "the machine has" if limit is None else f"{size(limit)}, which is what it was given"
    return f"needed more memory than {allowed}"


def too_much_time(limit: float) -> str:
    """The message for a task that exceeded its time limit."""
    return f"took longer than its limit of {duration(limit)}; raise time = in the jobs file, or make the grammar smaller"


_OUT_OF_MEMORY = ("more than this process can get", "allocation error", "not enough memory", "failed to map segment")
"""How the native core and zstandard say it, and the loader of libraries that are imported when they are needed."""


def _memory_is_why(error: BaseException) -> bool:
    """Whether memory ran out under something that reports it in its own way."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError) or any(words in str(cause).lower() for words in _OUT_OF_MEMORY):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _internal(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"an error in psc, please report it: {type(error).__name__}: {error}{where}"
