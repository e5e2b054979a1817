"""The limits of both languages: one table, that the page prints and that each name leads to."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from psc.support.limits import LIMITS, limit

ROOT = Path(__file__).parents[2]


def test_the_page_has_the_table() -> None:
    """After a change of native/base/limits.hpp `python docs/limits_table.py` writes it."""
    spec = importlib.util.spec_from_file_location("limits_table", ROOT / "docs/limits_table.py")
    assert spec is not None and spec.loader is not None
    table = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(table)
    page = table.PAGE.read_text()
    assert page == table.written(page) and table.table() in page


def test_each_has_a_name_of_its_own() -> None:
    names = [row.name for row in LIMITS]
    assert len(set(names)) == len(names) and all(row.value > 0 and row.of for row in LIMITS)
    with pytest.raises(KeyError):
        limit("lexer_state")
