"""The time to the first mask, from a grammar's text, nothing of it cached anywhere: psc just in time, and its peers.

A request brings a grammar that the server has not seen. Each reading is the first of its process. *Warm* is a server's process:
everything is imported and the vocabulary indexed, by grammars of one letter, which leave nothing that another could use. *Known* is
such a process where another one has read the grammar before, and has stored its tables (psc stores those of Lark's language only).
*Parsed* reads the text, that of a bundled grammar too, whose tables are part of psc. *Cold* is a process that has only loaded the
tokenizer: the first grammar of all pays for imports and for the index too. Peers are measured warm. The split is of the warm
readings:

    front end   the text parsed, or its tables read
    lowering    EBNF rules to terminals and productions
    terminals   the automaton of all terminals: over bytes, or the nondeterministic one that a machine makes more of
    LR          the LALR(1) tables
    machine     the matcher's data, still empty
    first mask  a matcher, and its mask at the beginning of the text

The fastest of some processes is shown, and its CPU time beside it: other work on the machine makes figures longer, never shorter.

Cost: a process for each reading, about a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from psc.artifacts.store import Store
from psc.bench.engines import HostedEngine, Ready, installed, warm_up
from psc.bench.isolated import Failed, Resident, result
from psc.bench.measure import number
from psc.bench.reports import Report, Settings, Table, about, ratio
from psc.bench.subjects import Subject, bundled_with_texts, find_subject, own_names
from psc.grammars import known_grammars
from psc.grammars.grammar_compiler import GrammarCompiler
from psc.runtime.compiled import GrammarMatcher
from psc.vocabulary import load_tokenizer

STAGES = ("front end", "lowering", "terminals", "LR", "machine", "first mask")
_PATIENCE = 300.0
_QUICK_PATIENCE = 30.0
_SLOW = 10.0
"""Seconds: a peer that takes longer is measured once."""


@dataclass(frozen=True)
class FirstMask:
    """One reading, in seconds."""

    total: float
    cpu: float
    stages: dict[str, float]


@dataclass(frozen=True)
class Conditions:
    """Of a process, before the grammar's text comes."""

    warm: bool = True
    """Whether grammars of one letter came first."""
    bundled: bool = True
    """Whether the tables that are part of psc are there."""
    store: str | None = None
    """The folder in which another process may have left tables."""


def first_mask(subject: Subject, spec: str, conditions: Conditions) -> FirstMask:
    """The first mask of this process, or, warm, the first after those of grammars of one letter."""
    info = load_tokenizer(spec)
    compiler = GrammarCompiler(info, cache_enabled=False, store=False)
    store = None if conditions.store is None else Store(conditions.store)
    if conditions.warm:
        warm_up(compiler)
    if not conditions.bundled:
        known_grammars._BUNDLED = Path(__file__).parent / "no folder"
    seconds = dict.fromkeys(STAGES, 0.0)
    watch(seconds)
    cpu, began = time.process_time(), time.perf_counter()
    grammar = subject.open(store)
    opened = time.perf_counter()
    compiled = compiler.compile_grammar(grammar)
    made = time.perf_counter()
    GrammarMatcher(compiled).mask_row()
    ended = time.perf_counter()
    cpu = time.process_time() - cpu
    seconds["front end"], seconds["first mask"] = opened - began, ended - made
    return FirstMask(ended - began, cpu, seconds)


def leave_tables(subject: Subject, folder: str) -> None:
    """Reads a grammar and leaves its tables in a store."""
    known_grammars._BUNDLED = Path(folder) / "no folder"
    subject.open().tables(store=Store(folder))


