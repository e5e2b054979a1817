"""An executor runs tasks: in this process, or on Ray. The driver starts tasks and polls their state; nothing else differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from psc.cluster.run.task import Began, Call, Ended, StageBegan


@dataclass(frozen=True)
class Event:
    """Something that a task said. Its times are on the driver's clock (``time.time``)."""

    task: int
    message: Began | StageBegan | Ended
    output: Any = None
    """With an `Ended` that names no failure: a handle of the result, for `Executor.fetch` and for tasks that need it."""
    lost_parts: frozenset[int] = frozenset()
    """With the failure "inputs lost": which of the task's parts, by position."""


class Executor(Protocol):
    """Runs tasks, several at a time if it can."""

    name: str
    """"in process", or "ray" and what it is connected to."""
    cpus: int
    memory_bytes: int

    @property
    def queue(self) -> int:
        """The number of tasks it should have at any time, so that no worker waits for the driver."""

    def share(self, things: Mapping[str, Any]) -> None:
        """Takes in the values that many tasks read, once each, by name."""

    def largest_memory(self) -> int:
        """The most bytes that one task can have: those of the largest node."""

    def start(self, task: int, call: Call, shared: Sequence[str], parts: Sequence[Any], memory_bytes: int) -> None:
        """Starts a task as soon as there is room.

        Args:
            task: its number, new in each attempt.
            call: the work.
            shared: names of what was shared, the first arguments.
            parts: handles of other tasks' results, the arguments after them.
            memory_bytes: to reserve.
        """

    def wait(self, seconds: float) -> list[Event]:
        """The messages of tasks, as soon as there is one, or none after some time."""

    def fetch(self, output: Any) -> Any:
        """A result. Raises LookupError when it is lost."""

    def cancel(self, task: int) -> bool:
        """Stops a task, by force, and forgets it. Returns whether that could be done."""

    def close(self) -> None:
        """Stops the running tasks, and releases everything."""
