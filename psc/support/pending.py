"""What one thread makes, and others wait for, whatever becomes of the thread that makes it.

The idea: a `concurrent.futures.Future` that a thread registers, and cannot set in the end, leaves those that wait for it waiting
without end. That happens where a handler of a signal raises between the two (Ctrl-C, a second one in the `finally` of the first, an
alarm that raises), and in the child of a fork, which has not the thread that makes it. Such a handler may also raise inside of a
`threading.Condition`, whose lock then stays taken. So nobody relies on being woken here: who waits looks now and then whether the
result is there, and whether the thread that makes it is still in the block that it holds a lock for. The lock is the standard
library's: `with` takes it and frees it in one step each, between which no handler runs, and however the block is left.

Example: A registers a `Pending` within `with mine.making`, and Ctrl-C ends A's call before the block of `ends` begins. B waits for
the entry, sees that nobody is in its block, and builds it.

Cost: two locks; who waits wakes up 50 times a second.
Tried and dropped: `weakref` to a token of the maker's frame, since a traceback that somebody keeps holds the frame; looking for the
call among the frames of its thread (`sys._current_frames`), since CPython 3.11 may collect garbage in the middle of it; another
thread continues then, its frames are freed, and the process dies of signal 11 or waits for itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, Generic, TypeVar

from psc.errors import CompilationCancelledError
from psc.support.forks import in_child

_T = TypeVar("_T")
_Key = TypeVar("_Key")
_POLL_S = 0.02
_survivors: list[int] = []
"""The thread that forked, of each fork between the first process and this one."""


class Pending(Generic[_T]):
    """A result that is not there yet.

    The thread that creates it makes the result, in a block of ``making``, and registers it for others inside of that block only.

    Args:
        maker: another thread that makes it instead, without such a block.

    May be used from several threads.
    """

    def __init__(self, maker: threading.Thread | None = None) -> None:
        self.making: Final = threading.Lock()
        """Held while the result is made."""
        self._maker = maker
        self._ident = threading.get_ident()
        self._forks = len(_survivors)
        self._outcome: tuple[_T | None, BaseException | None] | None = None
        self._over = threading.Lock()  # only wakes up; whether it is over says the outcome
        self._over.acquire()

    @property
    def is_over(self) -> bool:
        """Whether there is a result or an error."""
        return self._outcome is not None

    def set(self, result: _T | None, error: BaseException | None = None) -> None:
        """Ends the waiting, with a result or an error; None: the one that waits makes it instead."""
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
        if self._maker is not None:
            makes = self._maker.is_alive()
        else:
            # The calling thread cannot wait for itself: the call that makes it was ended, or is below this one.
            makes = self.making.locked() and self._ident != threading.get_ident() and self._is_here
        return not makes and self._outcome is None

    @property
    def _is_here(self) -> bool:
        """Whether the thread that created it is in this process."""
        return all(survivor == self._ident for survivor in _survivors[self._forks :])

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
        while self._outcome is None:
            check()
            if self.is_abandoned:
                return None
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


in_child(lambda: _survivors.append(threading.get_ident()))
