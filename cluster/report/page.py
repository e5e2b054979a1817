"""A batch run as one web page, to be sent or archived: it refers to nothing outside of itself, and needs no script to be read.

Names, warnings and errors come from the authors of the grammars. They are escaped, and a content security policy in the page lets
the browser run nothing but the page's own few lines (they sort the table) and load nothing at all.

Cost: some 200 bytes per task and stage; the page of a thousand jobs is a few megabytes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources

from psc.cluster.report.charts import escaped, gantt, legend, longest_first, memory_bars, stage_bars, stage_classes
from psc.cluster.report.matrix import matrix
from psc.cluster.report.summary import RunSummary, causes, stage_names, summarize, verdict, waits
from psc.cluster.run.outcomes import JobOutcome, RunReport
from psc.support.readable import NOTHING, count, duration, share, size


def html_page(report: RunReport) -> str:
    """The page of a run.

    Args:
        report: of the run.

    Returns:
        A whole HTML document, to be written as UTF-8.
    """
    summary = summarize(report)
    classes = stage_classes(stage_names([*(task.stages for task in report.tasks), *(job.stages for job in report.jobs)]))
    style, script = _packaged("page.css"), _packaged("page.js")
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{_digest(script)}'"
    sections = (
        _summary(report, summary),
        _causes(report),
        matrix(report),
        _timeline(report, classes),
        _table(report),
        _stages(report, classes),
        _memory(report),
        _warnings(report),
    )
    origin = f"psc {report.psc_version}, psc batch, {report.executor}, {report.started}"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(_title(summary))}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(section for section in sections if section)
        + f"\n</main>\n<footer>{escaped(origin)}</footer>\n"
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _title(summary: RunSummary) -> str:
    return f"psc batch: {summary.with_artifact} of {summary.jobs} jobs have their artifact"


def _summary(report: RunReport, summary: RunSummary) -> str:
    stopped = (
        '<p class="quiet">The run was interrupted. Run it again to continue where it stopped.</p>\n' if report.interrupted else ""
    )
    statuses = ", ".join(f"{n} {escaped(status)}" for status, n in sorted(summary.by_status.items())) or "no jobs"
    ratio = summary.wall_to_own
    setup = f"{duration(report.setup_seconds)} more to start" if report.setup_seconds >= 0.1 else ""
    lost = f"{duration(summary.lost_seconds)} in failed attempts" if summary.lost_seconds > 0 else ""
    tiles = (
        ("Jobs", str(summary.jobs), statuses),
        ("Failed", str(summary.by_status.get("failed", 0)), lost),
        ("Wall time", duration(report.wall_seconds), setup),
        ("Own times together", duration(summary.own_seconds), "as if on one worker"),
        ("Wall / own times", f"{ratio:.2f}" if ratio is not None else NOTHING, "less is better"),
        ("CPUs busy", share(summary.busy_share), f"of {report.cpus}"),
        ("Peak memory", size(summary.peak_job_bytes), f"of one job; all at once at most {size(summary.peak_together_bytes)}"),
        ("Artifacts", size(summary.artifact_bytes), f"memory for tasks {size(report.memory_bytes)}"),
    )
    listed = "".join(f'<div class="tile"><dt>{name}</dt><dd>{value}<small>{more}</small></dd></div>' for name, value, more in tiles)
    return (
        f"<h1>psc batch: {summary.jobs} jobs</h1>\n"
        f'<p><span class="verdict {"good" if report.ok else "bad"}">{"✓" if report.ok else "✗"} {verdict(summary)}</span>'
        f' <span class="quiet">· {escaped(report.started)} · {escaped(report.executor)}</span></p>\n'
        f'{stopped}<dl class="tiles">{listed}</dl>'
    )


def _causes(report: RunReport) -> str:
    parts = []
    for cause in causes(report):
        names = {job.name for job in cause.jobs}
        attempts = [
            f"<li>{escaped(task.job)}, attempt {task.attempt} at {escaped(task.what)}, on {escaped(task.worker)}, after "
            f"{duration(task.seconds)}: {escaped(task.error)}</li>"
            for task in report.tasks
            if task.job in names and task.error is not None and task.error != cause.error
        ]
        listed = f"<ul>{''.join(attempts)}</ul>" if attempts else ""
        jobs = f"{len(cause.jobs)} jobs {cause.status}" if len(cause.jobs) > 1 else cause.status
        parts.append(
            f'<div class="failure {escaped(cause.status.replace(" ", "-"))}"><h3>{escaped(cause.names(most=40))} '
            f'<span class="quiet">({escaped(jobs)})</span></h3><pre>{escaped(cause.error)}</pre>{listed}</div>'
        )
    return f"<h2>What went wrong, and why</h2>\n{''.join(parts)}" if parts else ""


def _timeline(report: RunReport, classes: dict[str, str]) -> str:
    if not report.tasks:
        return ""
    lost = any(task.error is not None for task in report.tasks)
    said = '<p class="quiet">Striped, with a red edge: an attempt that failed.</p>' if lost else ""
    chart = gantt(report.tasks, report.wall_seconds, classes)
    return f"<h2>Who did what when</h2>\n{legend(classes, rest='everything else')}{chart}{said}"


def _stages(report: RunReport, classes: dict[str, str]) -> str:
    jobs = longest_first(report.jobs)
    if not jobs:
        return ""
    return f"<h2>Time by stage</h2>\n{legend(classes, rest='everything else')}{stage_bars(jobs, classes)}"


def _memory(report: RunReport) -> str:
    jobs = sorted((job for job in report.jobs if job.peak_memory_bytes > 0), key=lambda job: (-job.peak_memory_bytes, job.name))
    if not jobs:
        return ""
    return (
        '<h2>Memory</h2>\n<p class="quiet">The bar is a job\'s peak, the box behind it what was reserved; '
        f"red and ▲ where the reservation was too small.</p>{memory_bars(jobs)}"
    )


def _warnings(report: RunReport) -> str:
    items = "".join(f"<li><b>{escaped(job.name)}</b>: {escaped(text)}</li>" for job in report.jobs for text in job.warnings)
    return f'<h2>Warnings</h2>\n<ul class="warnings">{items}</ul>' if items else ""


@dataclass(frozen=True)
class _Column:
    head: str
    value: Callable[[JobOutcome], float]
    """The key of sorting the column."""
    said: Callable[[float], str]


_WORST_FIRST = ("failed", "not published", "not run", "compiled", "present")


def _table(report: RunReport) -> str:
    if not report.jobs:
        return ""
    wait = waits(report)

    def counted(name: str) -> Callable[[JobOutcome], float]:
        return lambda job: job.counts.get(name, 0)

    def whole(value: float) -> str:
        return count(int(value))

    columns = (
        _Column("own time", lambda job: job.own_seconds, duration),
        _Column("wait", lambda job: wait.get(job.name, 0.0), duration),
        _Column("peak memory", lambda job: job.peak_memory_bytes, size),
        _Column("reserved", lambda job: job.memory_estimate_bytes, size),
        _Column("artifact", lambda job: job.size, size),
        _Column("states", counted("classifier_states"), whole),
        _Column("transitions", counted("classifier_transitions"), whole),
        _Column("classes", counted("token_classes"), whole),
        _Column("rows", counted("token_sets"), whole),
        _Column("tries", lambda job: job.attempts, whole),
    )
    published = sorted({address for job in report.jobs for address in job.published})
    heads = "".join(f'<th scope="col"><button type="button">{column.head}</button></th>' for column in columns)
    rows = []
    for job in sorted(report.jobs, key=lambda job: _WORST_FIRST.index(job.status)):
        figures = "".join(f'<td data-value="{column.value(job):g}">{column.said(column.value(job))}</td>' for column in columns)
        digest = f'<code title="sha256:{escaped(job.digest)}">{escaped(job.digest[:8])}</code>' if job.digest else NOTHING
        registries = f"<td>{_published(job)}</td>" if published else ""
        rows.append(
            f'<tr><th scope="row">{escaped(job.name)}</th>'
            f'<td class="left status {escaped(job.status.replace(" ", "-"))}">{escaped(job.status)}</td>{registries}{figures}'
            f'<td class="left">{digest}</td></tr>\n'
        )
    last = '<th scope="col">registries</th>' if published else ""
    registries = f'<p class="quiet">Registries: {escaped(", ".join(published))}.</p>' if published else ""
    return (
        '<h2>Jobs</h2>\n<div class="wide"><table>\n<thead><tr><th scope="col" class="left"><button type="button">job</button></th>'
        f'<th scope="col" class="left"><button type="button">status</button></th>{last}{heads}'
        '<th scope="col" class="left">sha256</th></tr></thead>\n'
        f"<tbody>\n{''.join(rows)}</tbody>\n</table></div>\n"
        '<p class="quiet">States and transitions belong to the stack classifier; rows are the distinct token sets of its masks, '
        f"and classes are tokens that nothing tells apart.</p>{registries}"
    )


def _published(job: JobOutcome) -> str:
    """To how many registries. Their addresses, which would be wider than the page, are named once, below the table."""
    tooltip = escaped("\n".join(job.published))
    return f'<span title="{tooltip}">{len(job.published)}</span>' if job.published else NOTHING


def _packaged(name: str) -> str:
    return resources.files("psc.cluster.report").joinpath(name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
