"""The process that Ray is used in: an executor on Ray that another process controls.

Ray cannot be used in the process of a command that must end in good order. It replaces signal handlers, ends the process when its
servers are gone, and crashes when its start is interrupted. So it has a process of its own. Signals from a terminal do not reach
that process, and the command survives its end.

Requests are a method of `psc.cluster.run.ray_executor.RayExecutor` and its arguments, answered one after the other. Results of
tasks stay here; the other side has numbers for them. When the other side is gone, Ray is released.

Cost: a process, and two small messages for each message of a task.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any, Literal

from psc.cluster.run.ray_executor import RayExecutor, connect
from psc.cluster.run.tagged_processes import VARIABLE, servers, tagged
from psc.errors import ClusterError, PscError

SERVERS = ("raylet", "gcs_server")
"""Processes of Ray without which it does not work."""


@dataclass(frozen=True)
class Ready:
    """Ray can be used."""

    name: str
    cpus: int
    memory_bytes: int
    servers: tuple[int, ...]
    """Ray's processes that were started for it, and without which it does not work."""


@dataclass(frozen=True)
class Refused:
    """Ray cannot be used, and why. The kind is the name of a class in `psc.errors`."""

    kind: str
    why: str


@dataclass(frozen=True)
class Request:
    """A method, its arguments, and which results are no longer needed."""

    method: str
    arguments: tuple[Any, ...]
    forgotten: tuple[int, ...] = ()


@dataclass(frozen=True)
class Answer:
    """The result of a method, or its error."""

    value: Any = None
    error: Literal["lost", "gone"] | None = None
    """A result is lost (LookupError); or Ray is gone (ClusterError, and whatever else it raises)."""


def main(descriptor: int, spec: str) -> None:
    """Serves the process at the other end of a socket until that is closed.

    Args:
        descriptor: of the socket.
        spec: see `psc.cluster.run.ray_executor.connect`.
    """
    connection = Connection(descriptor)
    try:
        executor = connect(spec)
    except PscError as e:
        connection.send(Refused(type(e).__name__, str(e)))
        return
    try:
        watched = servers(tagged(os.environ.get(VARIABLE, "")), *SERVERS)
        connection.send(Ready(executor.name, executor.cpus, executor.memory_bytes, tuple(watched)))
        _serve(connection, _Host(executor))
    except (EOFError, OSError):
        pass  # the other side is gone
    finally:
        executor.close()


def _serve(connection: Connection[Any, Any], host: _Host) -> None:
    while True:
        request = connection.recv()
        host.forget(request.forgotten)
        try:
            answer = Answer(getattr(host, request.method)(*request.arguments))
        except LookupError as e:
            answer = Answer(str(e), "lost")
        except ClusterError as e:
            answer = Answer(str(e), "gone")
        except Exception as e:  # a broken Ray may raise anything
            answer = Answer(f"{type(e).__name__}: {e}", "gone")
        connection.send(answer)
        if request.method == "close":
            return


class _Host:
    """An executor whose handles of results are numbers."""

    def __init__(self, executor: RayExecutor) -> None:
        self._executor = executor
        self._outputs: dict[int, Any] = {}
        self._n_outputs = 0

    def forget(self, outputs: Sequence[int]) -> None:
        for number in outputs:
            self._outputs.pop(number, None)

    def share(self, things: Any) -> None:
        self._executor.share(things)

    def largest_memory(self) -> tuple[int, int]:
        """And how many CPUs there are, which may grow."""
        return self._executor.largest_memory(), self._executor.cpus

    def start(self, task: int, call: Any, shared: Sequence[str], parts: Sequence[int], memory_bytes: int) -> None:
        self._executor.start(task, call, shared, [self._outputs[part] for part in parts], memory_bytes)

    def wait(self, seconds: float) -> Any:
        events = []
        for event in self._executor.wait(seconds):
            if event.output is not None:
                self._outputs[self._n_outputs] = event.output
                event = replace(event, output=self._n_outputs)
                self._n_outputs += 1
            events.append(event)
        return events

    def fetch(self, output: int) -> Any:
        return self._executor.fetch(self._outputs[output])

    def cancel(self, task: int) -> bool:
        return self._executor.cancel(task)

    def close(self) -> None:
        self._executor.close()
