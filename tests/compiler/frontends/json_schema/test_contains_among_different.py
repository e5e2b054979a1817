"""Arrays of different items, of more values than sets of them are kept for, of which `contains` counts some."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from json_schema.bytewise import accepts, compiled, compiler, vocabulary

import psc

jsonschema = pytest.importorskip("jsonschema")
VALUES: list[Any] = [None, True, False, 0, 1, -7, 2.5, "", "a", "b", "ab", "1", "null", "version", 'q"', "é"]


def _schema(rng: random.Random) -> dict[str, Any]:
    values = rng.sample(VALUES, rng.randrange(11, len(VALUES) + 1))
    some = rng.sample(VALUES, rng.choice([1, 1, 1, 2, 3]))
    contains = rng.choice([{"const": some[0]}, {"enum": some}, {"enum": some, "type": "string"}, {"not": {"enum": some}}])
    schema: dict[str, Any] = {"type": "array", "items": {"enum": values}, "uniqueItems": True, "contains": contains}
    if rng.random() < 0.6:
        schema["maxContains"] = rng.choice([0, 1, 1, 2])
        schema["minContains"] = rng.randrange(schema["maxContains"] + 1)
    if rng.random() < 0.3:
        schema["minItems"] = rng.randrange(3)
    if rng.random() < 0.3:
        schema["allOf"] = [{"contains": {"const": rng.choice(values)}}]
    return schema


@pytest.mark.parametrize("seed", range(60))
def test_what_comes_once_and_has_to(seed: int) -> None:
    rng = random.Random(seed)
    schema = _schema(rng)
    validator = jsonschema.Draft202012Validator(schema)
    try:
        grammar = compiled(schema)
    except psc.ResourceLimitError:
        return
    except psc.GrammarError as e:  # no array is valid
        assert "value" in str(e)
        grammar = None
    for _ in range(60):
        array = rng.sample(schema["items"]["enum"], rng.randrange(5))
        if rng.random() < 0.3:
            array += array[:1]
        if rng.random() < 0.1:
            array.append("no such value")
        expected = validator.is_valid(array)
        assert (grammar is not None and accepts(grammar, json.dumps(array, ensure_ascii=False))) == expected, (schema, array)


def test_a_named_value_among_many() -> None:
    """As in pyproject.json: `dynamic` lists different keys, `version` among them."""
    values = [f"v{i:02}" for i in range(40)]
    array = {"type": "array", "items": {"enum": values}, "uniqueItems": True, "contains": {"const": "v17"}}
    matcher = psc.GrammarMatcher(compiler().compile_json_schema(array))
    assert matcher.accept_string('["v01", "v39"')
    end = vocabulary().token_bytes
    assert b"]" not in {end(token) for token in matcher.allowed_tokens()}
    assert matcher.accept_string(', "v17"')
    assert b"]" in {end(token) for token in matcher.allowed_tokens()}
    assert not matcher.fork().accept_string(', "v17"') and matcher.fork().accept_string(', "v16"]')


def test_sets_that_overlap_are_not_told_apart_one_by_one() -> None:
    """They were: `v00` counted for itself and for the set of both, so that the set came twice."""
    values = [f"v{i:02}" for i in range(12)]
    schema = {"type": "array", "items": {"enum": values}, "uniqueItems": True, "contains": {"enum": values[:2]}}
    grammar = compiled({**schema, "minContains": 0, "maxContains": 1})
    assert accepts(grammar, '["v00", "v02"]') and not accepts(grammar, '["v00", "v01"]')
