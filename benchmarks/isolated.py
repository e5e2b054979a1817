"""Run a measurement in a process of its own: a fresh one, which may crash or not come back without taking the others along.

The idea: a function of a module here and its arguments go to a new interpreter; it may report more than once (`Reports`), so
that what was measured before a crash is kept.

The cost: starting Python and importing what the function's module imports, some 0.3 s.
"""

import multiprocessing
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
        lines = str(error).strip().splitlines() or [type(error).__name__]
        connection.send(("error", lines[0]))
