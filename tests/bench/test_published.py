"""docs/benchmarks.md and the README's table are what `psc bench all --write docs` made; nobody has written in them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from psc.bench.pages import page, with_table
from psc.bench.reports import read_reports

ROOT = Path(__file__).parents[2]


def test_the_page_is_made_of_its_figures() -> None:
    reports = read_reports(ROOT / "docs/benchmarks.json")
    pictures = {p.stem.removeprefix("bench-") for p in (ROOT / "docs/pictures").glob("bench-*.svg")}
    assert (ROOT / "docs/benchmarks.md").read_text() == page(reports, pictures)


def test_the_readmes_table_is_the_pages() -> None:
    masks = next(r for r in read_reports(ROOT / "docs/benchmarks.json") if r.name == "masks")
    readme = (ROOT / "README.md").read_text()
    assert with_table(readme, masks) == readme
    assert with_table(readme, replace(masks, tables=[replace(masks.tables[0], rows=masks.tables[0].rows[:2])])) != readme
