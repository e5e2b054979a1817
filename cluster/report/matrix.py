"""The matrix of a batch report's page, which is what a batch is: a row for each grammar, a column for each tokenizer, and in each
cell how that job ended.

Cost: a cell for each pair of a grammar and a tokenizer.
"""

from __future__ import annotations

from psc.cluster.report.charts import escaped
from psc.cluster.run.outcomes import JobOutcome, RunReport
from psc.support.readable import duration, size

_SIGNS = {"compiled": "✓", "present": "=", "not published": "↑", "failed": "✗", "not run": "·"}
_LEGEND = {
    "compiled": "compiled, in so much time",
    "present": "was there",
    "not published": "in the store, but not published",
    "failed": "failed",
    "not run": "not run",
}


def matrix(report: RunReport) -> str:
    """The matrix, with what its signs mean; nothing for a run of one grammar or one tokenizer, which its table shows as well."""
    grammars = list(dict.fromkeys(job.grammar for job in report.jobs))
    tokenizers = list(dict.fromkeys(job.tokenizer for job in report.jobs))
    if len(grammars) < 2 or len(tokenizers) < 2:
        return ""
    jobs = {(job.grammar, job.tokenizer): job for job in report.jobs}
    heads = "".join(f'<th scope="col">{escaped(tokenizer)}</th>' for tokenizer in tokenizers)
    rows = "".join(
        f'<tr><th scope="row">{escaped(grammar)}</th>{"".join(_cell(jobs.get((grammar, t))) for t in tokenizers)}</tr>\n'
        for grammar in grammars
    )
    statuses = {job.status for job in report.jobs}
    signs = "".join(
        f'<li><b class="{_style(status)}">{sign}</b> {_LEGEND[status]}</li>'
        for status, sign in _SIGNS.items()
        if status in statuses
    )
    return (
        '<h2>Grammars and tokenizers</h2>\n<div class="wide"><table class="matrix">\n'
        f'<thead><tr><th scope="col" class="left">grammar</th>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n'
        f'<ul class="legend">{signs}</ul>'
    )


def _cell(job: JobOutcome | None) -> str:
    if job is None:
        return "<td></td>"
    tooltip = f"{job.name}: {job.status}" + (f", {size(job.size)}" if job.size else "")
    time = f" {duration(job.own_seconds)}" if job.status == "compiled" else ""
    return f'<td class="{_style(job.status)}" title="{escaped(tooltip)}">{_SIGNS[job.status]}{time}</td>'


def _style(status: str) -> str:
    return escaped(status.replace(" ", "-"))
