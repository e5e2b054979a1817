"""A task's memory: the memory of the machine, the peak of a task, and a limit that it cannot exceed.

A worker runs many tasks, so the peak of the process says nothing of the last one. Linux can reset its counter
(``/proc/self/clear_refs``), and the allocator can return the memory that earlier tasks left (``malloc_trim``); the difference
between the two readings is then the task's own. Other systems report only the peak of the process, and enforce no limit.

The limit is one on address space (``RLIMIT_AS``, the soft one, restored afterwards): an allocation that would exceed it fails at
once, as ``MemoryError``, before the machine swaps or the kernel kills a process. Address space is not memory: an allocator reserves
more than it uses, and can use again what an earlier task left without reserving more. So the limit on it is generous. A thread
reads the memory in use twenty times a second, and closes the address space when that exceeds the limit.

Cost: two small files read and a heap trimmed per task, under 1 ms; with a limit, a thread that sleeps.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from psc.support.process_memory import peak_memory, process_status

_SLACK_BYTES = 160 << 20
"""Address space that a task may have beyond its limit: thread stacks, and the arenas (64 MiB each) that the allocator reserves."""
_CLOSED_BYTES = 4 << 20
"""The part of it left once the limit is exceeded, for threads that are not the task's."""
_LOOK_EVERY_S = 0.05


@dataclass
class Measured:
    """The memory of a task."""

    before: int
    """Bytes that the process had before it."""
    limit: int | None
    peak_bytes: int = 0
    """The task's peak; set when it has ended."""

    def check(self) -> None:
        """Raises MemoryError if the limit was passed, in memory that the allocator had already."""
        if self.limit is not None and peak_memory() - self.before > self.limit:
            raise MemoryError


@contextlib.contextmanager
def measured(limit_bytes: int | None) -> Iterator[Measured]:
    """Measures the memory of the code inside, and limits its allocations.

    Args:
        limit_bytes: above what the process has now; None for none.

    Raises:
        MemoryError: from inside, where the limit would be passed.
    """
    _trim()
    result = Measured(_reset_peak(), limit_bytes)
    with _limited(result.before, limit_bytes):
        try:
            yield result
        finally:
            result.peak_bytes = max(0, peak_memory() - result.before)


class _AddressSpace:
    """The process's limit on address space. The original limit is restored when the last task with a limit ends.

    Two such tasks may overlap: a task that was abandoned may still be running when the next one begins.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_limited = 0
        self._original = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)

    def limit(self, n_bytes: int) -> bool:
        """Whether it could be limited; then `release` is called later."""
        with self._lock:
            if self._n_limited == 0:
                self._original = resource.getrlimit(resource.RLIMIT_AS)
            if not _limit_space(n_bytes):
                return False  # a sandbox may forbid it
            self._n_limited += 1
            return True

    def release(self) -> None:
        with self._lock:
            self._n_limited -= 1
            if self._n_limited == 0:
                resource.setrlimit(resource.RLIMIT_AS, self._original)


_SPACE = _AddressSpace()


@contextlib.contextmanager
def _limited(before: int, limit_bytes: int | None) -> Iterator[None]:
    space = process_status("VmSize")
    if limit_bytes is None or space is None or not _SPACE.limit(space + limit_bytes + _SLACK_BYTES):
        yield
        return
    done = threading.Event()
    watch = threading.Thread(target=_watch, args=(before + limit_bytes, done), name="psc memory", daemon=True)
    watch.start()
    try:
        yield
    finally:
        done.set()
        watch.join()
        _SPACE.release()


def _watch(limit_bytes: int, done: threading.Event) -> None:
    """Closes the address space once there is more memory than the limit."""
    while not done.wait(_LOOK_EVERY_S):
        memory, space = process_status("VmRSS"), process_status("VmSize")
        if memory is not None and space is not None and memory > limit_bytes:
            _limit_space(space + _CLOSED_BYTES)
            return


def _limit_space(wanted: int) -> bool:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    bounds = [b for b in (soft, hard) if b != resource.RLIM_INFINITY]
    try:
        resource.setrlimit(resource.RLIMIT_AS, (min([wanted, *bounds]), hard))
    except (OSError, ValueError):
        return False
    return True


def machine_memory() -> int:
    """Bytes of memory that this process may use: the machine's, or its container's, whichever is less."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for origin in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):
            total = min(total, int(Path(origin).read_text()))
    return total


def usable_cpus() -> int:
    """CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _reset_peak() -> int:
    """Resets the peak of resident memory. Returns the memory now, or the peak so far where it cannot be reset."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return peak_memory()
    return process_status("VmRSS") or peak_memory()


def _trim() -> None:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
