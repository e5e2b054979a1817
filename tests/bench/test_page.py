"""The page that `psc bench all` makes of its figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from psc.bench.pages import write_pages
from psc.bench.reports import Report, Table, read_reports
from psc.errors import BenchError

_ABOUT = {
    "cores": 2,
    "machine": "x86_64",
    "cpu": "a",
    "python": "3.11",
    "date": "2026-11-23",
    "load_average": 0,
    "tokenizer": "t",
    "quick": True,
    "engines": {"psc": "1", "llguidance": None},
}


def report(name: str = "compile", cell: str = "1") -> Report:
    head = ["grammar", "engine", "masks", "mask mean"]
    return Report(name, "A question?", "How.", [Table("Caption:", head, [["json", "psc fill", "9", cell]])], {}, ["Out."], _ABOUT)


def test_a_report_says_what_was_not_there() -> None:
    assert "llguidance is not installed" in report().markdown()


def test_what_is_measured_again_takes_the_place_of_what_was(tmp_path: Path) -> None:
    write_pages([report("masks", "1.0"), report("compile", "2.0")], tmp_path / "docs")
    write_pages([report("masks", "3.0")], tmp_path / "docs")
    found = {r.name: r.tables[0].rows[0][-1] for r in read_reports(tmp_path / "docs/benchmarks.json")}
    assert found == {"masks": "3.0", "compile": "2.0"}
    text = (tmp_path / "docs/benchmarks.md").read_text()
    assert "3.0" in text and "2.0" in text and "1.0" not in text


@pytest.mark.parametrize("text", ["", "[]", '{"reports": [{"name": "masks"}]}', '{"reports": 1}'])
def test_a_damaged_file_of_figures_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "benchmarks.json").write_text(text)
    with pytest.raises(BenchError, match=r"benchmarks\.json"):
        write_pages([report()], tmp_path)
