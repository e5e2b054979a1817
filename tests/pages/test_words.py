"""The pages do without the words that docs/writing.md lists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STYLE = ROOT / "docs/writing.md"
# What programs write, or tests compare with code: the page of benchmarks, the tables of limits and of artifacts.
WRITTEN = {"artifact-format.md", "benchmarks.md", "limits.md"}
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.name not in WRITTEN and page != STYLE),
]
AVOIDED = [word.strip() for word in STYLE.read_text().rsplit("\n\n", 1)[1].split(",")]


def test_the_style_page_has_the_words() -> None:
    assert len(AVOIDED) > 15 and all(re.fullmatch(r"[a-z ]+", word) for word in AVOIDED)
    assert any(re.search(rf"\b{word}\b", STYLE.read_text()) for word in AVOIDED)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_does_without(page: Path) -> None:
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
    found = re.findall(rf"[^.\n]*\b(?:{'|'.join(AVOIDED)})\b[^.\n]*", prose, re.IGNORECASE)
    assert not found, f"{page.relative_to(ROOT)}: docs/writing.md says how else: {found}"
