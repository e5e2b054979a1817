"""`max_digits` and `plain_integers`: fewer spellings of the same numbers. The oracle is arithmetic on the spelled number."""

from __future__ import annotations

import json
import random
import re
from decimal import Decimal
from functools import cache
from typing import Any

import pytest
from vocabularies import byte_tokenizer

import psc

COMPILER = psc.GrammarCompiler(byte_tokenizer(), store=False, registry=False)


@cache
def compiled(schema: str, max_digits: int | None = None, plain: bool = False) -> psc.CompiledGrammar:
    return COMPILER.compile_json_schema(schema, max_digits=max_digits, plain_integers=plain)


def takes(schema: Any, text: str, **options: Any) -> bool:
    matcher = psc.GrammarMatcher(compiled(json.dumps(schema), **options))
    return matcher.accept_string(text) and matcher.is_completed()


THREE = {"max_digits": 3, "plain": True}
CASES: list[tuple[Any, list[str], list[str]]] = [
    ({"type": "integer"}, ["0", "9", "999", "-999"], ["1000", "-1000", "1.0", "-0", "0.0", "1e2", "01"]),
    ({"type": "number"}, ["0", "999", "-999.123", "1.0", "-0", "1e123", "1.000E+001"], ["1000", "1.0000", "1e1000", "1."]),
    ({"const": 0}, ["0"], ["-0", "0.0"]),
    ({"const": -1.0}, ["-1"], ["-1.0", "1"]),
    ({"const": 1e30}, ["1" + "0" * 30], ["1" + "0" * 30 + ".0", "1e30", "1"]),
    ({"const": 1e-9}, ["0.000000001", "0.000000001" + "0" * 2], ["0.000000001" + "0" * 3, "1e-9"]),
    ({"const": 2.5}, ["2.5", "2.500"], ["2.5000", "2"]),
    ({"enum": [1, 2, -3]}, ["1", "2", "-3"], ["1.0", "3"]),
    ({"enum": [1, 2.5]}, ["1", "1.0", "2.5"], ["2", "1.0000"]),
    ({"type": "number", "minimum": 1e6}, ["1000000", "999999999", "1000000.5"], ["9999999999", "999999"]),
    ({"type": "integer", "minimum": 1e6}, ["1000000", "999999999"], ["9999999999", "1000000.0"]),
    ({"type": "integer", "minimum": 0, "maximum": 150}, ["0", "83", "150"], ["83.0", "151", "-0"]),
    ({"type": "integer", "minimum": 12345, "maximum": 12350}, ["12345", "12350"], ["12351", "12345.0"]),
    ({"type": "integer", "multipleOf": 7}, ["0", "7", "994"], ["1001", "7.0", "8"]),
    ({"type": "integer", "multipleOf": 1000}, ["0"], ["999", "1000.0"]),
    ({"type": "number", "multipleOf": 0.01}, ["0.01", "999.99", "0.0100"], ["0.01000", "1000", "0.001"]),
    ({"type": "number", "not": {"type": "integer"}}, ["1.5", "0.001"], ["1.0", "1"]),
    ({"type": ["integer", "string"]}, ["1", '"1.0000"'], ["1.0"]),
    ({"anyOf": [{"type": "integer"}, {"type": "number", "minimum": 10}]}, ["1", "10.5"], ["1.5", "100000"]),
    ({"type": "array", "items": {"type": "integer"}}, ["[1, 2]"], ["[1.0]", "[1000]"]),
    (
        {"type": "string", "format": "date-time"},
        ['"2020-01-01T00:00:00.123Z"', '"2020-01-01T00:00:00Z"'],
        ['"2020-01-01T00:00:00.1234Z"'],
    ),
    ({"type": "string", "format": "time"}, ['"10:00:00.5Z"'], ['"10:00:00.5000Z"']),
    ({"type": "string", "format": "duration"}, ['"P999D"'], ['"P1000D"']),
    ({"type": "string", "pattern": "^[0-9]+$"}, ['"12345"'], ['""']),
    ({"type": "string", "not": {"format": "time"}}, ['"1:00"'], ['"10:00:00.5000Z"']),
]


@pytest.mark.parametrize(("schema", "yes", "no"), CASES, ids=lambda value: json.dumps(value)[:60])
def test_spellings(schema: Any, yes: list[str], no: list[str]) -> None:
    for text in yes:
        assert takes(schema, text, **THREE), text
        assert takes(schema, text), text
    for text in no:
        assert not takes(schema, text, **THREE), text


def holds(schema: dict[str, Any], text: str) -> bool:
    """Whether a plain decimal is a number of the schema."""
    value = Decimal(text)
    checks = {
        "minimum": lambda bound: value >= bound,
        "maximum": lambda bound: value <= bound,
        "exclusiveMinimum": lambda bound: value > bound,
        "exclusiveMaximum": lambda bound: value < bound,
        "multipleOf": lambda step: value % step == 0,
        "type": lambda kind: kind == "number" or value == value.to_integral_value(),
        "enum": lambda values: any(value == Decimal(str(v)) for v in values),
    }
    return all(checks[key](said if key in ("type", "enum") else Decimal(str(said))) for key, said in schema.items())


@pytest.mark.parametrize("seed", range(12))
def test_every_value_keeps_a_spelling_and_no_other_comes(seed: int) -> None:
    rng = random.Random(seed)
    schema: dict[str, Any] = {"type": rng.choice(["integer", "number"])}
    for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        if rng.random() < 0.3:
            schema[key] = rng.choice([0, 7, -3, 120, 1.5, -0.25, 1000])
    if rng.random() < 0.4:
        schema["multipleOf"] = rng.choice([1, 2, 7, 12, 100, 0.5, 0.01])
    if rng.random() < 0.2:
        schema = {"enum": [rng.choice([0, 1, 10, -2, 0.5, 1e3, -7.25]) for _ in range(3)]}
    # Of an enum, whether all numbers are integers decides about the point.
    whole = schema.get("type") == "integer" or all(float(v).is_integer() for v in schema.get("enum", [0.5]))
    try:
        compiled(json.dumps(schema))
    except psc.GrammarError:
        return
    for _ in range(150):
        digits = "".join(rng.choice("0012579") for _ in range(rng.randint(1, 6)))
        text = rng.choice(["", "-"]) + (digits.lstrip("0") or "0")
        if rng.random() < 0.5:
            text += "." + "".join(rng.choice("0005") for _ in range(rng.randint(1, 5)))
        right = holds(schema, text)
        assert takes(schema, text) == right, (schema, text)
        short = takes(schema, text, max_digits=8, plain=True)
        spelled_so = not whole or (re.fullmatch(r"-?[0-9]+", text) is not None and text != "-0")
        # A whole-numbered language (multiples of 1, say) has integers only.
        if whole or "." not in text or Decimal(text) != Decimal(text).to_integral_value():
            assert short == (right and spelled_so) or (right and not short and text == "-0"), (schema, text)
        assert not short or right
