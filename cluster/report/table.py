"""A batch run on the terminal: one table with a line per job, then what went wrong, each cause once.

`psc.cluster.report.page` has the same as a web page, and `RunReport.to_json` as data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from psc.cluster.report.summary import Cause, RunSummary, causes, summarize, verdict, waits
from psc.cluster.run.outcomes import JobOutcome, RunReport, TaskRun
from psc.support.readable import NOTHING, count, duration, printable, share, size

_STYLES = {"compiled": "green", "present": "cyan", "not published": "yellow", "failed": "bold red", "not run": "yellow"}
_WIDTHS = (0, 96, 118)
"""From which widths of the console more columns are shown."""


@dataclass(frozen=True)
class _Column:
    head: str
    cell: Callable[[JobOutcome], str]
    breadth: int = 0
    """Which of `_WIDTHS` it needs."""


def terminal_table(report: RunReport, console: Console) -> None:
    """Prints a run: a table of the jobs, totals, warnings, and the cause of each failure.

    Args:
        report: of the run.
        console: where to; a table narrower than 118 characters has fewer columns, so give a console that is no terminal a width.
    """
    summary = summarize(report)
    if report.jobs:
        console.print(_table(report, console.width))
    console.print(Text(_totals(report, summary)))
    for job in report.jobs:
        for warning in job.warnings:
            console.print(Text.assemble(("warning: ", "yellow"), printable(f"{job.name}: {warning}")))
    failures = causes(report)
    if failures:
        console.print()
        console.print(Text(verdict(summary), style="bold red"))
    for cause in failures:
        _print_cause(console, cause, [t for t in report.tasks if t.error not in (None, cause.error)])


def _table(report: RunReport, width: int) -> Table:
    wait = waits(report)
    columns = (
        _Column("own time", lambda job: duration(job.own_seconds)),
        _Column("wait", lambda job: duration(wait[job.name]) if job.name in wait else NOTHING, 2),
        _Column("peak memory", lambda job: size(job.peak_memory_bytes)),
        _Column("reserved", lambda job: size(job.memory_estimate_bytes), 1),
        _Column("artifact", lambda job: size(job.size)),
        _Column("states", lambda job: count(job.counts.get("classifier_states", 0)), 1),
        _Column("classes", lambda job: count(job.counts.get("token_classes", 0)), 2),
        _Column("rows", lambda job: count(job.counts.get("token_sets", 0)), 1),
        _Column("tries", lambda job: count(job.attempts), 2),
    )
    shown = [column for column in columns if width >= _WIDTHS[column.breadth]]
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("job", overflow="fold")
    table.add_column("status", no_wrap=True)
    for column in shown:
        table.add_column(column.head, justify="right", no_wrap=True)
    for job in report.jobs:
        status = Text(job.status, style=_STYLES.get(job.status, ""))
        table.add_row(Text(printable(job.name)), status, *(Text(column.cell(job)) for column in shown))
    return table


def _totals(report: RunReport, summary: RunSummary) -> str:
    said = ", ".join(f"{n} {status}" for status, n in sorted(summary.by_status.items())) or "no jobs"
    lines = [f"{said}; wall {duration(report.wall_seconds)}, CPUs: {report.cpus} ({printable(report.executor)})"]
    if report.interrupted:
        lines.append("the run was interrupted; run it again to continue where it stopped")
    if summary.wall_to_own is not None:
        lines.append(
            f"own times together {duration(summary.own_seconds)}: the wall time is {summary.wall_to_own:.2f} of that;"
            f" the CPUs were busy for {share(summary.busy_share)} of it"
        )
    if report.setup_seconds >= 0.1:
        lines.append(f"before that, {duration(report.setup_seconds)} until the workers could be used")
    if summary.lost_seconds > 0:
        lines.append(f"{duration(summary.lost_seconds)} went into attempts that failed")
    return "\n".join(lines)


def _print_cause(console: Console, cause: Cause, attempts: list[TaskRun]) -> None:
    console.print()
    console.print(Text.assemble((printable(cause.names()), "bold"), f" ({cause.status})"))
    console.print(Padding(Text(printable(cause.error)), (0, 0, 0, 2)))
    names = {job.name for job in cause.jobs}
    for task in attempts:
        if task.job in names:
            text = f"attempt {task.attempt} at {task.what}, on {task.worker}, after {duration(task.seconds)}: {task.error}"
            console.print(Padding(Text(printable(text), style="dim"), (0, 0, 0, 2)))
