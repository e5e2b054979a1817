"""From the cells that were measured to tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from psc.bench.end_to_end.measuring import BACKENDS
from psc.bench.measure import number
from psc.bench.reports import Report, Table

QUESTION: Final = "How many tokens a second does a server write?"
_HOW: Final = (
    "vLLM on this machine's processors, its step called in one process; a batch stays full: where a request ends, the next begins. "
    "`forced`: the model's step runs, the mask is made and applied, and the token is the reference text's; `free`: tokens are "
    "sampled, temperature 0.8. `psc` has artifacts compiled ahead of time, `psc jit` builds what texts visit. Backends take turns, "
    "round by round, with the same requests, those that all take; the fastest round counts. Steps in which a request begins are no "
    "part of tokens a second."
)


def fastest(figures: Mapping[str, Any]) -> dict[str, Any] | None:
    """The round of a backend with the most tokens a second; None where no step had a full batch."""
    rounds: list[dict[str, Any]] = [each for each in figures["slices"] if each["steps"]]
    return max(rounds, key=lambda each: each["tokens"] / each["seconds"], default=None)


def tokens_a_second(figures: Mapping[str, Any]) -> float | None:
    """Of the fastest round."""
    best = fastest(figures)
    return None if best is None else best["tokens"] / best["seconds"]


def first_token_ms(figures: Mapping[str, Any]) -> float | None:
    """The median of the first round's, where grammars are new."""
    times = figures["slices"][0]["first"] if figures["slices"] else []
    return float(np.median(times)) * 1e3 if times else None


def report_of(cells: Mapping[str, dict[str, Any]], about: Mapping[str, Any], notes: Sequence[str]) -> Report:
    """The report of these cells."""
    shown = [cell for cell in cells.values() if any(each["slices"] for each in cell["backends"].values())]
    backends = [name for name in BACKENDS if any(name in cell["backends"] for cell in shown)]
    tables = [
        _throughput(shown, backends),
        _by_backend(
            "Milliseconds to the first token, median of the first round, in which grammars are new:", shown, backends, _ms_first
        ),
        _by_backend("Milliseconds between tokens, p50 / p99:", shown, backends, _ms_between),
        _by_backend("Processor seconds of the engine's process, a thousand tokens:", shown, backends, _cpu),
        _screened(shown, backends),
    ]
    return Report("end-to-end", QUESTION, _HOW, [t for t in tables if t.rows], dict(cells), [*notes, *_notes(shown)], about)


def _throughput(cells: Sequence[dict[str, Any]], backends: Sequence[str]) -> Table:
    """Tokens a second, and beside those of no grammar."""
    others = [name for name in backends if name != "none"]
    rows = []
    for cell in cells:
        speeds = {name: tokens_a_second(figures) for name, figures in cell["backends"].items()}
        base = speeds.get("none")
        shares = [number(speeds[name] / base, 2) if base and speeds.get(name) else "-" for name in others]  # type: ignore[operator]
        rows.append([*_names(cell), *(number(speeds.get(name)) for name in backends), *shares])
    return Table(
        "Tokens a second, and as a share of those without a grammar:", [*_NAMES, *backends, *(f"{n}, share" for n in others)], rows
    )


_NAMES: Final = ("model", "language", "tokens are", "batch")


def _names(cell: Mapping[str, Any]) -> list[str]:
    return [cell["model"], cell["language"], cell["way"], str(cell["batch"])]


def _by_backend(
    caption: str, cells: Sequence[dict[str, Any]], backends: Sequence[str], shown: Callable[[Mapping[str, Any]], str]
) -> Table:
    rows = [
        [*_names(cell), *(shown(cell["backends"][name]) if name in cell["backends"] else "-" for name in backends)]
        for cell in cells
    ]
    return Table(caption, [*_NAMES, *backends], rows)


def _ms_first(figures: Mapping[str, Any]) -> str:
    return number(first_token_ms(figures))


def _ms_between(figures: Mapping[str, Any]) -> str:
    best = fastest(figures)
    return "-" if best is None else f"{number(best['between_ms']['p50'])} / {number(best['between_ms']['p99'])}"


def _cpu(figures: Mapping[str, Any]) -> str:
    best = fastest(figures)
    return "-" if best is None else number(1e3 * best["cpu_seconds"] / best["all_tokens"])


def _screened(cells: Sequence[dict[str, Any]], backends: Sequence[str]) -> Table:
    """Pass rates, and the first mask of requests that are new, without the model."""
    rows = []
    for model in dict.fromkeys(cell["model"] for cell in cells):
        for language in dict.fromkeys(cell["language"] for cell in cells):
            of = [cell for cell in cells if (cell["model"], cell["language"]) == (model, language)]
            n = sum(cell["works"] for cell in of)
            for name in backends:
                each = [cell["screened"][name] for cell in of if name in cell["screened"]]
                if each:
                    first = [ms for one in each for ms in one["first_mask_ms"]]
                    quantiles = [number(float(q)) for q in np.percentile(first, (50, 99))] if first else ["-", "-"]
                    took = sum(one["took"] for one in each)
                    rows.append([model, language, name, str(n), f"{100 * took / n:.1f}%", *quantiles])
    head = ["model", "language", "backend", "requests", "texts taken", "first mask ms, p50", "p99"]
    return Table("Requests, their reference texts, and milliseconds from a request's grammar to its first mask:", head, rows)


def _notes(cells: Sequence[dict[str, Any]]) -> list[str]:
    """How far rounds differ, tokens that masks forbade, requests that failed, and what was refused."""
    notes: list[str] = []
    spreads = []
    for cell in cells:
        where = ", ".join(_names(cell))
        for name, figures in cell["backends"].items():
            speeds = [each["tokens"] / each["seconds"] for each in figures["slices"] if each["steps"]]
            spreads += [max(speeds) / min(speeds)] if len(speeds) > 1 else []
            for what, said in (
                ("masked", "forced tokens were masked"),
                ("failed", "requests failed"),
                ("refused", "requests were refused"),
            ):
                found = sum(each[what] for each in figures["slices"])
                if found:
                    notes.append(f"{where}: {name}: {found} {said}.")
    if spreads:
        notes.insert(
            0, f"The fastest round of a cell is {number(float(np.median(spreads)), 2)} times as fast as its slowest (median)."
        )
    refusals = dict.fromkeys(
        f"{cell['language']}: {name} refuses {each['refused']} of {cell['works']}: {each['why'].splitlines()[0][:200]}."
        for cell in cells
        for name, each in cell["screened"].items()
        if each["refused"]
    )
    return [*notes, *refusals]


def lines(cells: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, dict[str, dict[int, float]]]]:
    """Model -> language and way -> backend -> batch -> tokens a second, as the paper's figures 2 and 3 show them."""
    found: dict[str, dict[str, dict[str, dict[int, float]]]] = {}
    for cell in cells.values():
        panel = cell["language"] if len({each["way"] for each in cells.values()}) == 1 else f"{cell['language']}, {cell['way']}"
        for name, figures in cell["backends"].items():
            speed = tokens_a_second(figures)
            if speed is not None:
                found.setdefault(cell["model"], {}).setdefault(panel, {}).setdefault(name, {})[cell["batch"]] = speed
    return found
