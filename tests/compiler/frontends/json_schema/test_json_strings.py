"""Spellings of strings in JSON, against Python's reader of JSON."""

import json

import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from psc._core import TextAutomaton

SAMPLES = [
    "",
    "a",
    '"',
    "\\",
    "/",
    "\n",
    "\b",
    "\f",
    "\r",
    "\t",
    "\0",
    "\x1f",
    " ",
    "~",
    "\x7f",
    "\x80",
    "\u00e9",
    "\ud7ff",
    "\ue000",
]
SAMPLES += ["\uffff", "\U00010000", "\U0001f600", "\U0010ffff", "a/b\n\u20ac\U0001f600"]


def spellings(c: str) -> list[str]:
    """All of one character."""
    units = [c] if c < "\U00010000" else [chr(0xD7C0 + (ord(c) >> 10)), chr(0xDC00 + (ord(c) & 0x3FF))]
    escaped = "".join(f"\\u{ord(u):04x}" for u in units)
    digits = escaped.replace("\\u", "").upper()
    both = [escaped, "".join(f"\\u{digits[i : i + 4]}" for i in range(0, len(digits), 4))]
    short = {'"': ['\\"'], "\\": ["\\\\"], "/": ["\\/"], "\b": ["\\b"], "\f": ["\\f"], "\n": ["\\n"], "\r": ["\\r"], "\t": ["\\t"]}
    return both + short.get(c, []) + ([c] if c >= " " and c not in '"\\' else [])


def is_usual(spelling: str) -> bool:
    """Whether a character is not spelled \\uXXXX without need."""
    return not (spelling.startswith("\\u") and spelling[2:4] == "00" and 0x20 <= int(spelling[2:6], 16) < 0x7F)


@pytest.mark.parametrize("text", SAMPLES)
def test_spellings_of_one_text(text: str) -> None:
    value = TextAutomaton.texts([text])
    usual, all_of_them = value.spelled_as_json(), value.spelled_with_all_escapes()
    spelled = [""]
    for c in text:
        spelled = [before + s for before in spelled for s in spellings(c)]
    for s in spelled:
        assert json.loads(f'"{s}"') == text
        assert all_of_them.matches(s)
        for wrong in (s + "a", s[:-1], s.upper() if s.upper() != s and "\\" in s else s + "\\"):
            assert all_of_them.matches(wrong) == (wrong in spelled), wrong
    for c in text:
        for s in spellings(c):
            assert TextAutomaton.texts([c]).spelled_as_json().matches(s) == is_usual(s)
    assert usual.difference(all_of_them).is_empty()
    assert usual.matches(json.dumps(text)[1:-1])
    assert usual.matches(json.dumps(text, ensure_ascii=False)[1:-1])


VALUES = [
    ".*a",
    "^[^]*$",
    "^[\\u0000-\\u0040]{0,3}$",
    "[\\u{10000}-\\u{10437}]",
    "^[^\\u20ac]{2}$",
    "^\\P{L}*$",
    "^[\\uD7F0-\\uE00F]$",
]
pieces = st.one_of(
    st.characters(),
    st.sampled_from(
        ['\\"', "\\\\", "\\/", "\\b", "\\u", "\\n", "\\x", "\\u00e9", "\\u0061", "\\uD83D", "\\uDE00", "\\ud801\\udc01", '"']
    ),
    st.integers(0, 0xFFFF).map("\\u{:04x}".format),
)


@examples(150)
@given(st.sampled_from(VALUES), st.lists(pieces, max_size=4).map("".join))
def test_what_python_reads_as_one_of_the_texts(pattern: str, spelling: str) -> None:
    value = TextAutomaton.pattern(pattern)
    try:
        text = json.loads(f'"{spelling}"')
    except json.JSONDecodeError:
        fits = False
    else:
        fits = value.matches(text)  # no lone surrogate does
    assert value.spelled_with_all_escapes().matches(spelling) == fits
    if "\\u0" not in spelling:
        assert value.spelled_as_json().matches(spelling) == fits


def test_any_string_takes_few_states() -> None:
    assert TextAutomaton.everything().spelled_with_all_escapes().n_states == 13
    assert TextAutomaton.everything().spelled_as_json().n_states < 20
    names = TextAutomaton.texts(["name", "number", "id"])
    assert names.spelled_as_json() == names
    assert TextAutomaton.empty().spelled_as_json().is_empty()


@examples(30)
@given(st.sampled_from(VALUES), st.sampled_from(VALUES))
def test_sets_of_spellings_are_disjoint_where_the_texts_are(a: str, b: str) -> None:
    x, y = TextAutomaton.pattern(a), TextAutomaton.pattern(b)
    assert x.intersection(y).spelled_as_json() == x.spelled_as_json().intersection(y.spelled_as_json())
    assert x.difference(y).spelled_with_all_escapes() == x.spelled_with_all_escapes().difference(y.spelled_with_all_escapes())
