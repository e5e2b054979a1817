"""What one thread makes, and others wait for, whatever becomes of the thread that makes it.

The idea: a `concurrent.futures.Future` that a thread registers, and cannot set in the end, leaves those that wait for it waiting
for ever. That happens where a handler of a signal raises between the two (Ctrl-C, a second one in the `finally` of the first, an
alarm that raises), and in the child of a fork, which has not the thread that makes it. Such a handler may also raise inside of a
`threading.Condition`, whose lock then stays taken. So nobody relies on being woken here: who waits looks now and then whether the
result is there, and whether the call that makes it is still among the frames of its thread.

Example: A registers a `Pending` in the local variable `mine` of `get_or_build`, and Ctrl-C ends the call before the block of
`ends` begins. B waits for the entry. B looks at A's frames, finds no `get_or_build` with that `mine`, and builds it.

Cost: a lock; who waits wakes up 50 times a second, and looks at the frames of one thread every quarter of a second.
Tried and dropped: `weakref` to a token of the maker's frame: a traceback that somebody keeps holds the frame.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import CodeType, FrameType, TracebackType
from typing import Generic, TypeVar

from psc.errors import CompilationCancelledError

_T = TypeVar("_T")
_Key = TypeVar("_Key")
_POLL_S = 0.02
_POLLS_BEFORE_A_LOOK = 12


class Pending(Generic[_T]):
    """A result that is not there yet.

    Args:
        maker: the code of the function whose call makes it, on the calling thread, with this object in its variable ``mine``; or
            the thread that makes it.

    May be used from several threads.
    """

    def __init__(self, maker: CodeType | threading.Thread) -> None:
        self._maker = maker
        self._ident = threading.get_ident()
        self._outcome: tuple[_T | None, BaseException | None] | None = None
        self._over = threading.Lock()  # only wakes up; whether it is over says the outcome
        self._over.acquire()

    @property
    def is_over(self) -> bool:
        """Whether there is a result or an error."""
        return self._outcome is not None

    def set(self, result: _T | None, error: BaseException | None = None) -> None:
        """Ends the waiting, with a result or an error; None: whoever waits makes it instead."""
        self._outcome = result, error
        with suppress(RuntimeError):  # somebody has just woken up
            self._over.release()

    def ends(self, unregister: Callable[[_Key, Pending[_T]], object], key: _Key) -> _Ends[_Key, _T]:
        """A block that makes the result: however it is left, nobody waits any more.

        What it raises is raised in those that wait, too, but for an end that is this thread's alone (CompilationCancelledError,
        KeyboardInterrupt, SystemExit): then one of these makes the result.

        Args:
            unregister: called with the key and this object, before those that wait wake up, where there is no result.
            key: under which it is registered.
        """
        return _Ends(self, unregister, key)

    @property
    def is_abandoned(self) -> bool:
        """Whether nobody makes it any more, and there is no result."""
        if isinstance(self._maker, threading.Thread):
            makes = self._maker.is_alive()
        else:
            # The calling thread cannot wait for itself: the call that makes it was ended, or is below this one.
            makes = self._ident != threading.get_ident() and self._is_being_made(self._maker)
        return not makes and self._outcome is None

    def _is_being_made(self, code: CodeType) -> bool:
        frame: FrameType | None = sys._current_frames().get(self._ident)
        while frame is not None:
            if frame.f_code is code and frame.f_locals.get("mine") is self:
                return True
            frame = frame.f_back
        return False

    def wait(self, check: Callable[[], object], timeout_s: float | None = None) -> _T | None:
        """The result; None where the thread that makes it gave up, or is gone.

        Args:
            check: called at least 50 times a second; what it raises ends the waiting.
            timeout_s: how long to wait; None: as long as it takes.

        Raises:
            TimeoutError: the time is over.
            BaseException: what the thread that makes it raised.
        """
        end = None if timeout_s is None else time.monotonic() + timeout_s
        polls = 0
        while self._outcome is None:
            check()
            if polls % _POLLS_BEFORE_A_LOOK == 0 and self.is_abandoned:
                return None
            polls += 1
            left = _POLL_S if end is None else min(_POLL_S, end - time.monotonic())
            if left <= 0:
                raise TimeoutError
            if self._over.acquire(timeout=left):
                with suppress(RuntimeError):
                    self._over.release()
        check()
        result, error = self._outcome
        if error is not None:
            raise error
        return result


class _Ends(Generic[_Key, _T]):
    """See `Pending.ends`. No generator: one that an interrupt leaves in its `try` is closed by the garbage collector, anywhere."""

    def __init__(self, pending: Pending[_T], unregister: Callable[[_Key, Pending[_T]], object], key: _Key) -> None:
        self._pending, self._unregister, self._key = pending, unregister, key

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self._pending.is_over:
            self._unregister(self._key, self._pending)
            is_for_all = isinstance(error, Exception) and not isinstance(error, CompilationCancelledError)
            self._pending.set(None, error if is_for_all else None)
