"""The bundled Java grammar, as a table of what it accepts and what it rejects.

The idea: each row is one construct of the JLS, or one of the places where LALR(1) is tight (casts, lambdas, type
arguments, shifts), written where it may stand: as an expression, a statement, a class member or a whole file.  Lark's
basic lexer judges.  A row that is Java is accepted by javac 25 as well; the rows under "stricter" and "looser"
are the exceptions that the grammar's header lists.
"""

import random
import re
from pathlib import Path

import pytest
from java_texts import (
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
    expression,
    member,
    statement,
)
from lark import Lark
from lark_verdicts import lark_accepts

GRAMMAR = Path(__file__).parents[3] / "compiler" / "grammars" / "java.lark"


@pytest.fixture(scope="module")
def java() -> Lark:
    return Lark.open(str(GRAMMAR), parser="lalr", lexer="basic", start="start")


def test_accepts_expression(java: Lark) -> None:
    assert [text for text in EXPRESSIONS if not lark_accepts(java, expression(text))] == []


def test_accepts_statements(java: Lark) -> None:
    assert [text for text in STATEMENTS if not lark_accepts(java, statement(text + "\n"))] == []


def test_accepts_members(java: Lark) -> None:
    assert [text for text in MEMBERS if not lark_accepts(java, member(text))] == []


def test_accepts_file(java: Lark) -> None:
    assert [text for text in FILES if not lark_accepts(java, text)] == []


def test_rejects_expression(java: Lark) -> None:
    assert [text for text in NOT_EXPRESSIONS if lark_accepts(java, expression(text))] == []


def test_rejects_statement(java: Lark) -> None:
    assert [text for text in NOT_STATEMENTS if lark_accepts(java, statement(text))] == []


def test_rejects_member(java: Lark) -> None:
    assert [text for text in NOT_MEMBERS if lark_accepts(java, member(text))] == []


def test_rejects_file(java: Lark) -> None:
    assert [text for text in NOT_FILES + STRICTER if lark_accepts(java, text)] == []


def test_accepts_what_only_more_than_a_grammar_sees(java: Lark) -> None:
    assert [text for text in LOOSER if not lark_accepts(java, text)] == []


def test_shift_may_be_spaced(java: Lark) -> None:
    """`>>` is two tokens, so this javac error passes; the header of the grammar says so."""
    assert lark_accepts(java, expression("a > > b"))


def test_keywords_are_identifiers_in_full(java: Lark) -> None:
    """Lark matches an identifier first and looks keywords up; maximal munch agrees only if no keyword stops short."""
    patterns = {terminal.name: terminal.pattern for terminal in java.terminals}
    identifier = re.compile(patterns["IDENTIFIER"].to_regexp())
    words = [p.value for p in patterns.values() if p.type == "str" and p.value.isalpha()]
    assert "class" in words
    assert all(identifier.fullmatch(word) for word in words)


@pytest.mark.parametrize(
    ("terminal", "alphabet"),
    [
        ("NUMBER", ["0", "1", "7", "9", "x", "b", "a", "f", "L", "e", "p", "_", ".", "-"]),
        ("STRING", ['"', '"', '"""', "\n", "\\", "u00e9", "a", " "]),
        ("INFIX", list("|&=!<>/%^")),
        ("COMPOUND_ASSIGNMENT", list("<<>>>+=")),
    ],
)
def test_first_match_is_longest(java: Lark, terminal: str, alphabet: list[str]) -> None:
    """Python's alternation takes the first alternative, psc the longest: on these terminals there is no difference."""
    pattern = next(t.pattern for t in java.terminals if t.name == terminal)
    compiled = re.compile(pattern.to_regexp())
    rng = random.Random(17)
    matched = 0
    for _ in range(4000):
        text = "".join(rng.choices(alphabet, k=rng.randrange(1, 9)))
        longest = max((n for n in range(len(text) + 1) if compiled.fullmatch(text, 0, n)), default=None)
        found = compiled.match(text)
        assert (found.end() if found else None) == longest
        matched += longest is not None
    assert matched > 100
