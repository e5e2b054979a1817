"""Compiling ahead of time: time, memory, the artifact's size and how long it takes to load, each in a fresh process.

A compilation is what one job of a batch does, so each runs in a process of its own and its peak memory is that process's,
interpreter and tokenizer included. The clock starts with the grammar's name and the loaded tokenizer, after the imports, and stops
when the artifact's bytes are on disk. Loading is measured in another fresh process: the first load there, then the best and the
median of the rest.

Cost: one compilation for each grammar and repetition (the fastest is shown), and a second for the loads.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from psc.bench.isolated import Failed, result
from psc.bench.measure import CPU_TOLERANCE, number
from psc.bench.reports import Report, Settings, Table, about
from psc.compiler.grammars import bundled_names
from psc.grammars.compile_file import compile_to_artifact
from psc.grammars.loading import load
from psc.support.process_memory import peak_memory
from psc.vocabulary import load_tokenizer

_PATIENCE = 900.0
_LOADS = 20


def run(settings: Settings, grammars: Sequence[str] = ()) -> Report:
    """Every grammar; by default all that are bundled."""
    conditions = about(settings, load_tokenizer(settings.tokenizer).name)
    results: dict[str, Any] = {}
    notes: list[str] = []
    with TemporaryDirectory(prefix="psc-") as folder:
        for grammar in grammars or bundled_names():
            settings.announce(grammar)
            artifact = str(Path(folder) / f"{Path(grammar).stem}.psc")
            try:
                runs = [
                    result(_compiled, grammar, settings.tokenizer, artifact, timeout=_PATIENCE)
                    for _ in range(1 if settings.quick else 3)
                ]
                seconds = result(_loads, artifact, timeout=_PATIENCE)
            except Failed as error:
                notes.append(f"{grammar}: {error}.")
                continue
            best = min(runs, key=lambda r: float(r["seconds"]))
            loads = {"first": seconds[0], "best": min(seconds[1:]), "median": statistics.median(seconds[1:])}
            results[Path(grammar).stem] = {**best, "all_seconds": [r["seconds"] for r in runs], "load_seconds": loads}
            if best["seconds"] > CPU_TOLERANCE * best["cpu_seconds"]:
                notes.append(f"{grammar}: disturbed by other work; {number(best['cpu_seconds'])} s of CPU time.")
    return Report(
        "compile",
        "What does compiling ahead of time take?",
        "`psc compile`, each grammar in a fresh process, one thread; peak memory is the whole process's. No peer writes artifacts.",
        _tables(results),
        results,
        notes,
        conditions,
    )


def _compiled(grammar: str, tokenizer: str, artifact: str) -> dict[str, Any]:
    """Compiles in this process."""
    info = load_tokenizer(tokenizer)
    began, cpu = time.perf_counter(), time.process_time()
    report = compile_to_artifact(grammar, info, artifact)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    counts = report.metadata["counts"]
    return {
        "seconds": seconds,
        "cpu_seconds": cpu,
        "stages": dict(report.record["seconds"]),
        "peak_bytes": peak_memory(),
        "artifact_bytes": report.size,
        "counts": dict(counts),
    }


def _loads(artifact: str) -> list[float]:
    """Seconds of each of some loads in this process, the imports done before."""
    seconds = []
    for _ in range(1 + _LOADS):
        began = time.perf_counter()
        load(artifact)
        seconds.append(time.perf_counter() - began)
    return seconds


def _tables(results: dict[str, Any]) -> list[Table]:
    head = ["grammar", "seconds", "peak MB", "artifact KB", "load ms: first", "median", "states", "transitions"]
    rows = [
        [
            grammar,
            number(r["seconds"]),
            number(r["peak_bytes"] / 1e6),
            number(r["artifact_bytes"] / 1e3),
            *(number(r["load_seconds"][k] * 1e3) for k in ("first", "median")),
            *(f"{r['counts'].get(k, 0):,}" for k in ("classifier_states", "classifier_transitions")),
        ]
        for grammar, r in results.items()
    ]
    stages = list(dict.fromkeys(stage for r in results.values() for stage in r["stages"]))
    by_stage = [[grammar, *(number(r["stages"].get(s), 2) for s in stages)] for grammar, r in results.items()]
    return [
        Table("From a grammar's name to its artifact on disk, and back into memory:", head, rows),
        Table("Seconds by stage:", ["grammar", *stages], by_stage),
    ]
