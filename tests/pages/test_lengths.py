"""A page has at most 1,500 words, and a heading at least every 300 words of running text (docs/writing.md)."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    str(page.relative_to(ROOT)): page
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
}
WORDS, WORDS_BETWEEN_HEADINGS = 1500, 300
# Longer pages and their counts: made from code or figures, or not yet split. A page that shrinks takes its number along.
LONGER = {
    "docs/artifact-format.md": 2968,
    "docs/benchmarks.md": 1996,
    "docs/limits.md": 1697,
}
FEWER_HEADINGS = {
    "CONTRIBUTING.md": 355,
}


def lengths(text: str) -> tuple[int, int]:
    """The words of a page without code blocks, and the most between two headings without tables; inline code is one word."""
    text = re.sub(r"^```.*?^```$|<!--.*?-->|^ {4}[^\n]*$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`\n]*`", "code", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    sections = [0]
    for line in text.splitlines():
        if line.startswith("#"):
            sections.append(0)
        elif not line.startswith("|"):
            sections[-1] += _words(line)
    return _words(text), max(sections)


def _words(text: str) -> int:
    return sum(any(c.isalnum() for c in word) for word in text.split())


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_short(name: str) -> None:
    words, between_headings = lengths(PAGES[name].read_text(encoding="utf-8"))
    for what, found, most, exceptions in (
        ("words", words, WORDS, LONGER),
        ("words without a heading", between_headings, WORDS_BETWEEN_HEADINGS, FEWER_HEADINGS),
    ):
        assert found <= exceptions.get(name, most), f"{name}: {found} {what}; docs/writing.md says at most {most}"
        assert name not in exceptions or found > most, f"{name} is no exception any more: take it out of the list"


def test_exceptions_are_pages() -> None:
    assert {*LONGER, *FEWER_HEADINGS} <= set(PAGES)


def test_what_counts() -> None:
    text = "# A page\n\nTwo `inline code` [words](to/somewhere.md) here.\n\n"
    text += "```sh\nnot these\n```\n\n| a | b |\n\n## Next\n\none | two\n"
    assert lengths(text) == (2 + 4 + 2 + 1 + 2, 4)
    assert lengths("one\n" * 5 + "# h\n" + "two words\n" * 4) == (14, 8)
