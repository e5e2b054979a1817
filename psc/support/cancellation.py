"""Compilations that another thread calls off, or the end of the program.

A server compiles the schema of a request in a worker thread. When the client goes away, or a deadline passes, another thread calls
the compilation off, and the worker is free for the next request. When the program ends, what daemon threads compile is called
off, and the end waits for them up to a second: CPython ends such threads wherever they are.
"""

from __future__ import annotations

from typing import Final, TypeVar

from psc import _core
from psc.errors import CompilationCancelledError
from psc.support import ending
from psc.support.arguments import check_type
from psc.support.forks import in_child
from psc.support.pending import Pending

_T = TypeVar("_T")
_PATIENCE_AT_EXIT_S: Final = 1.0


class Cancellation:
    """Calls off the compilations that it is given to, from any thread.

    One may be given to any number of compilations, and cannot be used again once it has cancelled. A compilation that is called off
    raises ``CompilationCancelledError``, mostly within some milliseconds; whatever it had made is dropped, the compiler stays as it
    was, and other threads that were waiting for the same grammar compile it themselves.
    """

    def __init__(self) -> None:
        self._flag = _core.Cancellation()

    def cancel(self) -> None:
        """Calls them off, those that are yet to come too. Returns at once; calling it again changes nothing."""
        self._flag.cancel()

    @property
    def cancelled(self) -> bool:
        """Whether ``cancel`` was called."""
        return self._flag.cancelled

    def __repr__(self) -> str:
        return f"Cancellation({'cancelled' if self.cancelled else 'not cancelled'})"


def obeying(cancellation: Cancellation | None) -> _core.Obeying:
    """A block that is called off by a cancellation (without one, by that of the block around it), and by the program's end.

    The native core looks at it where it counts its work, and what runs in Python at `stop_if_cancelled`.

    Raises:
        CompilationCancelledError: it was called off, before or inside.
        TypeError: the argument is something else.
    """
    check_cancellation(cancellation)
    return _core.Obeying(None if cancellation is None else cancellation._flag)


def check_cancellation(cancellation: object) -> None:
    """Raises TypeError, with the argument's name, for what is neither None nor a `Cancellation`."""
    check_type("cancellation", cancellation, Cancellation, optional=True)


def result_unless_cancelled(pending: Pending[_T], cancellation: Cancellation | None, timeout_s: float | None = None) -> _T | None:
    """As ``pending.wait``, and ends with CompilationCancelledError within 20 ms after it is called off."""

    def check() -> None:
        if cancellation is not None and cancellation.cancelled:
            raise CompilationCancelledError("the compilation was cancelled")
        _core.stop_if_cancelled()

    return pending.wait(check, timeout_s)


in_child(_core.forget_other_threads)
ending.at_end(lambda: _core.end_compilations(_PATIENCE_AT_EXIT_S))
