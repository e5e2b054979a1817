"""A bound on the time of one random example, whatever grammar it draws.

A grammar that is ambiguous in many ways costs psc and, more, its oracles a steep power of the length of the text. An example that
has had its CPU time ends there: what it has checked by then was right, and the next example is drawn. So does one in which psc
names a limit. The clock is the process's own CPU time: other work on the machine does not end an example earlier.
"""

import _weakrefset
import functools
import os
import signal
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import jsonschema
import lark

import psc

# Few examples need more than a tenth of that; those that do are the ambiguous ones, which go on for ever.
SECONDS = 5.0 if os.environ.get("HYPOTHESIS_PROFILE") == "wide" or "PSC_SANITIZED" in os.environ else 1.0
# The clock rings again where no exception can be raised yet, and where the kernel has given the signal to a thread of a library:
# Python does not notice that while its main thread computes.
AGAIN = 0.01


class OutOfTime(BaseException):
    """Not an Exception, so that nothing on its way takes it for a failure of its own."""


def bounded(test: Callable[..., None]) -> Callable[..., None]:
    """A test whose examples end after SECONDS of CPU time, and where psc names a limit. To stand below `@given`."""

    @functools.wraps(test)
    def example(*args: Any, **kwargs: Any) -> None:
        if threading.current_thread() is not threading.main_thread():  # signals are the main thread's
            test(*args, **kwargs)
            return
        with suppress(OutOfTime, psc.ResourceLimitError), at_most(SECONDS):
            test(*args, **kwargs)

    return example


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raises OutOfTime in the main thread when the block has taken so much CPU time."""
    signal.signal(signal.SIGPROF, _end)  # for good: a ring may come late, after the clock was stopped
    try:
        _clock.runs = True
        signal.setitimer(signal.ITIMER_PROF, seconds, AGAIN)
        yield
    finally:
        _clock.runs = False  # until here it may ring, and once
        signal.setitimer(signal.ITIMER_PROF, 0.0)


class _Clock:
    runs = False


_clock = _Clock()


def _end(signum: int, frame: FrameType | None) -> None:
    if _clock.runs and _may_end_in(frame):
        _clock.runs = False
        raise OutOfTime


# Where examples spend their time. Other code may hide an exception that it does not expect (NumPy's C functions, the interpreter
# around callbacks of weak references), or be left half done by it (Hypothesis, imports, locks).
_ENDING_FOLDERS = tuple(
    f"{folder}{os.sep}" for folder in (Path(__file__).parents[1], *(Path(str(m.__file__)).parent for m in (psc, lark, jsonschema)))
)


def _may_end_in(frame: FrameType | None) -> bool:
    """Whether an exception that is raised in this frame reaches the example.

    It does where code of psc, of the tests or of an oracle runs in the frame, unless the interpreter itself has called one of the
    functions on the stack: it ignores what such a function raises.
    """
    if frame is None or not frame.f_code.co_filename.startswith(_ENDING_FOLDERS):
        return False
    above: FrameType | None = frame
    while above is not None:
        code = above.f_code
        if code.co_name in ("__del__", "gc_callback") or code.co_filename in (weakref.__file__, _weakrefset.__file__):
            return False
        above = above.f_back
    return True
