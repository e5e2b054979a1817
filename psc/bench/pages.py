"""The output of reports: files of one report, or the page, the pictures and the README's table of a clone.

The page is a function of the reports' tables, which are stored beside it (`benchmarks.json`), so that one benchmark can be measured
again and the others stay.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from psc.bench.measure import table
from psc.bench.reports import Report, read_reports, write_reports
from psc.errors import BenchError

ORDER = ("masks", "first-masks", "compile", "serve", "end-to-end", "maskbench")
_NO_PICTURES = "matplotlib is not installed, so there are no pictures: pip install matplotlib"
_BLOCK = re.compile(r"(<!-- made by psc bench all -->\n).*?(<!-- made until here -->)", re.S)
_IN_README = {"psc": "psc fill", "llguidance": "llguidance", "XGrammar": "xgrammar"}


def write_report(report: Report, folder: Path) -> list[str]:
    """`NAME.md`, `NAME.json` and `NAME.svg` of a report; what could not be made. Raises BenchError where they cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{report.name}.json").write_text(json.dumps(report.document(), indent=1) + "\n", encoding="utf-8")
        (folder / f"{report.name}.md").write_text(report.markdown(), encoding="utf-8")
        return _write_picture(report, folder / f"{report.name}.svg")
    except OSError as error:
        raise BenchError(f"{folder}: cannot be written: {error.strerror or error}") from error


def write_pages(fresh: Iterable[Report], docs: Path) -> list[str]:
    """The page of all benchmarks, the pictures of the fresh ones, and, in a clone, the README's table; what could not be made.

    Benchmarks that are not fresh are taken from what was written there before. Raises BenchError where that is damaged, or
    where nothing can be written.
    """
    try:
        stored = docs / "benchmarks.json"
        reports = {report.name: report for report in (read_reports(stored) if stored.exists() else [])}
        (docs / "pictures").mkdir(parents=True, exist_ok=True)
        missing = []
        for report in fresh:
            missing += _write_picture(report, _picture(docs, report.name))
            reports[report.name] = replace(report, results=None)
        listed = [reports[name] for name in ORDER if name in reports]
        write_reports(listed, stored)
        pictures = {report.name for report in listed if _picture(docs, report.name).exists()}
        (docs / "benchmarks.md").write_text(page(listed, pictures), encoding="utf-8")
        readme = docs.parent / "README.md"
        if readme.exists() and "masks" in reports:
            text = readme.read_text(encoding="utf-8")
            readme.write_text(with_table(text, reports["masks"]), encoding="utf-8")
    except OSError as error:
        raise BenchError(f"{docs}: cannot be written: {error.strerror or error}") from error
    return list(dict.fromkeys(missing))


def page(reports: Sequence[Report], pictures: Iterable[str]) -> str:
    """The page of all benchmarks."""
    shown = set(pictures)
    parts = [
        "# Benchmarks",
        "This page is made by `psc bench all --write docs`; its tables are in `benchmarks.json` beside it. Each part is one run, "
        "in which the engines took turns: compare figures of one part only. What an engine has no figures for is said below. "
        "`psc bench` measures the same on your machine, with your tokenizer (`--tokenizer`) and your texts (`--corpus java=src`).",
    ]
    for report in reports:
        head, _, rest = report.markdown(level=2).partition("\n\n")
        parts.append(head)
        if report.name in shown:
            parts.append(f"![{report.question}](pictures/bench-{report.name}.svg)")
        parts.append(rest.rstrip())
    return "\n\n".join(parts) + "\n"


def with_table(readme: str, masks: Report) -> str:
    """The README with its table of masks made anew; unchanged where it has no marks for one."""
    first, engines = masks.tables[0], _IN_README.values()
    at = {name: first.head.index(name) for name in ("grammar", "engine", "p50", "p99")}
    figures: dict[str, dict[str, str]] = {}
    for row in first.rows:
        figures.setdefault(row[at["grammar"]], {})[row[at["engine"]]] = f"{row[at['p50']]} / {row[at['p99']]}"
    rows = [[grammar, *(of.get(engine, "-") for engine in engines)] for grammar, of in figures.items()]
    made = f"{table(['µs a mask: p50 / p99', *_IN_README], rows)}\n\n{masks.conditions()}\n"
    return _BLOCK.sub(lambda match: match[1] + made + match[2], readme)


def _picture(docs: Path, name: str) -> Path:
    return docs / "pictures" / f"bench-{name}.svg"


def _write_picture(report: Report, path: Path) -> list[str]:
    from psc.bench.plots import picture

    try:
        drawn = picture(report)
    except ImportError:
        return [_NO_PICTURES]
    if drawn is not None:
        path.write_text(drawn, encoding="utf-8")
    return []
