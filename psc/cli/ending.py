"""How a signal ends a command: SIGINT (Ctrl-C), SIGTERM and SIGHUP, with exit codes 130, 143 and 129.

The first signal raises `Ending` in the main thread, and the command unwinds: a file that was being written is removed, and ``psc
batch`` reports what it did. A second signal ends the process at once.

The interpreter runs signal handlers between two of its own steps, so not while the main thread is inside a native stage, which may
take many seconds. A thread therefore reads each signal from a pipe that the interpreter's own handler writes to, and ends the
process if the main thread has not handled the signal after `GRACE_S`. A last act ends processes that must not outlive this one,
such as a Ray that was started for it.

Cost: a sleeping thread and a pipe per command.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

GRACE_S = 2.0
"""For how long the main thread may leave the first signal alone, because it is inside a native stage."""
_ONE_S = 0.2
"""Signals that come within this time are one: a terminal that is closed, or a service manager, sends two."""
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Ending(KeyboardInterrupt):
    """A signal ends the command."""

    def __init__(self, number: int) -> None:
        super().__init__("interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}")


class _Signals:
    """The signals so far. Handlers run in the main thread, `_watch` in its own."""

    def __init__(self) -> None:
        self.acts: list[Callable[[], None]] = []
        self.held = 1
        self.first: int | None = None
        self._first_at = 0.0
        self._read_end, self._write_end = os.pipe()
        os.set_blocking(self._write_end, False)
        self._before: dict[int, Any] = {}
        self._wakeup = -1

    def install(self) -> None:
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup, or a job in the background: it stays ignored
                self._before[number] = signal.signal(number, self._came)
        self._wakeup = signal.set_wakeup_fd(self._write_end, warn_on_full_buffer=False)
        threading.Thread(target=self._watch, name="signals", daemon=True).start()

    def restore(self) -> None:
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in self._before.items():
            # A process that is ending anyway, with the exit code that says why, is not to end otherwise in its last moment.
            signal.signal(number, handler if self.first is None else signal.SIG_IGN)
        os.close(self._write_end)  # the thread reads the end of the pipe, and ends

    def _came(self, number: int, _frame: FrameType | None) -> None:
        if self.first is None:
            self._first_at = time.monotonic()
            self.first = number
            if not self.held:
                raise Ending(number)
        elif time.monotonic() - self._first_at > _ONE_S:
            self.at_once(number)

    def _watch(self) -> None:
        # The bytes alone show that a signal came: this thread may be woken long after the handler ran for the same signal.
        heard_at, number, again, deadline = None, 0, False, None
        while True:
            wait: float | None = None if deadline is None else max(0.0, deadline - time.monotonic())
            if select.select([self._read_end], [], [], wait)[0]:
                data = os.read(self._read_end, 64)
                if not data:
                    break
                ours = [n for n in data if n in self._before]
                now = time.monotonic()
                if ours and heard_at is None:
                    heard_at, number, deadline = now, ours[0], now + GRACE_S
                elif ours and heard_at is not None and not again and now - heard_at > _ONE_S:
                    number, again, deadline = ours[-1], True, now + GRACE_S
            elif again or self.first is None:
                # The handler has not run. After a second signal it would not have come back.
                self.at_once(number)
            else:
                deadline = None
        os.close(self._read_end)

    def at_once(self, number: int) -> None:
        for act in reversed(self.acts):
            with contextlib.suppress(BaseException):
                act()
        os._exit(128 + number)


_current: _Signals | None = None


@contextlib.contextmanager
def by_signals() -> Iterator[None]:
    """A command runs inside. Signals are held until `listen`; elsewhere than in the main thread, nothing is changed."""
    global _current
    if _current is not None or threading.current_thread() is not threading.main_thread():
        yield
        return
    _current = _Signals()
    _current.install()
    try:
        yield
    finally:
        _current.restore()
        _current = None


def listen() -> None:
    """From here on signals raise `Ending`. Raises it when one has come before."""
    if _current is not None:
        _current.held = 0
        if _current.first is not None:
            raise Ending(_current.first)


@contextlib.contextmanager
def held() -> Iterator[None]:
    """A first signal inside is only noted, for `exit_code`: what is being said is said to its end. A second ends the process."""
    if _current is None:
        yield
        return
    _current.held += 1
    try:
        yield
    finally:
        _current.held -= 1


@contextlib.contextmanager
def last_act(act: Callable[[], None]) -> Iterator[None]:
    """If the process is ended at once inside, this is done first, in whichever thread; it must not wait for the main one."""
    if _current is None:
        yield
        return
    _current.acts.append(act)
    try:
        yield
    finally:
        _current.acts.remove(act)


def exit_code() -> int | None:
    """The exit code of the signal that has come; None if none has."""
    return None if _current is None or _current.first is None else 128 + _current.first


def leave(code: int) -> None:
    """Ends the process at once if a thread of psc is still at work: the interpreter must not be taken away from under it."""
    if any(thread.name.startswith("psc ") for thread in threading.enumerate()):
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
