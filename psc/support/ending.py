"""What psc writes once the program ends: nothing.

CPython ends daemon threads wherever they are. One that is in a write to stderr, or to a file, keeps the lock of its buffer; CPython
3.11 waits for the lock a second when it flushes the buffer, and aborts ("could not acquire lock for <_io.BufferedWriter
name='<stderr>'> at interpreter shutdown"). psc calls compilations off at the end, so threads that compile would write just then:
records of the log, warnings, and the tracebacks of threads that nothing catches an error of.

Example: a program ends while `GrammarService` warms up. The thread of the warm-up is called off, and would log that as an error.

What a thread has begun to log before the end is waited for by `logging.shutdown`, which runs later.
"""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Callable
from types import TracebackType

_SILENT = logging.CRITICAL + 1
_has_begun = False


def has_begun() -> bool:
    """Whether the program ends."""
    return _has_begun


def at_end(call: Callable[[], object]) -> None:
    """Has a function called when the program ends, once psc writes nothing more."""

    def end() -> None:
        begin()
        call()

    atexit.register(end)


def begin() -> None:
    """The program ends: from here on psc logs nothing, and has no traceback printed of a daemon thread that called it."""
    global _has_begun
    if _has_begun:
        return
    _has_begun = True
    logging.getLogger("psc").setLevel(_SILENT)
    before = threading.excepthook

    def hook(args: threading.ExceptHookArgs) -> None:
        if args.thread is None or not args.thread.daemon or not _passed_psc(args.exc_traceback):
            before(args)

    threading.excepthook = hook


def _passed_psc(trace: TracebackType | None) -> bool:
    while trace is not None:
        if str(trace.tb_frame.f_globals.get("__name__")).partition(".")[0] == "psc":
            return True
        trace = trace.tb_next
    return False
