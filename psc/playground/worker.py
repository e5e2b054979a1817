"""Looks in a process of their own, which has so much memory, and is ended when a look takes too long.

A grammar from anybody may cost more than anyone wants to wait for. Most of that ends with an error that names a limit; what does
not, ends with the process, and the next look begins another one.

Cost: the process takes 0.3 s to begin, and loads each request's grammar anew.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import resource
import signal
import threading
from multiprocessing.context import SpawnProcess
from typing import Any

from psc.errors import PscError
from psc.playground.looking import Choices, Looker
from psc.support.process_memory import process_status

Answer = dict[str, Any]
"""The answer; or an ``error``, an object with a ``kind`` and a ``message``."""


def error(kind: str, message: str) -> Answer:
    """An answer that says what went wrong."""
    return {"error": {"kind": kind, "message": message}}


class Worker:
    """One process that answers requests, one after the other. Begun when it is first needed.

    Args:
        choices: what can be chosen by name.
        time_limit_s: of a request.
        memory_limit_bytes: of the process, above what it begins with.
    """

    def __init__(self, choices: Choices, *, time_limit_s: float, memory_limit_bytes: int) -> None:
        self._choices = choices
        self._time_limit_s = time_limit_s
        self._memory_limit_bytes = memory_limit_bytes
        self._lock = threading.Lock()
        self._process: SpawnProcess | None = None
        self._pipe: multiprocessing.connection.Connection | None = None

    def ask(self, request: Answer) -> Answer:
        """The answer to a request of the page; see `Looker.look`. Never raises for what a request says."""
        with self._lock:
            try:
                pipe = self._begun()
                try:
                    pipe.send(request)
                except RecursionError:
                    return error("malformed request", "the request is nested too deeply")
                if pipe.poll(self._time_limit_s):
                    answer: Answer = pipe.recv()
                    return answer
                why = error(
                    "time limit",
                    f"this took longer than the {self._time_limit_s:g} s that a look may take; make the grammar or the text "
                    "smaller, or start the playground with a larger --time-limit",
                )
            except (EOFError, OSError):
                why = error(
                    "worker ended",
                    "the process that looks at grammars has ended, perhaps for lack of memory; make the grammar or the text "
                    "smaller, or start the playground with a larger --memory-limit",
                )
            self._end()
            return why

    def close(self) -> None:
        """Ends the process, also in the middle of a look."""
        if self._process is not None:
            self._process.kill()
        with self._lock:
            self._end()

    def _begun(self) -> multiprocessing.connection.Connection:
        if self._process is None or not self._process.is_alive() or self._pipe is None:
            self._end()
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            process = context.Process(
                target=_work, args=(theirs, self._choices, self._memory_limit_bytes), name="psc playground", daemon=True
            )
            with theirs:
                process.start()  # it may fail, where there are too many processes, and the next look tries again
            self._process = process
        return self._pipe

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process.close()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None


def _work(pipe: multiprocessing.connection.Connection, choices: Choices, memory_limit_bytes: int) -> None:
    """The process: answers until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started it ends it
    _limit_memory(memory_limit_bytes)
    looker = Looker(choices)
    with contextlib.suppress(EOFError, OSError):
        while True:
            pipe.send(_answer(looker, pipe.recv()))


def _answer(looker: Looker, request: Answer) -> Answer:
    try:
        return looker.look(request)
    except PscError as e:
        return error(type(e).__name__, str(e)[:4000])
    except MemoryError:
        return error("memory limit", "this needs more memory than a look may have; make the grammar or the text smaller")
    except RecursionError:
        return error("depth", "this is nested too deeply to be explained; make the grammar or the text smaller")
    except Exception as e:
        return error("error in psc", f"an error in psc, please report it: {type(e).__name__}: {str(e)[:500]}")


def _limit_memory(n_bytes: int) -> None:
    """By address space, where the kernel tells how much there is already."""
    space = process_status("VmSize")
    if space is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        wanted = space + n_bytes
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
