"""Reports as pictures: bars on a logarithmic axis, since engines differ by orders of magnitude.

A picture is SVG, with letters as outlines, so that it looks the same everywhere; the same figures give the same bytes.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from psc.bench.end_to_end.report import lines
from psc.bench.measure import number
from psc.bench.reports import Report

_COLORS = {"psc": "#2f5fd0", "psc row": "#12307a", "psc fill": "#2f5fd0", "llguidance": "#e08e2b", "xgrammar": "#8a8f98"}
_LINES = {
    "none": ("#222222", ":"),
    "psc": ("#12307a", "-"),
    "psc jit": ("#2f5fd0", "--"),
    "guidance": ("#e08e2b", "-"),
    "xgrammar": ("#8a8f98", "-"),
}
_STYLE = {"svg.fonttype": "path", "svg.hashsalt": "psc", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}


def picture(report: Report) -> str | None:
    """A report's figures as SVG; None where there is nothing to show. Raises ImportError without matplotlib."""
    if report.name == "end-to-end":
        panels = lines(report.results)
        return _panels(panels) if panels else None
    drawn = {"masks": _masks, "first-masks": _first_masks, "serve": _serve, "compile": _compile}.get(report.name)
    bars = drawn(report.results) if drawn is not None else None
    if bars is None:
        return None
    title, unit, of = bars
    return _bars(title, unit, of) if any(of.values()) else None


_Bars = tuple[str, str, dict[str, dict[str, float]]]
"""A title, the axis, and group -> series -> value."""


def _masks(results: Mapping[str, Any]) -> _Bars:
    names = ("psc row", "psc fill", "llguidance", "xgrammar")
    of = {
        grammar: {
            engine: result["engines"][engine]["later"]["mask_us"]["mean"]
            for engine in names
            if result["engines"].get(engine, {}).get("later", {}).get("mask_us", {}).get("calls")
        }
        for grammar, result in results.items()
    }
    return "A mask, once texts have been met", "microseconds, mean (log scale; shorter is better)", of


def _first_masks(results: Mapping[str, Any]) -> _Bars:
    of = {
        grammar: {"psc": result["warm"]["total"] * 1e3}
        | {peer: result[peer]["total"] * 1e3 for peer in ("llguidance", "xgrammar") if "total" in result.get(peer, {})}
        for grammar, result in results.items()
    }
    return "From a grammar's text to its first mask", "milliseconds (log scale; shorter is better)", of


def _serve(results: Mapping[str, Any]) -> _Bars:
    of = {
        f"batch of {size},\n{'met first' if which == 'first' else 'met again'}": {
            name: float(np.median(took["masks"])) for name, took in by_engine.items()
        }
        for size, by_round in results["steps_us"].items()
        for which, by_engine in by_round.items()
    }
    return "The masks of a step, requests of tool calls", "microseconds, median (log scale; shorter is better)", of


def _compile(results: Mapping[str, Any]) -> _Bars:
    of = {grammar: {"psc": float(result["seconds"])} for grammar, result in results.items()}
    return "Compiling ahead of time", "seconds (log scale; shorter is better)", of


def _bars(title: str, unit: str, of: Mapping[str, Mapping[str, float]]) -> str:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    groups = [group for group in of if of[group]]
    series: Sequence[str] = [name for name in _COLORS if any(name in of[group] for group in groups)]
    height = 0.8 / len(series)
    with matplotlib.rc_context(_STYLE):
        figure, axes = pyplot.subplots(figsize=(8, 0.9 + len(groups) * (0.25 + 0.17 * len(series))), layout="constrained")
        for i, name in enumerate(series):
            at = [g + (i - (len(series) - 1) / 2) * height for g, group in enumerate(groups) if name in of[group]]
            values = [of[group][name] for group in groups if name in of[group]]
            bars = axes.barh(at, values, height * 0.92, label=name, color=_COLORS[name])
            axes.bar_label(bars, [number(value) for value in values], padding=3, fontsize=8)
        axes.set_yticks(range(len(groups)), groups)
        axes.invert_yaxis()
        axes.set_xscale("log")
        low, high = axes.get_xlim()
        axes.set_xlim(low, high * 3)
        axes.set_xlabel(unit)
        axes.set_title(title, loc="left", fontweight="bold")
        if len(series) > 1:
            figure.legend(frameon=False, ncols=len(series), loc="outside lower center")
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None}, facecolor="white")
        pyplot.close(figure)
    return out.getvalue()


def _panels(of: Mapping[str, Mapping[str, Mapping[str, Mapping[int, float]]]]) -> str:
    """Tokens a second over batches: a row for each model, a panel for each language and way."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    columns = list(dict.fromkeys(panel for panels in of.values() for panel in panels))
    with matplotlib.rc_context(_STYLE):
        figure, grid = pyplot.subplots(
            len(of), len(columns), figsize=(max(4.0, 2.6 * len(columns)), 0.6 + 2.3 * len(of)), squeeze=False, layout="constrained"
        )
        for row, (model, panels) in zip(grid, of.items(), strict=True):
            for axes, panel in zip(row, columns, strict=True):
                for name, (color, style) in _LINES.items():
                    speeds = sorted(panels.get(panel, {}).get(name, {}).items())
                    if speeds:
                        batch, speed = zip(*speeds, strict=True)
                        axes.plot(batch, speed, color=color, linestyle=style, marker="o", markersize=3, label=name)
                axes.set_xscale("log", base=2)
                axes.set_yscale("log", base=2)
                batches = sorted({batch for speeds in panels.get(panel, {}).values() for batch in speeds})
                axes.set_xticks(batches, [str(batch) for batch in batches])
                axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
                axes.set_title(panel, loc="left", fontsize=9)
            row[0].set_ylabel(f"{Path(model).name}\ntokens a second")
        for axes in grid[-1]:
            axes.set_xlabel("batch")
        shown = {label: line for axes in grid.flat for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
        figure.legend(shown.values(), shown.keys(), frameon=False, ncols=len(shown), loc="outside lower center")
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None}, facecolor="white")
        pyplot.close(figure)
    return out.getvalue()
