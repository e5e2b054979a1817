"""The bundled grammar of Kotlin: what it takes and refuses, beside its compiler's parser where that is installed.

The tables are in `kotlin_texts.py`.
"""

from contextlib import closing

import pytest
from bundled_texts import takes
from kotlin_texts import (
    EXPRESSIONS,
    FILES,
    LOOSER,
    MEMBERS,
    NOT_EXPRESSIONS,
    NOT_FILES,
    NOT_MEMBERS,
    NOT_STATEMENTS,
    STATEMENTS,
    STRICTER,
    TYPES,
    expression,
    member,
    statement,
)
from masks_along_texts import check_masks_along
from references import check_reference, reference_or_skip
from vocabularies import byte_tokenizer

import psc

ACCEPTED = [
    *map(expression, EXPRESSIONS),
    *map(statement, STATEMENTS),
    *map(member, MEMBERS),
    *(f"val a: {text} = b" for text in TYPES),
    *FILES,
]
REJECTED = [*map(expression, NOT_EXPRESSIONS), *map(statement, NOT_STATEMENTS), *map(member, NOT_MEMBERS), *NOT_FILES]


def test_accepts() -> None:
    assert [text for text in [*ACCEPTED, *LOOSER] if not takes("kotlin", text)] == []


def test_rejects() -> None:
    assert [text for text in [*REJECTED, *STRICTER] if takes("kotlin", text)] == []


def test_the_compiler_says_the_same() -> None:
    with closing(reference_or_skip("kotlinc", "kotlin")) as reference:
        check_reference(reference, [*ACCEPTED, *STRICTER], [*REJECTED, *LOOSER])


@pytest.mark.parametrize("text", ["/* a */", "// a\n", " ", "\n", "\n/* b */ "])
def test_bounded_layout_begins_with_a_word_and_has_no_comments(text: str) -> None:
    bounded, rest = "kotlin?layout=bounded", "val a = b\n    .c()\n"
    assert takes(bounded, rest) and not takes(bounded, text + rest)
    assert takes("kotlin", text + rest)
    assert not takes(bounded, "val a = b // c\n") and not takes(bounded, "val a = b\n/* c */\n")


def test_masks_along_texts() -> None:
    vocabulary = byte_tokenizer('"', '"""', "${", "$$", "?.", "?:", "\n    .", "\n}", " }", "->", "::", "<T>", "//", "@", "get()")
    compiled = psc.GrammarCompiler(vocabulary, store=False).compile_file("kotlin")
    for text in ACCEPTED[2:5] + ACCEPTED[40::16]:
        check_masks_along(compiled, vocabulary, text.encode())
