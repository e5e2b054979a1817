"""MaskBench's protocol: JSON schemas with instances, psc side by side with its peers in one run.

A line of the file is `{"schema", "tests": [{"valid", "data"}]}`, perhaps with a `name`, as JSONSchemaBench's MaskBench has them
and the official test suite of JSON Schema in a clone of psc. Each engine compiles each schema once, cold, up to its first mask;
then each instance is written as `json.dumps` writes it, tokenized, and taken token by token: the mask is computed, the token
looked up in it, and accepted. An instance passes if every token is allowed and the end after the last one is. A valid one
should pass, an invalid one should not. The engines take turns, schema by schema, in changing order. Open objects are open in
all of them; psc allows members in any order where objects are small enough.

Cost: some milliseconds a schema and engine, and what an engine takes that does not come back.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

from psc.bench.isolated import Failed
from psc.bench.json_engines import started
from psc.bench.measure import number
from psc.bench.reports import Report, Settings, Table, about, ratio
from psc.bench.texts import encoder
from psc.errors import BenchError
from psc.vocabulary import load_tokenizer

PERCENTILES = (50, 90, 99, 100)
SUITE = "tests/compiler/frontends/json_schema/official/suite.jsonl.zst"
"""The official test suite of JSON Schema, in a clone; a wheel does not have it."""
_DRAFT = "draft2020-12"
_START = 120.0


@dataclass
class _Outcome:
    """An engine's results on the schemas."""

    first_masks: dict[str, float] = field(default_factory=dict)
    """Milliseconds from the schema's text to the first mask, by name."""
    masks: list[float] = field(default_factory=list)
    """Microseconds a mask."""
    valid_refused: list[str] = field(default_factory=list)
    invalid_accepted: list[str] = field(default_factory=list)
    refusals: dict[str, str] = field(default_factory=dict)

    def add(self, entry: dict[str, Any], first: int, passed: list[bool], masks: list[int]) -> None:
        """Takes in a schema that was compiled; times are nanoseconds."""
        name = entry["name"]
        self.first_masks[name] = first / 1e6
        self.masks += [ns / 1e3 for ns in masks]
        for test, good in zip(entry["tests"], passed, strict=True):
            if good != test["valid"]:
                (self.valid_refused if test["valid"] else self.invalid_accepted).append(name)

    def figures(self) -> dict[str, Any]:
        """Everything about it."""
        spread = _spread(self.masks)
        return {
            "compiled": len(self.first_masks),
            "wrong": len({*self.valid_refused, *self.invalid_accepted}),
            "valid_refused": self.valid_refused,
            "invalid_accepted": self.invalid_accepted,
            "refusals": self.refusals,
            "first_mask_ms": self.first_masks,
            "masks": len(self.masks),
            "mask_us": dict(zip(("mean", *(f"p{p}" for p in PERCENTILES)), spread, strict=True)) if spread else {},
        }


def read(path: Path, every: int = 1) -> Iterator[dict[str, Any]]:
    """The schemas of a file, one in `every`, each with a name. Raises BenchError where it is no such file.

    Of the official test suite those that all must agree on: one draft, without what is optional, and without the tests in which
    formats mean nothing.
    """
    try:
        data = path.read_bytes()
        if path.suffix == ".zst":
            data = zstandard.ZstdDecompressor().stream_reader(data).read()
        for i, line in enumerate(data.decode().splitlines()):
            entry = json.loads(line)
            file = str(entry.get("file", ""))
            included = entry.get("draft", _DRAFT) == _DRAFT and not file.startswith("optional/") and file != "format.json"
            if i % every == 0 and included:
                name = entry.get("name") or f"{file or path.name}: {entry.get('group', i)}"
                yield {"name": f"{name} ({i})", "schema": entry["schema"], "tests": entry["tests"]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, zstandard.ZstdError) as error:
        raise BenchError(f"{path}: no lines of schemas with tests: {error}") from error


