"""Arrays of numbers, words and strings that must differ: masks against an oracle, and which numbers are equal."""

from __future__ import annotations

import json
import random
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import psc
from tests.support.json_schema.scalar_oracle import Scalars, Value
from tests.support.json_schema.unique_oracle import Array, Either, Form, Many, Members
from tests.support.json_schema.unique_walk import check_along_a_walk


def _is_integer(value: Value) -> bool:
    return value[0] == "number" and value[1][1] >= 0


def _steps(value: Value) -> bool:
    """A multiple of 0.5 from 0 to 1.5."""
    return value[0] == "number" and value[1] in {(0, 0), (5, -1), (1, 0), (15, -1)}


INTEGERS = Scalars({"type": "integer"}, _is_integer, None)
NUMBERS = Scalars({"type": "number"}, lambda v: v[0] == "number", None, has_powers=True)
STEPS = Scalars({"type": "number", "multipleOf": 0.5, "minimum": 0, "maximum": 1.5}, _steps, 4)
STEPS_OR_WORDS = Scalars(
    {"type": ["number", "null", "boolean"], "multipleOf": 0.5, "minimum": 0, "maximum": 1.5},
    lambda v: v[0] == "word" or _steps(v),
    7,
)
DIGITS = Scalars({"type": "integer"}, _is_integer, 19, max_digits=1)
TENTHS = Scalars(
    {"type": "number", "multipleOf": 0.1, "exclusiveMinimum": -1, "exclusiveMaximum": 1},
    lambda v: v[0] == "number" and ((v[1][1] == -1 and abs(v[1][0]) < 10) or v[1][0] == 0),
    19,
    max_digits=2,
)
STRINGS = Scalars({"type": ["string", "integer", "null"]}, lambda v: v[0] == "string" or v[1] == b"null" or _is_integer(v), None)
LETTERS = Scalars(
    {"type": ["string", "boolean"], "maxLength": 1},
    lambda v: (v[0] == "word" and v[1] != b"null") or (v[0] == "string" and len(v[1]) <= 1),
    None,
)
SCALARS = (INTEGERS, NUMBERS, STEPS, STEPS_OR_WORDS, DIGITS, TENTHS, STRINGS, LETTERS)

PIECES = ["1,", "1,1", "0,0", "0.5", ".5", ".0", "00", "10", "1,10", ",1", ", 1", ",0", ",-", "-0", "-0.0", "0,-0", "1]"]
PIECES += ["1.0", "1.0,1", "e0", "e1", "1e0", "E-1", "5e-1", "1.50", "15e-1", ",1.5", "0.5,0.5", "[1,1", "[0", "[0,"]
PIECES += ["],[0", "],[0,0", "null", "nul", "l,null", "true", "true,", "true,true", "e,t", ",f", "alse,", '"a"']
PIECES += ['"a","a"', '","', ',"', '"1"', '"1",1', '1,"1"', 'a",1', '"",""', '"",', '{"x":', ',"y":[1', '],"y":[1,1']
PIECES += ["]}", " , ", " ]", "0.00", "000", "0e", "99", "9,9", "0.1,0.10", "\\u0061", '\\u0061"', "-1,-1", "-1,1"]


@cache
def _vocabulary(seed: int) -> psc.TokenizerInfo:
    rng = random.Random(seed)
    tokens = {bytes([i]) for i in range(128)} | {piece.encode() for piece in PIECES}
    for _ in range(60):
        tokens.add("".join(rng.choice(PIECES) for _ in range(rng.randint(2, 3))).encode())
    return psc.TokenizerInfo([*sorted(tokens), b"</s>"], stop_token_ids=[len(tokens)])


@cache
def _compiler(seed: int) -> psc.GrammarCompiler:
    return psc.GrammarCompiler(_vocabulary(seed), store=False, registry=False)


def _arrays(items: Scalars) -> st.SearchStrategy[Array]:
    def array(least: int, more: int | None) -> Array:
        return Array(items, least, None if more is None else least + more)

    return st.builds(array, st.sampled_from([0, 0, 1, 2, 3]), st.sampled_from([None, None, 0, 1, 3]))


def _forms(items: Scalars) -> st.SearchStrategy[Form]:
    one, other = _arrays(items), _arrays(items if items.max_digits else INTEGERS)
    return st.one_of(
        one,
        one,
        st.builds(lambda a, b: Members((("x", a), ("y", b))), one, other),
        st.builds(Many, one),
        st.builds(lambda a, b: Either((a, b)), one, other),
    )


@given(data=st.data(), items=st.sampled_from(SCALARS), seed=st.integers(0, 2**32), vocabulary=st.integers(0, 3))
def test_masks_are_those_of_the_oracle(data: st.DataObject, items: Scalars, seed: int, vocabulary: int) -> None:
    form = data.draw(_forms(items))
    compiled = _compiler(vocabulary).compile_json_schema(json.dumps(form.schema), strict_mode=False, max_digits=items.max_digits)
    check_along_a_walk(form, compiled, seed, b'01,]".-', steps=12)


def _accepts(items: dict[str, Any], text: str) -> bool:
    schema = {"type": "array", "items": items, "uniqueItems": True}
    matcher = psc.GrammarMatcher(_compiler(0).compile_json_schema(json.dumps(schema)))
    return matcher.accept_string(text) and matcher.is_completed()


@pytest.mark.parametrize(
    ("one", "equal", "other"),
    [
        ("1", "1.0", "10"),
        ("0", "-0.00", "0.001"),
        ("0", "0e7", "1e-7"),
        ("1000", "1e3", "1001"),
        ("0.5", "5e-1", "-0.5"),
        ("120.0", "1.2E+2", "12e2"),
        ("0.0015", "15e-4", "15e-3"),
        ("1e999999999999999999999", "10e999999999999999999998", "10e999999999999999999999"),
        ("1e-1000000000000000000000", "0.1e-999999999999999999999", "0.1e-1000000000000000000000"),
        ("1e0000000000000000000000003", "1000", "1e30"),
    ],
)
def test_numbers_are_equal_however_they_are_written(one: str, equal: str, other: str) -> None:
    for a, b in ((one, equal), (equal, one)):
        assert not _accepts({"type": "number"}, f"[{a}, {b}]")
        assert _accepts({"type": "number"}, f"[{a}, {other}]") and _accepts({"type": "number"}, f"[{other},{b}]")


def test_a_number_is_no_string_and_no_word() -> None:
    items = {"type": ["string", "integer", "null", "boolean"]}
    assert _accepts(items, '[1, "1", null, "null", true, "true", false]')
    assert not _accepts(items, '["1", 1, "\\u0031"]') and not _accepts(items, "[null, 1, null]")


def test_the_last_value_is_forced() -> None:
    schema = {"type": "array", "items": STEPS.schema, "uniqueItems": True}
    matcher = psc.GrammarMatcher(_compiler(0).compile_json_schema(json.dumps(schema)))
    assert matcher.accept_string("[1, 0.5, 0.0, ")
    assert [t for t in b"0123456789-" if matcher.fork().accept_string(chr(t))] == [ord("1")]
    assert matcher.accept_string("1")
    assert [t for t in b'0123456789.,]e-" ' if matcher.fork().accept_string(chr(t))] == [ord(".")]
    assert matcher.accept_string(".50") and not matcher.fork().accept_string(",") and matcher.accept_string("]")
