"""`oneOf` of more than 400 schemas, of which only those exclude each other that members do not tell apart."""

from __future__ import annotations

import json
import random
from typing import Any

import jsonschema
import pytest
from json_schema.bytewise import accepts, compiled

import psc

N = 401


def _branch(i: int, value: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"k": value, f"x{i}": {"type": "integer"}}, "required": ["k"], **more}


def _closed(i: int) -> dict[str, Any]:
    return _branch(i, {"const": f"v{i}"}, additionalProperties=False)


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"k": value}, "required": ["k"]}


def _closed_with(name: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {name: value, "y": {}}, "required": [name], "additionalProperties": False}


OPEN = [_plain({"const": f"v{i}"}) for i in range(N)]


def _with(branches: list[Any], **more: Any) -> dict[str, Any]:
    return {"oneOf": branches, **more}


DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#"}
SCHEMAS: dict[str, dict[str, Any]] = {
    "closed": _with([_closed(i) for i in range(N)]),
    "open": _with([_branch(i, {"const": f"v{i}"}) for i in range(N)]),
    "enums": _with([_branch(i, {"enum": [f"v{i}", f"w{i}"]}) for i in range(N)]),
    "behind references": _with([{"$ref": f"#/$defs/d{i}"} for i in range(N)], **{"$defs": {f"d{i}": _closed(i) for i in range(N)}}),
    "the type outside": _with([{key: v for key, v in _closed(i).items() if key != "type"} for i in range(N)], type="object"),
    # These are not told apart.
    "two alike": _with([*OPEN, _plain({"const": "v7"})]),
    "enums that overlap": _with([*OPEN, _plain({"enum": ["v3", "y"]})]),
    "one is not required": _with([*OPEN, {"type": "object", "properties": {"k": {"const": "y"}}}]),
    "one may be no object": _with([*OPEN, {"properties": {"k": {"const": "y"}}, "required": ["k"]}, {"type": "null"}]),
    "one says more": _with([*OPEN, _plain({"enum": ["y", 1]}), _plain({"const": 1})]),
    "numbers and words": _with(
        [*(_plain({"const": i / 2}) for i in range(N)), _plain({"enum": [None, True]}), _plain({"const": 1})]
    ),
    "closed, by their names": _with([_closed_with(f"k{i}", {}) for i in range(N)]),
    "by one of two members": _with([_closed_with("kl"[i % 2], {"const": f"v{i}"}) for i in range(N)]),
    "closed but for patterns": _with([*OPEN, {
        "type": "object", "required": ["k"], "patternProperties": {"^k$": {"const": "v3"}, "^x": {}}, "additionalProperties": False
    }]),
    "by a member of a member": _with([_plain(_plain({"const": f"v{i}"})) for i in range(N)]),
    "a member of what may be no object": _with(
        [*(_plain({**_plain({"const": f"v{i}"}), "type": ["object", "array"]}) for i in range(N)), _plain({"const": 1})]
    ),
    "by parts of allOf": _with(
        [{"allOf": [{"$ref": "#/$defs/o"}, {"properties": {"k": {"const": f"v{i % 399}"}}}]} for i in range(N)],
        **{"$defs": {"o": {"type": "object", "required": ["k"]}}},
    ),
    "beside a reference": _with(
        [*OPEN, _plain({"$ref": "#/definitions/s", "const": "y"})], definitions={"s": {"enum": ["v3", "y"]}}, **DRAFT_7
    ),
}  # fmt: skip


def _values(rng: random.Random) -> list[Any]:
    numbers = [rng.randrange(N) for _ in range(4)] + [1, 3, 7]
    others: list[Any] = [{f"k{i}": 1} for i in numbers] + [{"k": {"k": f"v{i}"}} for i in numbers]
    others += [{"k1": 1, "k": 2}, {"k1": 1, "k2": 1}, {"k": None}, {"k": True}, {"k": 1.5}, {"x1": 1, "k": "v3"}]
    others += [{"k": {}}, {"l": "v1"}, {"l": "v2"}, {"l": "v1", "k": "v2"}, {"k": []}]
    with_own = [{"k": f"{letter}{i}", f"x{j}": 1} for i in numbers for letter in "vw" for j in (i, i + 1)]
    return [{}, None, 1, {"k": 1}, {"k": "y"}, {"k": "z"}, {"x1": 1}, *[{"k": f"v{i}"} for i in numbers], *with_own, *others]


@pytest.mark.parametrize("name", SCHEMAS)
def test_values_of_one_branch_are_valid(name: str) -> None:
    schema = SCHEMAS[name]
    grammar = compiled(schema)
    valid = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)(schema).is_valid
    verdicts = [(value, valid(value)) for value in _values(random.Random(name))]
    assert {verdict for _, verdict in verdicts} == {True, False}
    for value, verdict in verdicts:
        assert accepts(grammar, json.dumps(value)) == verdict, value


def test_a_const_of_draft_4_says_nothing() -> None:
    draft_4 = {"$schema": "http://json-schema.org/draft-04/schema#"}
    with pytest.raises(psc.GrammarError, match="no value is left"):  # each is of all branches
        compiled(_with([_branch(0, {"const": f"v{i}"}) for i in range(N)], **draft_4))


@pytest.mark.parametrize("any_order", [False, True])
def test_sets_of_strings_that_grow_with_the_square_of_the_branches(any_order: bool) -> None:
    lengths = [{"type": "string", "minLength": 2 * i, "maxLength": 2 * i + 1} for i in range(1000)]
    with pytest.raises(psc.ResourceLimitError, match="sets of strings and numbers that are combined: more than 20000000") as caught:
        compiled({"oneOf": lengths}, any_order=any_order)
    assert caught.value.pointer is not None


def test_branches_that_nothing_tells_apart_reach_the_limit() -> None:
    branches = [{**_branch(i, {"const": f"v{i}"}), "required": []} for i in range(N)]
    with pytest.raises(psc.ResourceLimitError, match=r"takes more than 30,000,000 steps to tell apart, the limit") as caught:
        compiled(_with(branches))
    assert caught.value.pointer == "#"


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            {"anyOf": [{"properties": {f"a{j}": {"type": "string", "minLength": i} for j in range(30)}} for i in range(200)]},
            "#/properties/v, anyOf: what the alternatives here say together takes more than 30,000,000 steps",
        ),
        (
            {"enum": [{"a": i} for i in range(3000)]},
            "#/properties/v, enum: what the alternatives here say together takes more than",
        ),
        (
            {"type": "string", "pattern": "^(?!.*a.{12}b)"},
            "#/properties/v, pattern: the texts or numbers need 401,468 arcs, and 300,000",
        ),
    ],
)
def test_limits_name_the_keyword_that_is_too_much(schema: dict[str, Any], message: str) -> None:
    with pytest.raises(psc.ResourceLimitError) as caught:
        compiled({"properties": {"v": schema}}, strict_mode=True)
    assert message in str(caught.value)
    assert caught.value.pointer == "#/properties/v"
