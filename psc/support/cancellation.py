"""Compilations that another thread calls off.

A server compiles the schema of a request in a worker thread. When the client goes away, or a deadline passes, another thread calls
the compilation off, and the worker is free for the next request.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, InvalidStateError, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, Final, TypeVar

from psc import _core
from psc.errors import CompilationCancelledError

_T = TypeVar("_T")
_NOTHING: Final = nullcontext()


class Cancellation:
    """Calls off the compilations that it is given to, from any thread.

    One may be given to any number of compilations, and cannot be used again once it has cancelled. A compilation that is called off
    raises ``CompilationCancelledError``, mostly within some milliseconds; whatever it had made is dropped, the compiler stays as it
    was, and other threads that were waiting for the same grammar compile it themselves.
    """

    def __init__(self) -> None:
        self._flag = _core.Cancellation()
        self._called_off: Future[None] = Future()  # for who waits for something else meanwhile

    def cancel(self) -> None:
        """Calls them off, those that are yet to come too. Returns at once; calling it again changes nothing."""
        self._flag.cancel()
        with suppress(InvalidStateError):
            self._called_off.set_result(None)

    @property
    def cancelled(self) -> bool:
        """Whether ``cancel`` was called."""
        return self._flag.cancelled


def obeying(cancellation: Cancellation | None) -> AbstractContextManager[None]:
    """What the calling thread does inside is called off by a cancellation, where there is one.

    The native core looks at it where it counts its work. What runs in Python (Lark's own parser, for a text with errors) goes on to
    the next native stage.

    Raises:
        CompilationCancelledError: it was called off, before or inside.
        TypeError: the argument is something else.
    """
    check_cancellation(cancellation)
    return _NOTHING if cancellation is None else _obeying(cancellation)


def check_cancellation(cancellation: object) -> None:
    """Raises TypeError, with the argument's name, for what is neither None nor a `Cancellation`."""
    if cancellation is not None and not isinstance(cancellation, Cancellation):
        raise TypeError(f"cancellation must be a psc.Cancellation or None, not {type(cancellation).__name__}")


@contextmanager
def _obeying(cancellation: Cancellation) -> Iterator[None]:
    before = _core.obey(cancellation._flag)
    try:
        _core.stop_if_cancelled()
        yield
    finally:
        _core.obey(before)


def result_unless_cancelled(future: Future[_T], cancellation: Cancellation | None, timeout: float | None = None) -> _T:
    """As ``future.result(timeout)``, and ends with CompilationCancelledError as soon as it is called off."""
    if cancellation is None:
        return future.result(timeout)
    either: list[Future[Any]] = [future, cancellation._called_off]
    wait(either, timeout, FIRST_COMPLETED)
    if cancellation.cancelled:
        raise CompilationCancelledError("the compilation was cancelled")
    return future.result(0)
