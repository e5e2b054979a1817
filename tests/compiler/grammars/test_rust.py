"""The bundled Rust grammar, as a table of what it accepts and what it rejects.

Each row is one construct of the Rust reference, or one of the places where LALR(1) is tight, written where it may stand: as an
expression, a statement, an item or a whole file. Lark's basic lexer judges, and rustc's own parser where it is installed; the rows
under "stricter" and "looser" are the exceptions that the grammar's header lists.
"""

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from bundled_texts import takes
from lark import Lark
from lark_verdicts import lark_accepts, lark_warnings
from references import check_reference, reference_or_skip
from rust_texts import (
    EXPRESSIONS,
    FILES,
    ITEMS,
    LOOSER,
    NOT_EXPRESSIONS,
    NOT_ITEMS,
    NOT_STATEMENTS,
    STATEMENTS,
    STRICTER,
    expression,
    statement,
)

GRAMMAR = Path(__file__).parents[3] / "compiler" / "grammars" / "rust.lark"

ACCEPTED = [*map(expression, EXPRESSIONS), *map(statement, STATEMENTS), *ITEMS, *FILES]
REJECTED = [*map(expression, NOT_EXPRESSIONS), *map(statement, NOT_STATEMENTS), *NOT_ITEMS]


@pytest.fixture(scope="module")
def rust() -> Lark:
    return Lark.open(str(GRAMMAR), parser="lalr", lexer="basic", start="start")


def test_accepts(rust: Lark) -> None:
    assert [text for text in [*ACCEPTED, *LOOSER] if not (lark_accepts(rust, text) and takes("rust", text))] == []


def test_rejects(rust: Lark) -> None:
    assert [text for text in [*REJECTED, *STRICTER] if lark_accepts(rust, text) or takes("rust", text)] == []


def test_rustc_says_the_same() -> None:
    check_reference(reference_or_skip("rustc", "rust"), [*ACCEPTED, *STRICTER], [*REJECTED, *LOOSER])


def test_conflicts_are_those_that_the_header_explains() -> None:
    with lark_warnings() as messages:
        Lark.open(str(GRAMMAR), parser="lalr", lexer="basic", start="start", debug=True)
    found = {m[1] for message in messages if (m := re.search(r"\* <(\w+) :", message))}
    assert found == {"_binding_mode", "_ends", "if", "impl_front", "literal", "name", "segment", "type_path"}


@pytest.mark.parametrize("text", ["/* a */", "// a\n", "#!/bin/sh\n", "\ufeff", " ", "\n"])
def test_bounded_layout_begins_with_a_word_and_has_no_comments(text: str) -> None:
    bounded = "rust?layout=bounded"
    assert takes(bounded, "fn main() { a /b }") and not takes(bounded, f"{text}fn main() {{ a /b }}")
    assert takes("rust", f"{text}fn main() {{ a /b }}")
    assert not takes(bounded, 'fn main() { print!(f"a") }')


@pytest.mark.parametrize(
    ("begin", "body", "end"),
    [("/*", ["/", "*", "a", "\n"], "*/"), *(("r" + n * "#" + '"', ['"', "#", "a"], '"' + n * "#") for n in range(1, 7))],
)
def test_what_ends_a_comment_and_a_raw_string(rust: Lark, begin: str, body: list[str], end: str) -> None:
    """Beside readers of a few lines: depths are counted, and a quote with enough signs behind it ends a string."""
    name = "BLOCK_COMMENT" if begin == "/*" else "STRING"
    pattern = re.compile(next(t.pattern for t in rust.terminals if t.name == name).to_regexp())
    ends: Callable[[str], bool] = nested if begin == "/*" else lambda text: text.find(end, len(begin)) == len(text) - len(end)
    rng, right = random.Random(3), 0
    for _ in range(3000):
        text = begin + "".join(rng.choices(body, k=rng.randrange(9))) + end
        assert bool(pattern.fullmatch(text)) == ends(text), text
        right += ends(text)
    assert right > 300


def nested(text: str) -> bool:
    """Whether a text is one comment, with comments within it."""
    depth = at = 0
    while at < len(text):
        pair = text[at : at + 2]
        depth += (pair == "/*") - (pair == "*/")
        at += 2 if pair in ("/*", "*/") else 1
        if not depth:
            return at == len(text)
        if depth > 5:
            return False
    return False


@pytest.mark.parametrize(
    ("terminals", "alphabet"),
    [
        (("FLOAT", "INTEGER", "PAIR", "DIGITS", "INDEX"), [*"01_.eE-xbof", "f32", "u8", "f64", "i128"]),
        (("CHARACTER", "LIFETIME"), [*"''b\\nxua1", "{", "}"]),
    ],
)
def test_first_match_is_longest(rust: Lark, terminals: tuple[str, ...], alphabet: list[str]) -> None:
    """Lark takes the first terminal that matches, in the order of priorities; it is the one with the longest lexeme."""
    patterns = {t.name: re.compile(t.pattern.to_regexp()) for t in rust.terminals}
    rng, matched = random.Random(17), 0
    for _ in range(6000):
        text = "".join(rng.choices(alphabet, k=rng.randrange(1, 9)))
        longest = max((n for n in range(len(text) + 1) for t in terminals if patterns[t].fullmatch(text, 0, n)), default=None)
        found = next((m.end() for t in terminals if (m := patterns[t].match(text))), None)
        assert found == longest, text
        matched += longest is not None
    assert matched > 400
