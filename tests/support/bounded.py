"""A bound on the time of one random example, whatever grammar it draws.

A grammar that is ambiguous in many ways costs psc and, more, its oracles a steep power of the length of the text. An example that
has had its CPU time ends there: what it has checked by then was right, and the next example is drawn. So does one in which psc
names a limit. The clock is the process's own CPU time: other work on the machine does not end an example earlier.
"""

import functools
import os
import signal
import threading
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

import psc

# Few examples need more than a tenth of that; those that do are the ambiguous ones, which go on for ever.
SECONDS = 5.0 if os.environ.get("HYPOTHESIS_PROFILE") == "wide" or "PSC_SANITIZED" in os.environ else 1.0
AGAIN = 0.01  # where the clock has rung at a moment at which no exception can be raised


class OutOfTime(BaseException):
    """Not an Exception, so that nothing on its way takes it for a failure of its own."""


def bounded(test: Callable[..., None]) -> Callable[..., None]:
    """A test whose examples end after SECONDS of CPU time, and where psc names a limit. To stand below `@given`."""

    @functools.wraps(test)
    def example(*args: Any, **kwargs: Any) -> None:
        if threading.current_thread() is not threading.main_thread():  # signals are the main thread's
            test(*args, **kwargs)
            return
        before = signal.signal(signal.SIGPROF, _end)
        try:
            try:
                signal.setitimer(signal.ITIMER_PROF, SECONDS)
                test(*args, **kwargs)
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0.0)  # until here the clock may ring
        except (OutOfTime, psc.ResourceLimitError):
            pass
        finally:
            signal.signal(signal.SIGPROF, before)

    return example


def _end(signum: int, frame: FrameType | None) -> None:
    if _is_a_callback(frame):
        signal.setitimer(signal.ITIMER_PROF, AGAIN)
        return
    raise OutOfTime


def _is_a_callback(frame: FrameType | None) -> bool:
    """Whether the interpreter itself has called one of the functions on the stack: it ignores what such a function raises."""
    while frame is not None:
        code = frame.f_code
        if code.co_name in ("__del__", "gc_callback") or code.co_filename == weakref.__file__:
            return True
        frame = frame.f_back
    return False
