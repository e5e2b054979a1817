"""Objects in processes of their own, which may crash or not come back without taking the others along.

The idea: what makes the object (a class or a function of a module here) and its arguments go to a new interpreter, and its methods
are called from here, one after the other.

The cost: starting Python and importing what the maker's module imports, some 0.3 s; a call some 0.1 ms.
"""

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any


class Failed(RuntimeError):
    """The failure of a process, in words."""


def result(function: Callable[..., Any], *arguments: Any, timeout: float) -> Any:
    """The result of `function(*arguments)` in a fresh process. Raises Failed."""
    resident = Resident(_Call, function, arguments, timeout=timeout)
    try:
        return resident.ask("returned", timeout=timeout)
    finally:
        resident.stop()


class _Call:
    """A call and its result."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._returned = function(*arguments)

    def returned(self) -> Any:
        return self._returned


class Resident:
    """An object in a process of its own, called again and again; its data stay there."""

    def __init__(self, make: Callable[..., Any], *arguments: Any, timeout: float) -> None:
        """Makes `make(*arguments)` in that process. Raises Failed."""
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_reside, args=(theirs, make, arguments), daemon=True)
        self._process.start()
        theirs.close()
        self._receive(timeout)

    def ask(self, method: str, *arguments: Any, timeout: float) -> Any:
        """The result of a method. Raises Failed; after a crash, or without an answer in time, the process has ended."""
        try:
            self._connection.send((method, arguments))
        except OSError:
            raise Failed("its process is over") from None
        return self._receive(timeout)

    @property
    def alive(self) -> bool:
        """Whether it can be called."""
        return self._process.is_alive()

    def stop(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.join()

    def _receive(self, timeout: float) -> Any:
        if not self._connection.poll(timeout):
            self.stop()
            raise Failed(f"did not come back within {timeout:.0f} s")
        try:
            kind, content = self._connection.recv()
        except EOFError:
            self._process.join()
            raise Failed(f"its process died (exit status {self._process.exitcode})") from None
        if kind == "error":
            raise Failed(content)
        return content


def _reside(connection: Connection, make: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        resident = make(*arguments)
    except Exception as error:
        connection.send(_failed(error))
        return
    connection.send(("ready", None))
    while True:
        try:
            method, given = connection.recv()
        except EOFError:
            return
        try:
            connection.send(("answer", getattr(resident, method)(*given)))
        except Exception as error:
            connection.send(_failed(error))


def _failed(error: Exception) -> tuple[str, str]:
    return "error", (str(error).strip().splitlines() or [type(error).__name__])[0]
