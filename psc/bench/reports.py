"""The results of a benchmark: figures for machines, tables for people, and a list of subjects that were missing.

A report is made of one run: its ratios are between figures that were taken in turns on the same machine. Written as JSON it is
whole, so that a page can be made of it later.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from psc._version import __version__
from psc.bench.engines import installed_peers
from psc.bench.measure import in_words, machine, number, table
from psc.errors import BenchError


@dataclass(frozen=True)
class Settings:
    """The settings of all benchmarks."""

    tokenizer: str = "qwen3"
    """As `psc.load_tokenizer` takes it."""
    peers: tuple[str, ...] = ("llguidance", "xgrammar")
    quick: bool = False
    """Few texts and repetitions: minutes instead of an hour."""
    seed: int = 0
    corpus: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    """Grammar -> files and folders to take its texts from."""
    schemas: Path | None = None
    """A file of JSON schemas with instances."""
    python: Path | None = None
    """The interpreter that has vLLM; None is the one that runs this."""
    announce: Callable[[str], None] = lambda text: None
    """Called with the next subject of measurement."""


@dataclass(frozen=True)
class Table:
    """A caption, a head, and rows of cells, all as they are shown."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Report:
    """The results of one benchmark."""

    name: str
    question: str
    how: str
    """The method, in a few sentences."""
    tables: Sequence[Table]
    results: Any
    """All figures, as JSON can say them."""
    notes: Sequence[str] = ()
    """Refusals and time-outs, a line each."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """The machine, the tokenizer, and the versions of psc and its peers; None for one that is not installed."""

    def markdown(self, level: int = 1) -> str:
        """The report as a page, or as a part of one."""
        parts = ["#" * level + " " + self.question, self.how, self.conditions()]
        for each in self.tables:
            parts += [each.caption, table(each.head, each.rows)]
        if self.notes:
            parts.append("\n".join(f"* {note}" for note in self.notes))
        return "\n\n".join(parts) + "\n"

    def conditions(self) -> str:
        """The machine and the engines, in a sentence."""
        versions = [f"{name} {version or 'is not installed'}" for name, version in self.about["engines"].items()]
        kind = "; a quick run" if self.about["quick"] else ""
        return f"{in_words(dict(self.about))}; {self.about['tokenizer']}; {', '.join(versions)}{kind}."

    def document(self) -> dict[str, Any]:
        """As JSON can say it; `from_document` reads it."""
        return asdict(self)

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Report:
        """Reads the result of `document`. Raises BenchError where it is none."""
        try:
            fields = {**document, "tables": [Table(**each) for each in document["tables"]]}
            return cls(**fields)
        except (KeyError, TypeError) as error:
            raise BenchError(f"this is not the report of a benchmark: {error}") from error


def about(settings: Settings, tokenizer: str) -> dict[str, Any]:
    """The conditions of a run."""
    engines = {"psc": __version__, **installed_peers(settings.peers)}
    return {**machine(), "tokenizer": tokenizer, "quick": settings.quick, "engines": engines}


def ratio(theirs: float | None, ours: float | None) -> str:
    """How many times as long theirs takes, for a table."""
    if not theirs or not ours or theirs != theirs:
        return "-"
    factor = theirs / ours
    return f"{factor:,.0f}" if factor >= 10 else number(factor, 2)


def write_reports(reports: Sequence[Report], path: Path) -> None:
    """Several reports as one JSON file."""
    document = {"reports": [report.document() for report in reports]}
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_reports(path: Path) -> list[Report]:
    """The reports that `write_reports` wrote. Raises BenchError where it is none."""
    try:
        return [Report.from_document(each) for each in json.loads(path.read_text(encoding="utf-8"))["reports"]]
    except (OSError, ValueError, KeyError, TypeError, BenchError) as error:
        raise BenchError(f"{path}: {error}") from error
