"""Enums of very many values, and constants that are very long."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from json_schema.bytewise import accepts, compiled

import psc

_NUMBERS: list[list[Any]] = [
    list(range(3000)),
    [0, -0.0, 1, 1.0, 10, 100, -5],
    [0.5, 0.505, -0.5, 5, 50.05, 1e3, 1e-3],
    [random.Random(1).randint(-(10**9), 10**9) for _ in range(2000)],
    [n + 0.25 for n in range(500)],
]


@pytest.mark.parametrize("values", _NUMBERS, ids=range(len(_NUMBERS)))
def test_numbers_by_value(values: list[Any]) -> None:
    grammar, rng = compiled({"enum": [*values, "a", None, [1]]}), random.Random(0)
    for _ in range(300):
        value = rng.choice([rng.choice(values), rng.choice(values) + rng.choice([1, 0.5, 0.125]), -rng.choice(values)])
        text = json.dumps(value) + rng.choice(["", "0", ".0", ".00"])
        try:
            valid = json.loads(text) in values
        except json.JSONDecodeError:
            valid = False
        if "e" not in text:
            assert accepts(grammar, text) == valid, text
    assert accepts(grammar, '"a"') and accepts(grammar, "null") and accepts(grammar, "[1]") and not accepts(grammar, "true")


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"const": "ab" * 200_000}, "#"),
        ({"enum": ["x", "é" * 300_001]}, "#"),
        ({"type": "object", "properties": {"a": {"const": ["b" * 400_000]}}, "required": ["a"]}, "#/properties/a"),
        ({"type": "array", "items": {"enum": [{"x": "b" * 400_000}]}}, "#/items"),
    ],
)
def test_a_string_that_is_too_long_is_refused_at_its_place(schema: Any, place: str) -> None:
    with pytest.raises(psc.ResourceLimitError, match=f"{place}: a string of enum or const has more than 300,000 characters") as e:
        compiled(schema)
    assert len(str(e.value)) < 200


def test_the_longest_string() -> None:
    assert accepts(compiled({"const": "b" * 200_000}), json.dumps("b" * 200_000))