def schemas_file(settings: Settings) -> Path:
    """The file that was named, or that of the clone which psc or the caller is in. Raises BenchError where there is none."""
    if settings.schemas is not None:
        return settings.schemas
    of_clones = [folder / SUITE for folder in (Path(__file__).parents[2], Path.cwd()) if (folder / SUITE).exists()]
    if not of_clones:
        raise BenchError(
            "there are no schemas: name a file of JSON schemas with instances (maskbench FILE, all --schemas FILE); "
            "a clone of psc has JSON Schema's official test suite, a wheel does not"
        )
    return of_clones[0]


def run(settings: Settings) -> Report:
    """The schemas of the settings' file, or a sample of them."""
    path = schemas_file(settings)
    entries = list(read(path))
    max_schemas = 250 if settings.quick else 2000
    if len(entries) > max_schemas:
        entries = random.Random(settings.seed).sample(entries, max_schemas)
    patience = 15.0 if settings.quick else 60.0
    info = load_tokenizer(settings.tokenizer)
    _, encode = encoder(settings.tokenizer, info)
    conditions = about(settings, info.name)
    notes: list[str] = []
    running = started(settings, {"any_order": True}, _START, notes)
    outcomes = {name: _Outcome() for name in running}
    try:
        for i, entry in enumerate(entries):
            if i % 50 == 0:
                settings.announce(f"schema {i + 1} of {len(entries)}")
            schema = json.dumps(entry["schema"])
            texts = [encode(json.dumps(test["data"], ensure_ascii=False).encode("utf-8", "replace")) for test in entry["tests"]]
            for name in list(running) if i % 2 else list(reversed(running)):
                try:
                    first, passed, masks = running[name].ask("instances", schema, texts, timeout=patience)
                except Failed as error:
                    outcomes[name].refusals[entry["name"]] = str(error)
                    continue
                outcomes[name].add(entry, first, passed, masks)
    finally:
        for server in running.values():
            server.stop()
    results = {name: each.figures() for name, each in outcomes.items()}
    suite = "JSON Schema's official test suite, draft 2020-12, without what is optional and what has formats mean nothing"
    which = suite if settings.schemas is None else "a file of schemas with instances"
    n_tests = sum(len(entry["tests"]) for entry in entries)
    return Report(
        "maskbench",
        "Are JSON schemas right, and what do they cost?",
        f"MaskBench's protocol over {len(entries):,} schemas with {n_tests:,} instances ({which}), each schema cold. "
        "A schema is *wrong* where a valid instance is refused or an invalid one accepted.",
        _tables(results),
        results,
        notes,
        conditions,
    )


def _spread(values: Sequence[float]) -> list[float]:
    return [float(np.mean(values)), *map(float, np.percentile(values, PERCENTILES))] if values else []


def _tables(results: dict[str, Any]) -> list[Table]:
    """Verdicts, times, and the ratios to psc's."""
    verdicts = [
        [
            name,
            *(f"{n:,}" for n in (r["compiled"], len(r["refusals"]), r["wrong"], len(r["valid_refused"]))),
            f"{len(r['invalid_accepted']):,}",
        ]
        for name, r in results.items()
    ]
    head = ["engine", "mean", *(f"p{p}" for p in PERCENTILES[:-1]), "max", "mean, to psc's"]
    all_compile = sorted(set.intersection(*[set(r["first_mask_ms"]) for r in results.values()])) if results else []
    first = {name: _spread([r["first_mask_ms"][s] for s in all_compile]) for name, r in results.items()}
    masks = {name: list(r["mask_us"].values()) for name, r in results.items()}

    def timed(of: dict[str, list[float]]) -> list[list[str]]:
        ours = of.get("psc", [])
        return [[name, *map(number, v), ratio(v[0], ours[0] if ours else None)] for name, v in of.items() if v]

    return [
        Table(
            "Schemas that compile, that are refused, that have a wrong verdict; instances with one:",
            ["engine", "compiled", "refused", "wrong", "valid refused", "invalid accepted"],
            verdicts,
        ),
        Table(f"Milliseconds from text to first mask, the {len(all_compile):,} schemas that all compile:", head, timed(first)),
        Table("Microseconds a mask, first visits included:", head, timed(masks)),
    ]
