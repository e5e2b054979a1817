"""The charts of a batch report's page: SVG that needs no script, scales with the page and takes its colours from the style sheet.

Positions are in per cent of the drawing's width and heights in pixels, so a wide page shows more and text keeps its size. A task is
a nested drawing, which clips its label.

Cost: a few elements per task and stage.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence

from psc.cluster.run.outcomes import JobOutcome, TaskRun
from psc.support.readable import duration, printable, size

N_COLOURS = 8
"""Stages that have a colour of their own; further ones share that of the rest."""

_LANE, _LANE_LABEL, _BAR, _STRIP = 48, 16, 26, 8
_AXIS = 22
_NARROWEST_PERCENT = 0.12
_LABELLED_PERCENT = 4.0
_MEASURABLE_S = 1e-6
_ROUND = (5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0)


def escaped(text: str) -> str:
    """Text from anywhere, as HTML and XML text or attribute value."""
    return html.escape(printable(text))


def stage_classes(names: Sequence[str]) -> dict[str, str]:
    """The style class of each stage's colour."""
    return {name: f"stage-{i}" if i < N_COLOURS else "stage-rest" for i, name in enumerate(names)}


def legend(classes: Mapping[str, str], *, rest: str) -> str:
    """The meaning of the colours."""
    named = [(name, style) for name, style in classes.items() if style != "stage-rest"]
    items = "".join(
        f'<li><svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" rx="2" class="{style}"/></svg> '
        f"{escaped(name)}</li>"
        for name, style in [*named, (rest, "stage-rest")]
    )
    return f'<ul class="legend">{items}</ul>'


def gantt(tasks: Sequence[TaskRun], wall_seconds: float, classes: Mapping[str, str]) -> str:
    """When each worker was at work on what: a lane per worker, a bar per task with its stages in colour.

    Args:
        tasks: attempts, failed ones included.
        wall_seconds: the length of the axis, unless a task ended later.
        classes: of each stage.
    """
    workers = list(dict.fromkeys(task.worker for task in sorted(tasks, key=lambda t: (t.begin, t.worker))))
    whole = max([wall_seconds, _MEASURABLE_S, *(task.end for task in tasks)])
    height = _LANE * len(workers) + _AXIS
    parts = [
        f'<svg class="gantt" width="100%" height="{height}" role="img" aria-label="Tasks per worker over time">',
        '<defs><pattern id="lost" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<rect width="3" height="7" class="lost-stripe"/></pattern></defs>',
    ]
    for at in ticks(whole):
        x = f"{100 * at / whole:.3f}%"
        anchor = "start" if at == 0 else "middle" if at < 0.94 * whole else "end"
        parts.append(f'<line x1="{x}" x2="{x}" y1="0" y2="{height - _AXIS}" class="grid"/>')
        parts.append(f'<text x="{x}" y="{height - 6}" text-anchor="{anchor}" class="tick">{tick_label(at, whole)}</text>')
    for lane, worker in enumerate(workers):
        top = lane * _LANE
        parts.append(f'<text x="0" y="{top + 12}" class="worker">{escaped(worker)}</text>')
        for task in tasks:
            if task.worker == worker:
                parts.append(_task(task, top + _LANE_LABEL, whole, classes))
    return "".join([*parts, "</svg>"])


def _task(task: TaskRun, top: int, whole: float, classes: Mapping[str, str]) -> str:
    begin = min(max(task.begin, 0.0), whole)
    width = max(100 * (min(task.end, whole) - begin) / whole, _NARROWEST_PERCENT)
    label = task.job if task.what == "compile" else f"{task.job}: {task.what}"
    tooltip = [f"{label}, {duration(task.seconds)} on {task.worker}"]
    tooltip += [f"attempt {task.attempt}"] if task.attempt > 1 else []
    tooltip += [f"failed: {task.error}"] if task.error is not None else []
    tooltip += [f"peak memory {size(task.peak_memory_bytes)}"] if task.peak_memory_bytes else []
    tooltip += [f"{name} {duration(seconds)}" for name, seconds in task.stages.items()]
    strip = stacked(task.stages, task.seconds, classes, top=_BAR - _STRIP, height=_STRIP)
    failed = task.error is not None
    style = "task lost" if failed else "task"
    mark = f'<rect width="100%" height="{_BAR}" fill="url(#lost)"/>' if failed else ""
    # A bar that is too narrow for some letters has no label, and the others theirs as far as it reaches: the title has all of it.
    written = (
        f'<text x="4" y="13" class="task-label">{"✗ " if failed else ""}{escaped(label)}</text>'
        if width >= _LABELLED_PERCENT
        else ""
    )
    return (
        f'<svg x="{100 * begin / whole:.3f}%" y="{top}" width="{width:.3f}%" height="{_BAR}" class="{style}" overflow="hidden">'
        f"<title>{escaped(chr(10).join(tooltip))}</title>"
        f'<rect width="100%" height="{_BAR}" class="task-body"/>{mark}{strip}'
        f'{written}<rect width="100%" height="{_BAR}" class="task-edge"/></svg>'
    )


