"""Mutants: their tokens differ from the text's in the one way that they say."""

import random
import re

import pytest

from psc.corpus.mutants import Tokens

TEXT = "int a = 1.5e-3; // a comment\n/* b */ f(a, \"x y\", 'c') >>= a.b;\n"


def tokens(text: str) -> list[str]:
    """The tokens of a text without its comments."""
    return [text[b:e] for b, e in Tokens("//").spans(text)]


def test_tokens_are_strings_numbers_words_and_operators() -> None:
    expected = ["int", "a", "=", "1.5e-3", ";", "f", "(", "a", ",", '"x y"', ",", "'c'", ")", ">>=", "a", ".", "b", ";"]
    assert tokens(TEXT) == expected


def test_tokens_around_a_place() -> None:
    assert Tokens("//").around(TEXT, TEXT.index("f(")) == (";", "f")
    assert Tokens("//").around(TEXT, len(TEXT)) == (";", "")


@pytest.mark.parametrize("seed", range(40))
def test_a_mutant_is_what_it_says(seed: int) -> None:
    before = tokens(TEXT)
    for mutant in Tokens("//").mutants(TEXT, 5, random.Random(seed)):
        after = tokens(mutant.text)
        at = sum(1 for b, _ in Tokens("//").spans(TEXT) if b < mutant.offset)
        kind, *what = mutant.change.split(" ", 1)
        if kind == "drop":
            expected = before[:at] + before[at + 1 :]
        elif kind == "double":
            expected = [*before[:at], before[at], *before[at:]]
        elif kind == "insert":
            expected = before[:at] + what + before[at:]
        elif kind == "swap":
            expected = [*before[:at], before[at + 1], before[at], *before[at + 2 :]]
        else:
            new, old = mutant.change.split(" for ")
            assert before[at] == old
            expected = [*before[:at], new, *before[at + 1 :]]
        assert after == expected, mutant.change


def test_mutants_are_repeatable_and_never_the_text() -> None:
    first, again = ([m.text for m in Tokens("//").mutants(TEXT, 50, random.Random(3))] for _ in range(2))
    assert first == again and len(first) == 50 and TEXT not in first


def test_comments_are_left_alone() -> None:
    for mutant in Tokens("//").mutants(TEXT, 100, random.Random(1)):
        assert re.search(r"// a comment\n/\* b \*/", mutant.text)


@pytest.mark.parametrize("text", ["", "  \n", "// only a comment"])
def test_a_text_without_tokens_has_no_mutants(text: str) -> None:
    assert list(Tokens("//").mutants(text, 5, random.Random(0))) == []
