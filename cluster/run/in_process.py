"""Tasks one after the other in this process: the default, with no packages and no processes of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from psc.cluster.run.executor import Event
from psc.cluster.run.memory import machine_memory
from psc.cluster.run.task import Attempt, Call, Ended


class InProcess:
    """Runs a task while the driver waits. See `psc.cluster.run.executor.Executor`."""

    name = "in process"
    cpus = 1
    queue = 1

    def __init__(self) -> None:
        self.memory_bytes = machine_memory()
        self._shared: dict[str, Any] = {}
        self._waiting: deque[tuple[int, Attempt, Iterator[Any]]] = deque()

    def share(self, things: Mapping[str, Any]) -> None:
        self._shared.update(things)

    def largest_memory(self) -> int:
        return self.memory_bytes

    def start(self, task: int, call: Call, shared: Sequence[str], parts: Sequence[Any], memory_bytes: int) -> None:
        attempt = Attempt(self.name, call, (*(self._shared[name] for name in shared), *parts))
        self._waiting.append((task, attempt, attempt.messages()))

    def wait(self, seconds: float) -> list[Event]:
        """The next thing that the task in hand says; waits for it as long as it takes."""
        if not self._waiting:
            return []
        task, _, messages = self._waiting[0]
        message = next(messages)
        if not isinstance(message, Ended):
            return [Event(task, message)]
        self._waiting.popleft()
        return [Event(task, message, next(messages, None))]

    def fetch(self, output: Any) -> Any:
        return output

    def cancel(self, task: int) -> bool:
        """Nothing here can be stopped from outside; the task itself looks at its time as each stage begins."""
        return False

    def close(self) -> None:
        """Waits until the task in hand, if any, has come to its next stage."""
        self._shared.clear()
        waiting, self._waiting = self._waiting, deque()
        for _, attempt, _ in waiting:
            attempt.stop()
