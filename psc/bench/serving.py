"""The cost of requests in a server: their admission, and steps of batches; psc side by side with its peers in one run.

Requests are of the kind that comes with tool calls: ten of a hundred generated tools each, made one JSON schema of by the server,
and a valid text. *Admission* is from the schema's text to the first mask, each request new. Then batches go step by step: the masks
of all sequences are filled, and each accepts the next token of its text; a text that has ended begins anew. The first round visits
masks for the first time, the second visits them again. Everything is on one thread, a call for each sequence, and the engines take
turns. A request counts only if all engines take it and its text; an engine that does not return from several requests is out.
vLLM's own code around this is measured by a script of a clone (benchmarks/serving.py).

Cost: a minute with few requests; XGrammar's compilations take most of it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from psc.bench.isolated import Failed
from psc.bench.json_engines import SchemaServer, started
from psc.bench.measure import number
from psc.bench.reports import Report, Settings, Table, about, ratio
from psc.bench.texts import encoder
from psc.bench.tool_requests import calls_of, generated_tools, request_of
from psc.vocabulary import load_tokenizer

_TOOLS, _OF_REQUEST = 100, 10
_PATIENCE = 300.0
_MAX_GIVEN_UP = 3
Work = tuple[str, list[int]]
"""A schema, and the tokens of a valid text."""


def run(settings: Settings) -> Report:
    """Admissions, then batches."""
    n_requests, batches, n_steps, seconds = (20, (1, 16), 60, 10.0) if settings.quick else (170, (1, 64, 256), 100, 60.0)
    info = load_tokenizer(settings.tokenizer)
    _, encode = encoder(settings.tokenizer, info)
    rng = random.Random(settings.seed)
    tools = generated_tools(_TOOLS, rng)
    works: list[Work] = []
    for _ in range(n_requests):
        drawn = rng.sample(tools, _OF_REQUEST)
        works.append((request_of(drawn), encode(calls_of(drawn, rng).encode())))
    conditions = about(settings, info.name)
    notes: list[str] = []
    running = started(settings, {"kept": True}, _PATIENCE, notes)
    try:
        admitted = _admit(running, works, settings, notes)
        notes += [f"{name} refuses {n} of {n_requests} requests." for name, n in admitted.refused.items() if name in running]
        taken = admitted.taken_by(running)
        admissions = {name: [admitted.times[i][name] for i in taken] for name in running}
        chosen = [works[i] for i in taken]
        steps = _batches(running, chosen, batches, n_steps, seconds, settings, notes) if chosen else {}
    finally:
        for server in running.values():
            server.stop()
    results = {"requests": n_requests, "taken": len(taken), "admission_ms": admissions, "steps_us": steps}
    return Report(
        "serve",
        "What do a server's requests cost?",
        f"{n_requests} requests, each a new JSON schema of {_OF_REQUEST} of {_TOOLS} tools; {len(taken)} that all engines take are "
        "counted. Batches of them go step by step: a mask and an accept for each sequence, on one thread.",
        _tables(results),
        results,
        notes,
        conditions,
    )


@dataclass
class _Admissions:
    """Of each request, by engine: the time of compiling and of the first mask, in milliseconds."""

    times: list[dict[str, dict[str, float]]] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)

    def taken_by(self, engines: Iterable[str]) -> list[int]:
        """The requests that all of these engines took."""
        wanted = set(engines)
        return [i for i, of in enumerate(self.times) if wanted <= set(of)]


def _admit(running: dict[str, SchemaServer], works: Sequence[Work], settings: Settings, notes: list[str]) -> _Admissions:
    """Each request, by each engine in turn. One that does not come back again and again is out of `running`."""
    patience = 10.0 if settings.quick else 60.0
    admissions = _Admissions()
    for i, (schema, tokens) in enumerate(works):
        if i % 10 == 0:
            settings.announce(f"request {i + 1} of {len(works)}")
        admissions.times.append({})
        for name in list(running) if i % 2 else list(reversed(running)):
            try:
                compiled, first, passes = running[name].ask("admitted", schema, tokens, timeout=patience)
            except Failed:
                passes = False
            if passes:
                admissions.times[i][name] = {"compile": compiled / 1e6, "first mask": first / 1e6}
                continue
            admissions.refused[name] += 1
            if running[name].given_up >= _MAX_GIVEN_UP:
                notes.append(
                    f"{name} did not come back from {_MAX_GIVEN_UP} of {i + 1} requests within {patience:.0f} s each: out."
                )
                running.pop(name).stop()
    return admissions


def _batches(
    running: dict[str, SchemaServer],
    taken: Sequence[Work],
    batches: Sequence[int],
    n_steps: int,
    seconds: float,
    settings: Settings,
    notes: list[str],
) -> dict[str, dict[str, dict[str, Any]]]:
    """Batch -> round -> engine -> the microseconds of each step's masks and accepts."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    new = list(taken)
    for turn, size in enumerate(batches):
        chosen, new = new[:size] or list(taken), new[size:]  # texts new to all batches, as long as there are any
        works = [chosen[i % len(chosen)] for i in range(size)]
        by_round: dict[str, dict[str, Any]] = {"first": {}, "again": {}}
        for name in list(running) if turn % 2 else list(reversed(running)):
            settings.announce(f"a batch of {size}: {name}")
            try:
                rounds = running[name].ask("steps", works, n_steps, seconds, timeout=_PATIENCE)
            except Failed as error:
                notes.append(f"{name}, a batch of {size}: {error}.")
                continue
            for which, took in zip(by_round, rounds, strict=True):
                masks, accepts = zip(*took, strict=True)
                by_round[which][name] = {"masks": [ns / 1e3 for ns in masks], "accepts": [ns / 1e3 for ns in accepts]}
        found[str(size)] = by_round
    return found


def _tables(results: dict[str, Any]) -> list[Table]:
    rows = []
    ours = _median(results["admission_ms"].get("psc"), "first mask")
    for name, readings in results["admission_ms"].items():
        if readings:
            first = [r["first mask"] for r in readings]
            cells = [number(float(x)) for x in (np.mean(first), *np.percentile(first, (50, 99, 100)))]
            median = _median(readings, "first mask")
            rows.append([name, number(_median(readings, "compile")), *cells, ratio(median, ours)])
    head = ["engine", "compile p50", "first mask mean", "p50", "p99", "max", "p50, to psc's"]
    tables = [Table("Milliseconds from a request's schema to its compiled form, and to its first mask:", head, rows)]
    rows = []
    for size, by_round in results["steps_us"].items():
        for which, by_engine in by_round.items():
            of_psc = by_engine.get("psc")
            base = float(np.median(of_psc["masks"])) if of_psc else None
            for name in results["admission_ms"]:
                if name in by_engine:
                    masks, accepts = by_engine[name]["masks"], by_engine[name]["accepts"]
                    p50, p99 = map(float, np.percentile(masks, (50, 99)))
                    cells = [number(float(np.mean(masks))), number(p50), number(p99), number(float(np.median(accepts)))]
                    rows.append([size, which, name, str(len(masks)), *cells, ratio(p50, base)])
    head = ["batch", "round", "engine", "steps", "masks mean", "p50", "p99", "accepts p50", "masks p50, to psc's"]
    return [*tables, Table("Microseconds a step of the whole batch:", head, rows)]


def _median(readings: Sequence[dict[str, float]] | None, what: str) -> float | None:
    return float(np.median([r[what] for r in readings])) if readings else None
