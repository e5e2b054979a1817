"""Finding and ending all processes that descend from one, wherever they hang now: by a variable in the environment that they
inherit.

Ray starts some ten processes, which start others; when one of them is killed, its children hang from another parent, so neither the
tree of processes nor a process group leads to them. Their environment does.

Where there is no ``/proc``, no process is listed: then only the process group can be ended.

Cost: reading a small file for each process of the machine, a few ms.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

VARIABLE = "PSC_RAY_HOST"
"""Its value distinguishes the processes of one host from those of another."""
_PROC = Path("/proc")


def tagged(tag: str) -> list[int]:
    """The processes with this tag that are alive, but for this one."""
    wanted = f"{VARIABLE}={tag}".encode()
    processes = []
    for folder in _PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or is another user's
            if wanted in (folder / "environ").read_bytes().split(b"\0") and int(folder.name) != os.getpid():
                processes.append(int(folder.name))
    return processes


def servers(processes: list[int], *names: str) -> list[int]:
    """Of some processes the oldest of each name: a child has its parent's until it has become another program, and its end would be
    taken for the parent's."""
    oldest: dict[str, tuple[int, int]] = {}
    for process in processes:
        with contextlib.suppress(OSError):
            name = (_PROC / str(process) / "comm").read_text().strip()
            if name in names:
                began = (int(_stat(process)[19]), process)
                oldest[name] = min(oldest.get(name, began), began)
    return [oldest[name][1] for name in names if name in oldest]


def alive(process: int) -> bool:
    """Whether a process is there and alive; a zombie, dead but not yet reaped by its parent, is not."""
    try:
        return _stat(process)[0] not in "ZX"
    except OSError:
        return False


def kill_tagged(tag: str, *, for_s: float = 10.0) -> bool:
    """Kills all processes with this tag, and those that they start meanwhile. Returns whether none is left."""
    deadline = time.monotonic() + for_s
    while processes := tagged(tag):
        for process in processes:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _stat(process: int) -> list[str]:
    """The fields of proc(5)'s ``stat`` from the process's state on."""
    return (_PROC / str(process) / "stat").read_text().rpartition(")")[2].split()
