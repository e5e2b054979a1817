"""Clocks, percentiles and tables that the benchmarks share.

The idea: a call of a fraction of a microsecond cannot be timed by itself without timing the clock as well. So a call is
timed in two ways. `Summary` is of single calls between two readings of `perf_counter_ns`, less what two readings with
nothing between them cost in the same run (`timer_overhead`); it knows the distribution. `Clocks` is of whole loops, and
knows the mean without the clock. Where both exist, both are printed. `Clocks` also reads the thread's CPU time: on a
machine that other work shares, wall time that is much longer than CPU time says that the figure is too high.
`preemptions` shows which readings to drop: a time slice of other work is ten thousand times as long as a call.

The cost: two clock readings a call, some 40 ns each, for what is timed call by call.
"""

import json
import os
import platform
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

CPU_TOLERANCE = 1.2


def timer_overhead() -> float:
    """Nanoseconds between two readings of the clock with nothing between them (the median of many)."""
    now = time.perf_counter_ns
    samples: list[int] = []
    for _ in range(20_000):
        t0 = now()
        t1 = now()
        samples.append(t1 - t0)
    return float(np.median(np.array(samples[1000:])))


@dataclass(frozen=True)
class Summary:
    """The distribution of single calls, in microseconds."""

    calls: int
    mean: float
    p50: float
    p99: float
    max: float

    @classmethod
    def of(cls, nanoseconds: Sequence[int] | NDArray[np.int64], overhead: float) -> "Summary":
        """Summarize raw readings, `overhead` of each being the timer's own."""
        if len(nanoseconds) == 0:
            return cls(0, float("nan"), float("nan"), float("nan"), float("nan"))
        us = np.maximum(np.asarray(nanoseconds, np.float64) - overhead, 0.0) / 1000
        return cls(len(us), float(us.mean()), *(float(x) for x in np.percentile(us, (50, 99, 100))))


@dataclass(frozen=True)
class Clocks:
    """How long a loop took, by the clock on the wall and by the thread's CPU time, in microseconds a turn."""

    turns: int
    wall: float
    cpu: float

    @classmethod
    def over(cls, loop: Callable[[], int]) -> "Clocks":
        """Run `loop`, which returns its number of turns."""
        cpu, wall = time.thread_time_ns(), time.perf_counter_ns()
        turns = loop()
        wall, cpu = time.perf_counter_ns() - wall, time.thread_time_ns() - cpu
        return cls(turns, wall / 1000 / max(turns, 1), cpu / 1000 / max(turns, 1))

    @classmethod
    def total(cls, parts: Sequence["Clocks"]) -> "Clocks":
        """Several loops as one."""
        turns = max(sum(p.turns for p in parts), 1)
        return cls(turns, sum(p.wall * p.turns for p in parts) / turns, sum(p.cpu * p.turns for p in parts) / turns)

    @property
    def disturbed(self) -> bool:
        """Whether the wall clock ran more than 20 % longer than the CPU's."""
        return self.wall > CPU_TOLERANCE * self.cpu


def preemptions() -> int:
    """How often the kernel has taken the CPU away from this thread."""
    return resource.getrusage(getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)).ru_nivcsw


def median_clocks(rounds: Sequence[Clocks]) -> Clocks:
    """The round with the median wall time (the lower of the middle two)."""
    return sorted(rounds, key=lambda c: c.wall)[(len(rounds) - 1) // 2]


def number(value: float | None, digits: int = 3) -> str:
    """A figure with `digits` significant digits, no exponent, and no more decimals than digits; `-` for none."""
    if value is None or value != value:
        return "-"
    if value == 0:
        return "0"
    decimals = min(digits, max(0, digits - 1 - int(np.floor(np.log10(abs(value))))))
    return f"{value:,.{decimals}f}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, aligned to be read as it is; columns of figures are set right."""
    widths = [max(len(str(row[i])) for row in (head, *rows)) for i in range(len(head))]
    columns = [[row[i] for row in rows] for i in range(len(head))]
    right = [any(column) and all(map(_is_figure, column)) for column in columns]

    def line(row: Sequence[str]) -> str:
        cells = (str(c).rjust(w) if r else str(c).ljust(w) for c, w, r in zip(row, widths, right, strict=True))
        return "| " + " | ".join(cells) + " |"

    rule = "|" + "|".join("-" * (w + 1) + (":" if r else "-") for w, r in zip(widths, right, strict=True)) + "|"
    return "\n".join([line(head), rule, *map(line, rows)])


def _is_figure(cell: str) -> bool:
    return not cell.strip("0123456789.,-+%/ ")


def machine() -> dict[str, Any]:
    """The conditions of the figures, without anything that names the machine."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "cpu": _cpu_model(),
        "python": platform.python_version(),
        "load_average": round(os.getloadavg()[0], 2),
    }


def in_words(about: dict[str, Any]) -> str:
    """The facts from `machine`, in a line."""
    kind = f"{about['cores']}-core {about['machine']} ({about['cpu']})"
    return f"{kind}, Python {about['python']}, {about['date']}, load {about['load_average']}"


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def report(document: dict[str, Any], destination: str | None) -> None:
    """Write the machine-readable form: to the file named, or to standard output for `-`."""
    if destination is None:
        return
    text = json.dumps(document, indent=1, default=asdict) + "\n"
    if destination == "-":
        sys.stdout.write(text)
    else:
        Path(destination).write_text(text, encoding="utf-8")