def stacked(stages: Mapping[str, float], seconds: float, classes: Mapping[str, str], *, top: int, height: int) -> str:
    """Rectangles beside each other, as wide as each stage's part of the time; what no stage accounts for is the rest."""
    # Stages are measured in the worker and the whole on the driver: the sum may be a little over.
    whole = max(seconds, sum(stages.values()), _MEASURABLE_S)
    parts, at = [], 0.0
    for name, part in [*stages.items(), ("", whole - sum(stages.values()))]:
        if part > 0:
            parts.append(
                f'<rect x="{100 * at / whole:.3f}%" y="{top}" width="{100 * part / whole:.3f}%" height="{height}"'
                f' class="{classes.get(name, "stage-rest")}"/>'
            )
            at += part
    return "".join(parts)


def stage_bars(jobs: Sequence[JobOutcome], classes: Mapping[str, str]) -> str:
    """Per job its own time, by stage; all on one scale."""
    longest = max((job.own_seconds for job in jobs), default=0.0) or _MEASURABLE_S
    rows = []
    for job in jobs:
        tooltip = "\n".join(f"{name} {duration(seconds)}" for name, seconds in job.stages.items())
        bar = (
            f'<svg width="{100 * job.own_seconds / longest:.3f}%" height="16" class="task"><title>{escaped(tooltip)}</title>'
            f"{stacked(job.stages, job.own_seconds, classes, top=0, height=16)}</svg>"
        )
        rows.append(
            _row(job, f'<svg width="100%" height="16" role="img" aria-label="time by stage">{bar}</svg>', duration(job.own_seconds))
        )
    return f'<div class="bars">{"".join(rows)}</div>'


def memory_bars(jobs: Sequence[JobOutcome]) -> str:
    """Per job its peak against its reservation; all on one scale."""
    peak = max((max(job.peak_memory_bytes, job.memory_estimate_bytes) for job in jobs), default=0) or 1
    rows = []
    for job in jobs:
        over = 0 < job.memory_estimate_bytes < job.peak_memory_bytes
        tooltip = f"peak {size(job.peak_memory_bytes)}, reserved {size(job.memory_estimate_bytes)}"
        chart = (
            f'<svg width="100%" height="16" role="img" aria-label="{tooltip}"><title>{tooltip}</title>'
            f'<rect y="1" width="{100 * job.memory_estimate_bytes / peak:.3f}%" height="14" class="reserved"/>'
            f'<rect y="4" width="{100 * job.peak_memory_bytes / peak:.3f}%" height="8" class="{"over" if over else "peak"}"/></svg>'
        )
        said = f"{size(job.peak_memory_bytes)} of {size(job.memory_estimate_bytes)}"
        rows.append(_row(job, chart, said + (" ▲" if over else "")))
    return f'<div class="bars">{"".join(rows)}</div>'


def ticks(whole: float, *, most: int = 8) -> list[float]:
    """Round positions from 0 to ``whole`` at which an axis is labelled; at most ``most`` and the origin."""
    rough = whole / most
    small = 10.0 ** math.floor(math.log10(rough))
    candidates = (small, 2 * small, 5 * small, 10 * small) if rough < 5 else (*_ROUND, *(_ROUND[-1] * 2**i for i in range(1, 30)))
    step = next(s for s in candidates if s >= rough * (1 - 1e-9))
    return [i * step for i in range(int(whole / step * (1 + 1e-9)) + 1)]


def tick_label(at: float, whole: float) -> str:
    """A position on an axis of that length."""
    for unit, seconds in (("h", 3600), ("min", 60)):
        if whole >= 2 * seconds:
            return f"{at / seconds:g} {unit}" if at else "0"
    return f"{at:g} s" if at else "0"


def _row(job: JobOutcome, chart: str, said: str) -> str:
    name = escaped(job.name)
    return f'<span class="bar-name" title="{name}">{name}</span>{chart}<span class="bar-value">{said}</span>'


def longest_first(jobs: Iterable[JobOutcome]) -> list[JobOutcome]:
    """The jobs that took time, in the order of how much."""
    return sorted((job for job in jobs if job.own_seconds > 0), key=lambda job: (-job.own_seconds, job.name))
