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


def _random_texts(n: int, size: int, seed: int = 1) -> list[str]:
    rng = random.Random(seed)
    return ["".join(rng.choices("abcdefghij", k=size)) for _ in range(n)]


def _list_of(name: str) -> list[Any]:
    if name == "integers":
        return [random.Random(i).randrange(10**30) for i in range(30_000)]
    return _random_texts(22_000 if name == "strings" else 60_000, 30)


@pytest.mark.parametrize(
    ("name", "at"),
    [("strings", "value"), ("more strings", "items"), ("integers", "value"), ("strings", "tag"), ("integers", "tag")],
)
def test_lists_beyond_one_terminal_are_refused_at_their_place(name: str, at: str) -> None:
    inner = {"type": "object", "properties": {"b": {"enum": _list_of(name)}}}
    schema = {"type": "array", "items": inner} if at == "items" else {"type": "object", "properties": {"a": inner}}
    with pytest.raises(psc.ResourceLimitError, match=r"300,000.* limit of one terminal") as e:
        if at == "tag":
            compiler = psc.GrammarCompiler(psc.TokenizerInfo.from_tokens([b"a"]), store=False)
            compiler.compile_structural_tag({"type": "structural_tag", "format": {"type": "json_schema", "json_schema": schema}})
        else:
            compiled(schema)
    place = "#/items" if at == "items" else "#/properties/a"
    assert e.value.pointer is not None and e.value.pointer.startswith(place)
    assert len(str(e.value)) < 400 and "assert_format" not in str(e.value)


def test_lists_of_one_terminal_are_whole() -> None:
    texts = _random_texts(12_000, 20)
    grammar = compiled({"enum": [*texts, *texts[:5]]})
    assert all(accepts(grammar, json.dumps(text)) for text in texts[::3000])
    assert not accepts(grammar, json.dumps(texts[0][:-1])) and not accepts(grammar, json.dumps("z" + texts[0][1:]))
    suffix = "c" * 250_000  # two long texts with one end need no more than one of them
    grammar = compiled({"enum": ["a" + suffix, "b" + suffix]})
    assert accepts(grammar, json.dumps("b" + suffix)) and not accepts(grammar, json.dumps("c" + suffix))


def test_a_bound_of_the_length_beside_a_large_pattern_names_its_place() -> None:
    value = {"type": "string", "pattern": "^[a-z]{1,3000}[0-9]{1,3000}$", "maxLength": 5000}
    schema = {"type": "object", "properties": {"a": value}}
    with pytest.raises(psc.ResourceLimitError, match="lengths of what may follow") as e:
        compiled(schema)
    assert e.value.pointer in ("#", "#/properties/a")
