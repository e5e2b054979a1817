"""Run a measurement in a process of its own: a fresh one, which may crash or not come back without taking the others along.

The idea: a function of a module here and its arguments go to a new interpreter; it may report more than once (`Reports`), so
that what was measured before a crash is kept.

The cost: starting Python and importing what the function's module imports, some 0.3 s.
"""

import multiprocessing
import os
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any


class Failed(RuntimeError):
    """What became of a process that did not end well; says so in words."""


def reports(function: Callable[..., Iterator[Any]], *arguments: Any, timeout: float) -> Iterator[Any]:
    """What `function(*arguments)` yields over there, each within `timeout` seconds of the one before. Raises Failed."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_run, args=(theirs, function, arguments), daemon=True)
    process.start()
    theirs.close()
    try:
        while True:
            if not ours.poll(timeout):
                raise Failed(f"did not come back within {timeout:.0f} s")
            try:
                kind, content = ours.recv()
            except EOFError:
                process.join()
                raise Failed(f"its process died (exit status {process.exitcode})") from None
            if kind == "end":
                return
            if kind == "error":
                raise Failed(content)
            yield content
    finally:
        process.kill()
        process.join()


def result(function: Callable[..., Any], *arguments: Any, timeout: float) -> Any:
    """What `function(*arguments)` returns over there. Raises Failed."""
    return next(reports(_once, function, arguments, timeout=timeout))


def _once(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Iterator[Any]:
    yield function(*arguments)


def _run(connection: Connection, function: Callable[..., Iterator[Any]], arguments: tuple[Any, ...]) -> None:
    try:
        for report in function(*arguments):
            connection.send(("report", report))
        connection.send(("end", None))
    except Exception as error:
        connection.send(("error", _first_line(error)))


class Resident:
    """An object in a process of its own, asked again and again; what it holds stays there."""

    def __init__(self, make: Callable[..., Any], *arguments: Any, timeout: float) -> None:
        """Makes `make(*arguments)` over there. Raises Failed."""
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_reside, args=(theirs, make, arguments), daemon=True)
        self._process.start()
        theirs.close()
        self._receive(timeout)

    def ask(self, method: str, *arguments: Any, timeout: float) -> Any:
        """What a method returns. Raises Failed; after a crash, or when nothing came in time, the process is over."""
        try:
            self._connection.send((method, arguments))
        except OSError:
            raise Failed("its process is over") from None
        return self._receive(timeout)

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
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
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # XGrammar warns there of each schema; errors come through the connection
    try:
        resident = make(*arguments)
    except Exception as error:
        connection.send(("error", _first_line(error)))
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
            connection.send(("error", _first_line(error)))


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
