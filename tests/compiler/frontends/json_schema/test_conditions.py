"""Conditions on members: many `if` over one member, switches, `oneOf` of objects, `dependentRequired`. The number of cases stays
about that of the conditions, in the schema's order and in any order.

Verdicts are those of the library jsonschema: of values near the ones that the masks lead to, and of random ones.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from json_schema.bytewise import LONGER, accepts, compiler
from json_schema.reference import NotComparable, is_valid, value_of
from json_schema.walks import walk

Schema = dict[str, Any]
ORDERS: tuple[dict[str, bool], ...] = ({}, {"any_order": True})


def ordered(value: Any, schema: Schema) -> Any:
    """An object with its members as the schema lists them."""
    if not isinstance(value, dict):
        return value
    names = [*schema.get("properties", {}), *value]
    return {name: value[name] for name in dict.fromkeys(names) if name in value}


def check(schema: Schema, values: list[Any], seed: int = 0, walks: int = 6, **options: Any) -> None:
    """Texts that masks lead to are valid; these values and those near the texts are accepted exactly if they are."""
    rng = random.Random(seed)
    for order in ORDERS:
        grammar = compiler(LONGER).compile_json_schema(schema, **{"strict_mode": False, **order, **options})
        near = []
        for _ in range(walks):
            text = walk(grammar, rng)
            try:
                value = value_of(text)
            except NotComparable:
                continue
            if not options:
                assert is_valid(2020, schema, value), (schema, text, order)
            near += [changed(value, schema, rng) for _ in range(6)]
        for value in (*values, *near) if not options else values:
            value = ordered(value, schema)
            if order and isinstance(value, dict):
                value = dict(rng.sample(list(value.items()), len(value)))
            valid = is_valid(2020, schema, value)
            assert accepts(grammar, json.dumps(value, default=float)) == valid, (schema, value, valid, order)


def changed(value: Any, schema: Schema, rng: random.Random) -> Any:
    """An object with a few members less, more or other."""
    if not isinstance(value, dict):
        return {}
    out = dict(value)
    for _ in range(rng.randrange(1, 4)):
        names = sorted({*schema.get("properties", {}), *out, "other"})
        name = rng.choice(names)
        if name in out and rng.random() < 0.4:
            del out[name]
        else:
            out[name] = rng.choice([True, False, 1, 7, "a", "abcd", "a0", "a1", "a2", None, {}])
    return out


def actions(n: int, kind: str = "const") -> Schema:
    """One member decides what others must be."""
    properties: Schema = {"action": {"enum": [f"a{i}" for i in range(n)]}}
    properties |= {f"v{i}": {"type": ["string", "integer"]} for i in range(n)}

    def condition(i: int) -> Schema:
        said = {"enum": [f"a{i}"]} if kind == "enum" else {"const": f"a{i}"}
        return {"properties": {"action": said}, **({"required": ["action"]} if kind == "required" else {})}

    def consequence(i: int) -> Schema:
        return {"required": [f"v{i}"], **({"properties": {f"v{i}": {"minimum": i}}} if kind == "properties" else {})}

    conditions = [{"if": condition(i), "then": consequence(i)} for i in range(n)]
    if kind == "else":
        chain: Schema = {"required": ["v0"]}
        for each in reversed(conditions):
            chain = {**each, "else": chain}
        conditions = [chain]
    closed = {"additionalProperties": False} if kind == "closed" else {}
    required = {} if kind == "optional" else {"required": ["action"]}
    return {"type": "object", "properties": properties, "allOf": conditions, **closed, **required}


ACTION_KINDS = ["const", "enum", "required", "properties", "else", "closed", "optional"]


def action_values(n: int) -> list[Any]:
    """Objects with an action, and members that it may need."""
    some = [{"action": f"a{i}", f"v{j}": v} for i in (0, 1, n - 1) for j in (0, 1, n - 1) for v in ("x", 0, n)]
    return [*some, {"action": "b", "v0": "x"}, {"v0": "x"}, {}, {"action": "a0", "v0": "x", "v1": 7, "more": 1}, 3]


@pytest.mark.parametrize("kind", ACTION_KINDS)
@pytest.mark.parametrize("n", [3, 12, 40])
def test_many_conditions_on_one_member(kind: str, n: int) -> None:
    check(actions(n, kind), action_values(n), walks=3 if n < 5 else 0)


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("n", [3, 8, 25])
def test_one_of_objects_that_a_required_member_tells_apart(n: int, closed: bool, typed: bool) -> None:
    value = {"type": "integer"} if typed else {}
    branches = [
        {
            "type": "object",
            "properties": {"name": {"type": "string"}, f"p{i}": value},
            "required": ["name", f"p{i}"],
            **({"additionalProperties": False} if closed else {}),
        }
        for i in range(n)
    ]
    schema = {"properties": {"name": True, **{f"p{i}": True for i in range(n)}}, "oneOf": branches}
    values = [{"name": "a", f"p{i}": v, f"p{j}": w} for i in (0, 1, n - 1) for j in (0, 2) for v in (1, "x") for w in (1, None)]
    check(schema, [*values, {"name": "a"}, {"p0": 1}, {"name": 1, "p1": 1}, {}, 3], walks=3 if n < 5 else 0)


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf"])
@pytest.mark.parametrize(("n", "more"), [(3, 0), (12, 0), (6, 11), (20, 2)])
def test_closed_objects_of_optional_members(keyword: str, n: int, more: int) -> None:
    """`not` of such an object is: some member has another name."""
    optional = {f"o{i}": {"type": "string"} for i in range(more)}
    branches = [
        {"type": "object", "properties": {"name": {}, f"p{i}": {"type": "integer"}, **(optional if i == 0 else {})}}
        | {"additionalProperties": {"type": "null"} if i == 1 and n > 6 and keyword == "anyOf" else False}
        for i in range(n)
    ]
    names = ["name", "p0", *optional, *(f"p{i}" for i in range(1, n))]
    schema = {"properties": dict.fromkeys(names, True), keyword: [{"enum": ["x"]}, *branches]}
    values = [{f"p{i}": v, **some} for i in (0, 1, n - 1) for v in (1, "x") for some in ({}, {"name": 1}, {"o0": "x"}, {"z": None})]
    check(schema, [*values, {"p0": 1, "p1": 1}, {"name": 1}, {"o0": "x"}, {"o0": 1}, {}, "x", "y"], walks=2 if n + more < 5 else 0)
