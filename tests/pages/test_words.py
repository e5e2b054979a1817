"""The pages, docstrings and messages do without the words that docs/writing.md lists."""

import ast
import os
import re
from pathlib import Path

import pytest

import psc

ROOT = Path(__file__).resolve().parents[2]
STYLE = ROOT / "docs/writing.md"
# What programs write, or tests compare with code: the page of benchmarks, the tables of limits and of artifacts.
WRITTEN = {"artifact-format.md", "benchmarks.md", "limits.md"}
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.name not in WRITTEN and page != STYLE),
]
RECORDED = {"bench/masks.py", "bench/plots.py"}
"""Captions that docs/benchmarks.json has."""
PACKAGE = Path(psc.__file__).parent
AVOIDED = [word.strip() for word in STYLE.read_text().rsplit("\n\n", 1)[1].split(",")]


def test_the_style_page_has_the_words() -> None:
    assert len(AVOIDED) > 15 and all(re.fullmatch(r"[a-z ]+", word) for word in AVOIDED)
    assert any(re.search(rf"\b{word}\b", STYLE.read_text()) for word in AVOIDED)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_does_without(page: Path) -> None:
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
    found = re.findall(rf"[^.\n]*\b(?:{'|'.join(AVOIDED)})\b[^.\n]*", prose, re.IGNORECASE)
    assert not found, f"{page.relative_to(ROOT)}: docs/writing.md says how else: {found}"


def test_docstrings_and_messages_do_without() -> None:
    avoided = re.compile(rf"\b(?:{'|'.join(AVOIDED)})\b".replace(" ", r"\s+"), re.IGNORECASE)
    found_files = (Path(folder, name) for folder, _, names in os.walk(PACKAGE, followlinks=True) for name in names)
    files = {file.relative_to(PACKAGE).as_posix(): file for file in found_files if file.suffix == ".py"}
    assert len(files) > 300
    for name in sorted(files.keys() - RECORDED):
        for node in ast.walk(ast.parse(files[name].read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                found = avoided.search(node.value)
                assert not found, f"{name}:{node.lineno}: {found and found[0]!r}: docs/writing.md says how else"