def watch(seconds: dict[str, float]) -> None:
    """From now on, adds up the time spent in each stage of a compilation."""
    from psc.compiler.frontends import parsed, tables

    def timed(stage: str, call: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(call)
        def measured(*args: Any, **options: Any) -> Any:
            began = time.perf_counter()
            try:
                return call(*args, **options)
            finally:
                seconds[stage] += time.perf_counter() - began

        return measured

    for stage, module, *names in (
        ("terminals", tables, "terminal_automaton", "open_terminals_of_rules"),
        ("LR", tables, "lr_tables", "lr_tables_of_rules"),
        ("lowering", parsed, "LoweredRules"),
        ("machine", tables.CfgTables, "_machine"),
        ("machine", tables.RulesTables, "_machine"),
    ):
        for name in names:
            setattr(module, name, timed(stage, getattr(module, name)))


def run(settings: Settings, grammars: Sequence[str] = ()) -> Report:
    """Every grammar; by default the bundled ones, and those of the kind that requests bring."""
    conditions = about(settings, load_tokenizer(settings.tokenizer).name)
    results: dict[str, Any] = {}
    notes: list[str] = []
    for name in grammars or [*bundled_with_texts(), *own_names()]:
        subject = find_subject(name)
        settings.announce(subject.name)
        try:
            results[subject.name] = _measured(subject, settings)
        except Failed as error:
            notes.append(f"{subject.name}: psc: {error}.")
    for name, figures in results.items():
        notes += [f"{name}: {p}: {figures[p]['problem']}." for p in settings.peers if "problem" in figures[p]]
    return Report(
        "first-masks",
        "How long from a grammar's text to its first mask?",
        "Just in time, each reading in a process of its own, where everything is imported and the vocabulary indexed; *cold* is "
        "the process's very first grammar, imports and index included. The fastest of some processes, milliseconds.",
        _tables(results, settings.peers),
        results,
        notes,
        conditions,
    )


def _measured(subject: Subject, settings: Settings) -> dict[str, Any]:
    """All readings of one grammar."""
    repeat, patience = (2, _QUICK_PATIENCE) if settings.quick else (3, _PATIENCE)
    with TemporaryDirectory(prefix="psc-") as folder:
        conditions = {"warm": Conditions(), "cold": Conditions(warm=False)}
        if subject.language == "lark" and not settings.quick:
            result(leave_tables, subject, folder, timeout=patience)
            conditions |= {"parsed": Conditions(bundled=False), "known": Conditions(bundled=False, store=folder)}
        readings = {
            name: [result(first_mask, subject, settings.tokenizer, under, timeout=patience) for _ in range(repeat)]
            for name, under in conditions.items()
        }
    figures: dict[str, Any] = {"bytes": len(subject.text.encode())}
    for name, all_of in readings.items():
        best: FirstMask = min(all_of, key=lambda r: r.total)
        figures[name] = {"total": best.total, "cpu": best.cpu, "stages": best.stages, "all": [r.total for r in all_of]}
    for peer in settings.peers:
        figures[peer] = _peers(peer, subject, settings.tokenizer, repeat, patience)
    return figures


def _peers(engine: str, subject: Subject, spec: str, repeat: int, patience: float) -> dict[str, Any]:
    if installed(engine) is None:
        return {"problem": "is not installed"}
    readings: list[Ready] = []
    for _ in range(repeat):
        try:
            process = Resident(HostedEngine, engine, subject, spec, timeout=patience)
            readings.append(process.ask("ready", timeout=patience))
        except Failed as error:
            return {"problem": str(error)}
        process.stop()
        if readings[-1].compile_seconds + readings[-1].first_mask_seconds > _SLOW:
            break
    fastest = min(readings, key=lambda r: r.compile_seconds + r.first_mask_seconds)
    return {
        "total": fastest.compile_seconds + fastest.first_mask_seconds,
        "compile": fastest.compile_seconds,
        "first mask": fastest.first_mask_seconds,
        "grammar": fastest.grammar,
    }


def _tables(results: dict[str, Any], peers: Sequence[str]) -> list[Table]:
    """Totals side by side with ratios to psc's, then psc's stages."""

    def milliseconds(seconds: float | None) -> str:
        return number(None if seconds is None else seconds * 1e3)

    ours = [name for name in ("warm", "cold", "known", "parsed") if any(name in figures for figures in results.values())]
    head = ["grammar", "bytes", *(f"psc, {name}" for name in ours), *(cell for p in peers for cell in (p, "to psc's"))]
    rows = []
    for name, figures in results.items():
        row = [name, f"{figures['bytes']:,}", *(milliseconds(figures.get(each, {}).get("total")) for each in ours)]
        for p in peers:
            theirs = figures[p].get("total")
            row += [milliseconds(theirs), ratio(theirs, figures["warm"]["total"])]
        rows.append(row)
    stages = [[name, *(milliseconds(figures["warm"]["stages"][s]) for s in STAGES)] for name, figures in results.items()]
    return [
        Table("Milliseconds from the grammar's text to the first mask:", head, rows),
        Table("Where psc's milliseconds go, warm:", ["grammar", *STAGES], stages),
    ]
