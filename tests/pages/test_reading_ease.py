"""The pages are plain: Flesch's reading ease is at least 55 on each (docs/writing.md).

Flesch 1948: 206.835 - 1.015 x words a sentence - 84.6 x syllables a word. He calls 60 to 70 plain English, and 50 to 60 fairly
difficult, where the words of the field (grammar, vocabulary, tokenizer) alone can bring a page.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LEAST = 55
FEWEST_WORDS = 100
"""Of a page that is judged: a single sentence says nothing."""
PAGES = {
    str(page.relative_to(ROOT)): page
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
    if "docs/reference/" not in page.as_posix()  # made from docstrings
}


def sentences(text: str) -> list[str]:
    """The sentences of a page's running text: without code, tables, headings and addresses. An item of a list is one at least."""
    text = re.sub(r"^(```|~~~).*?^\1$|<!--.*?-->|^ {4}[^\n]*$|^[|#:][^\n]*$", "\n", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`\n]*`", "token", text)
    text = re.sub(r"\]\([^)]*\)|\[|\*\*", "", text)
    parts = re.split(r"(?<=[.!?])[)\"']*\s+|\n\s*\n|^ *(?:[-*]|\d+\.)[ ]+", text, flags=re.MULTILINE)
    return [part for part in parts if words(part)]


def words(sentence: str) -> list[str]:
    """Its words, numbers left out."""
    return re.findall(r"[A-Za-z][A-Za-z']*", sentence)


def syllables(word: str) -> int:
    """About how many it has: groups of vowels, without a silent e at the end."""
    word = word.lower().rstrip("'")
    groups = len(re.findall(r"[aeiouy]+", word))
    silent = re.search(r"[^aeiouy](?:e|es|ed)$", word) is not None and not re.search(
        r"(?:[^aeiouy]le|[td]ed|[cgsxz]es|[sc]hes)$", word
    )
    return max(1, groups - silent)


def reading_ease(text: str) -> float:
    """Flesch's reading ease; 100 is easy."""
    found = sentences(text)
    all_words = [word for sentence in found for word in words(sentence)]
    return 206.835 - 1.015 * len(all_words) / len(found) - 84.6 * sum(map(syllables, all_words)) / len(all_words)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_plain(name: str) -> None:
    text = PAGES[name].read_text(encoding="utf-8")
    if sum(len(words(sentence)) for sentence in sentences(text)) < FEWEST_WORDS:
        return
    ease = reading_ease(text)
    assert ease >= LEAST, f"{name}: reading ease {ease:.0f}; docs/writing.md says at least {LEAST}"


@pytest.mark.parametrize(
    ("word", "n"),
    [
        ("a", 1),
        ("mask", 1),
        ("makes", 1),
        ("token", 2),
        ("table", 2),
        ("needed", 2),
        ("stored", 1),
        ("classes", 2),
        ("vocabulary", 5),
    ],
)
def test_syllables(word: str, n: int) -> None:
    assert syllables(word) == n


def test_what_is_judged() -> None:
    text = (
        "# Title\n\nOne two. Three `inline code`!\n\n```sh\nnot this\n```\n\n| no | no |\n\n* An item\n* [link](to/page.md) here\n"
    )
    assert [words(s) for s in sentences(text)] == [["One", "two"], ["Three", "token"], ["An", "item"], ["link", "here"]]
    assert reading_ease("The cat sat on the mat. It was red.") > 100
    assert reading_ease("Deterministic implementations necessitate considerable parameterization of initialization.") < 0
