"""The measurement: engines take turns, cell by cell, and what was measured is kept in a file.

A cell is a model, a language, a way of writing and a batch. All backends have an engine that waits while another one works, so that
they meet the same minutes of a machine. In a cell each has its turn in each round, in changing order, with the same requests. Only
requests count that all backends take, text included.

Other work on the machine makes a round slower, never faster, and much slower: the threads of an engine wait for each other by
spinning, so that one of them without a processor holds up all. So the fastest round of a cell counts, and the others say how quiet
it was.

Cost: `Plan.minutes` says it; memory is 1.5 to 3 GB an engine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np

from psc.bench.end_to_end.process import EngineProcess, Interpreter
from psc.bench.end_to_end.workloads import Work, works_of
from psc.bench.isolated import Failed
from psc.errors import BenchError

BACKENDS: Final[dict[str, str]] = {
    "none": "none",
    "psc": "psc",
    "psc jit": "psc",
    "guidance": "guidance",
    "xgrammar": "xgrammar",
}
"""Name here -> what `psc.bench.end_to_end.engine` calls it. `psc` has artifacts, `psc jit` builds what texts visit."""
WAYS: Final = ("forced", "free")
_STARTS, _ANSWERS = 600.0, 900.0
_LENGTH = 1024


@dataclass(frozen=True)
class Plan:
    """What is measured."""

    models: tuple[str, ...] = ("smollm2", "gemma3")
    backends: tuple[str, ...] = tuple(BACKENDS)
    languages: tuple[str, ...] = ("json", "java", "go", "sql")
    ways: tuple[str, ...] = WAYS
    batches: tuple[int, ...] = (1, 4, 16, 64)
    seconds: float = 21.0
    """Of a cell and backend, all rounds together."""
    rounds: int = 3
    max_tokens: int = 192
    seed: int = 0

    def cells(self, model: str) -> list[Cell]:
        """The cells of a model."""
        return [Cell(model, lang, way, n) for lang in self.languages for way in self.ways for n in self.batches]

    def minutes(self) -> float:
        """About what it takes, without cells that are there already."""
        cells = sum(len(self.cells(model)) for model in self.models)
        return (cells * len(self.backends) * (self.seconds + 3) + 25 * len(self.models) * len(self.backends)) / 60


@dataclass(frozen=True)
class Cell:
    """What is measured at once, by all backends in turn."""

    model: str
    language: str
    way: str
    """`forced`: the reference's tokens; `free`: sampled, temperature 0.8."""
    batch: int

    def __str__(self) -> str:
        return f"{self.model}, {self.language}, {self.way}, batch {self.batch}"


