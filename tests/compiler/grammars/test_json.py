"""JSON documents in Lark's language, which other tests compare with, against tables from RFC 8259 and against Python's own parser.

The idea: `json.loads` is strict but for the names NaN and Infinity, so with those refused it is an oracle, and random
documents, whole and damaged, have to fare alike with both.
"""

import json
from pathlib import Path
from typing import NoReturn

from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from lark import Lark
from lark_verdicts import lark_accepts

GRAMMAR = Path(__file__).parent / "json.lark"
PARSER = Lark.open(str(GRAMMAR), parser="lalr", lexer="basic", start="start")

ACCEPTED = [
    "null",
    "true",
    "false",
    "0",
    "-0",
    "10.01e+00",
    "1E5",
    "-1.5e-10",
    '""',
    '"é 名 😀 \x7f"',
    r'"\" \\ \/ \b \f \n \r \t é"',
    r'"\ud83d\ude00"',
    r'"\ud83d"',
    "[]",
    "[[], {}]",
    "{}",
    '{"": 0, "": [null, {"a": "b"}]}',
    " \t\r\n[ 1 ,\n2 ] \n",
]
REJECTED = [
    "",
    " ",
    "nul",
    "True",
    "NaN",
    "-Infinity",
    "truefalse",
    "1 2",
    "01",
    "-01",
    "+1",
    "1.",
    ".5",
    "-",
    "1e",
    "1e+",
    "0x1",
    "'a'",
    '"a',
    '"a\nb"',
    '"a\tb"',
    '"\x00"',
    r'"\x41"',
    r'"\u12g4"',
    r'"\u123"',
    '"a" "b"',
    "[1,]",
    "[,1]",
    "[1 2]",
    "[",
    "]",
    "[1}",
    "{1: 2}",
    "{a: 2}",
    '{"a"}',
    '{"a": }',
    '{"a": 1,}',
    '{"a" 1}',
    "[1] // comment",
    "\ufeff1",
    "1\xa0",
    "1\f",
]


def accepts(text: str) -> bool:
    """Whether the grammar, under Lark's basic lexer, accepts the text."""
    return lark_accepts(PARSER, text)


def python_accepts(text: str) -> bool:
    """Whether `json.loads` does, once its extensions NaN and Infinity are refused."""

    def refuse(name: str) -> NoReturn:
        raise ValueError(name)

    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        return False
    return True


def test_accepts() -> None:
    assert [text for text in ACCEPTED if not (python_accepts(text) and accepts(text))] == []


def test_rejects() -> None:
    assert [text for text in REJECTED if python_accepts(text) or accepts(text)] == []


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A JSON text, sometimes damaged: a few characters removed, replaced or put in."""
    indent = draw(st.sampled_from([None, 0, "\t", " "]))
    text = json.dumps(draw(VALUES), ensure_ascii=draw(st.booleans()), indent=indent)
    for _ in range(draw(st.integers(0, 2))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 2)))
        text = text[:start] + draw(st.text('"\\/{}[],:.-+eEu019af\n\x00 tné', max_size=2)) + text[end:]
    return text


@examples(150)
@given(documents())
def test_agrees_with_python_on_documents(text: str) -> None:
    assert accepts(text) == python_accepts(text)


@examples(150)
@given(st.text('"\\{}[],:.-+eEu01 \n', max_size=12))
def test_agrees_with_python_on_noise(text: str) -> None:
    assert accepts(text) == python_accepts(text)