@dataclass
class Kept:
    """What was measured, in a file that a later run continues.

    Args:
        path: the file; None keeps nothing.
        plan: whose cells these are; the seconds and rounds of a cell, and the seed, must be those of the file.

    Raises:
        BenchError: the file is of another plan, or no such file.
    """

    path: Path | None
    plan: Plan
    cells: dict[str, dict[str, Any]] = field(default_factory=dict)
    engines: dict[str, Any] = field(default_factory=dict)
    """Versions and vocabularies, by model."""

    def __post_init__(self) -> None:
        self._settings = {name: getattr(self.plan, name) for name in ("seconds", "rounds", "max_tokens", "seed")}
        self._settings["backends"] = list(self.plan.backends)
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path is None or not self.path.exists():
            return
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
            settings, self.cells, self.engines = found["settings"], found["cells"], found["engines"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BenchError(f"{self.path}: no cells of this benchmark ({error}); name another file") from error
        if settings != self._settings:
            raise BenchError(f"{self.path}: measured with {settings}, not {self._settings}; name another file, or remove it")

    def add(self, cell: Cell, figures: dict[str, Any]) -> None:
        """Keeps a cell, and writes the file."""
        self.cells[str(cell)] = {**asdict(cell), **figures}
        if self.path is not None:
            document = {"settings": self._settings, "cells": self.cells, "engines": self.engines}
            part = self.path.with_name(self.path.name + ".part")
            part.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
            part.replace(self.path)


def measure(
    plan: Plan, interpreter: Interpreter, kept: Kept, announce: Callable[[str], None], notes: list[str], *, logs: Path
) -> None:
    """Every cell that is not there yet.

    Args:
        plan: what to measure.
        interpreter: that has vLLM.
        kept: gets the cells.
        announce: called with what is next.
        notes: get a line for what could not be measured.
        logs: the folder that engines write what they print to.

    Raises:
        BenchError: a model is not there.
    """
    for model in plan.models:
        missing = [cell for cell in plan.cells(model) if str(cell) not in kept.cells]
        if not missing:
            continue
        announce(f"{model}: its folder")
        folder = interpreter.model_folder(model, logs / "model.log")
        with _engines(plan, model, folder, interpreter, announce, notes, logs) as engines:
            kept.engines[model] = {name: engine.about for name, engine in engines.items()}
            for n, cell in enumerate(missing):
                announce(f"{cell} ({n + 1} of {len(missing)})")
                kept.add(cell, _measured(cell, plan, engines, notes))


class _Running:
    """An engine that is started, again where it died."""

    def __init__(self, name: str, start: Callable[[], tuple[EngineProcess, dict[str, Any]]], store: str | None) -> None:
        self.name, self.store, self._start = name, store, start
        self.process, self.about = start()

    def ask(self, do: str, **arguments: Any) -> Any:
        """As `EngineProcess.ask`. Raises Failed."""
        if not self.process.alive:
            self.process.stop()
            self.process, self.about = self._start()
        return self.process.ask(do, timeout=_ANSWERS, **arguments)


@contextmanager
def _engines(
    plan: Plan,
    model: str,
    folder: Path,
    interpreter: Interpreter,
    announce: Callable[[str], None],
    notes: list[str],
    logs: Path,
) -> Iterator[dict[str, _Running]]:
    running: dict[str, _Running] = {}
    with TemporaryDirectory(prefix="psc-") as store:
        try:
            for name in plan.backends:
                announce(f"{model}: {name} starts")
                try:
                    running[name] = _started(
                        plan, name, folder, interpreter, logs / f"{Path(model).name}-{name.replace(' ', '-')}.log", store
                    )
                except (Failed, BenchError) as error:
                    notes.append(f"{model}: {name}: {error}.")
            yield running
        finally:
            for engine in running.values():
                engine.process.stop()


def _started(plan: Plan, name: str, folder: Path, interpreter: Interpreter, log: Path, store: str) -> _Running:
    backend = BACKENDS[name]
    environment = interpreter.environment_for_psc() if backend == "psc" else {}
    options = {"store": store} if name == "psc" else {}

    def start() -> tuple[EngineProcess, dict[str, Any]]:
        process = EngineProcess(interpreter.path, log, environment)
        try:
            about = process.ask(
                "start",
                timeout=_STARTS,
                model=str(folder),
                backend=backend,
                sequences=max(plan.batches),
                length=_LENGTH,
                options=options,
            )
        except Failed:
            process.stop()
            raise
        return process, about

    return _Running(name, start, store if name == "psc" else None)


def _measured(cell: Cell, plan: Plan, engines: Mapping[str, _Running], notes: list[str]) -> dict[str, Any]:
    """The figures of each backend."""
    works = works_of(cell.language, min(96, 4 * cell.batch + 8), f"{plan.seed} {cell.way} {cell.batch}")
    if not engines:
        return {"taken": 0, "screened": {}, "backends": {}}
    asked, screened, taken = screen(works, engines, plan.max_tokens)
    figures: dict[str, Any] = {name: {"slices": [], "problem": ""} for name in engines}
    if not taken:
        notes.append(f"{cell}: there is no request that all take.")
    for turn in range(plan.rounds if taken else 0):
        names = list(engines)
        names = names[turn % len(names) :] + names[: turn % len(names)]
        for name in names:
            if figures[name]["problem"]:
                continue
            try:
                found = engines[name].ask(
                    "slice",
                    works=[asked[name][i] for i in taken],
                    batch=cell.batch,
                    seconds=plan.seconds / plan.rounds,
                    at=turn * cell.batch,
                    max_tokens=plan.max_tokens,
                    forced=cell.way == "forced",
                    seed=1000 * turn,
                )
                if "error" in found:
                    raise Failed(found["error"])
                figures[name]["slices"].append(_summary(found))
            except Failed as error:
                figures[name]["problem"] = str(error)
                notes.append(f"{cell}: {name}: {error}.")
    return {"works": len(works), "taken": len(taken), "screened": screened, "backends": figures}


def screen(
    works: Sequence[Work], engines: Mapping[str, _Running], max_tokens: int
) -> tuple[dict[str, list[dict[str, Any]]], dict[str, Any], list[int]]:
    """Which works all engines take, with their texts.

    Returns: the works as each engine is asked; what each made of them; and the indices of those that all take.
    """
    tell = next(iter(engines.values()))
    prompts = tell.ask("encoded", texts=[work.prompt for work in works], chat=True)
    texts = tell.ask("encoded", texts=[work.text for work in works], chat=False)
    asked: dict[str, list[dict[str, Any]]] = {}
    screened: dict[str, Any] = {}
    taken = set(range(len(works)))
    for name, engine in engines.items():
        backend = BACKENDS[name]
        asked[name] = [
            {
                "prompt": prompt,
                "forced": text[:max_tokens],
                **({} if backend == "none" else {"constraint": work.constraints[backend]}),
            }
            for work, prompt, text in zip(works, prompts, texts, strict=True)
        ]
        if backend == "none":
            continue
        screened[name] = {}
        if engine.store is not None:
            stored = engine.ask("stored", works=asked[name], folder=engine.store)
            screened[name]["artifact_seconds"], screened[name]["artifact_bytes"] = stored["seconds"], stored["bytes"]
        found = engine.ask("accepted", works=asked[name])
        good = {
            i
            for i, (each, text) in enumerate(zip(found, texts, strict=True))
            if each.get("taken") == min(len(text), max_tokens) and (each["ends"] or len(text) > max_tokens)
        }
        errors = [each["error"] for each in found if "error" in each]
        screened[name] |= {
            "took": len(good),
            "refused": len(errors),
            "why": errors[0] if errors else "",
            "first_mask_ms": [round(1e3 * each["seconds"], 3) for each in found if "seconds" in each],
        }
        taken &= good
    return asked, screened, sorted(taken)


def _summary(found: dict[str, Any]) -> dict[str, Any]:
    """A slice without its single readings."""
    between = np.asarray(found.pop("between") or [np.nan]) * 1e3
    p50, p99 = (round(float(x), 4) for x in np.percentile(between, (50, 99)))
    return {**found, "first": [round(x, 5) for x in found["first"]], "between_ms": {"p50": p50, "p99": p99}}
