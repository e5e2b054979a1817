"""What strict_mode closes: whole objects, through allOf, $ref, oneOf and anyOf; nothing inside not, if and contains."""

from __future__ import annotations

import json
from typing import Any

import pytest
from json_schema.bytewise import accepts, compiled

from psc.compiler.frontends.json_schema.front_end import schema_grammar
from psc.compiler.frontends.json_schema.settings import SchemaSettings


def _branch(i: int) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"kind": {"const": f"v{i}"}, f"x{i}": {"type": "string"}},
        "required": ["kind"],
    }


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf"])
@pytest.mark.parametrize("n", [2, 9, 12, 60])
def test_each_branch_is_closed_however_many_there_are(keyword: str, n: int) -> None:
    definitions = {f"b{i}": _branch(i) for i in range(n)}
    grammar = compiled({keyword: [{"$ref": f"#/$defs/b{i}"} for i in range(n)], "$defs": definitions}, strict_mode=True)
    assert accepts(grammar, '{"kind": "v1", "x1": "a"}')
    assert accepts(grammar, '{"kind": "v1"}')
    assert not accepts(grammar, '{"kind": "v1", "x0": "a"}')
    assert not accepts(grammar, '{"kind": "v1", "x1": "a", "z": 1}')
    assert not accepts(grammar, '{"kind": "v1", "x1": 1}')


@pytest.mark.parametrize("n", [9, 12])
def test_members_of_all_branches_that_are_true_may_be_there(n: int) -> None:
    branches = [{"properties": {f"x{i}": {"type": "string"}}, "required": [f"x{i}"]} for i in range(n)]
    if n > 10:  # apart, so that they are not 2 to the 12th cases
        branches = [_branch(i) for i in range(n)] + [{"properties": {"y": {}, "kind": {"const": "v1"}}, "required": ["y", "kind"]}]
        grammar = compiled({"type": "object", "anyOf": branches}, strict_mode=True, any_order=False)
        assert accepts(grammar, '{"kind": "v1", "x1": "a", "y": 1}')
        assert not accepts(grammar, '{"kind": "v2", "x2": "a", "y": 1}')
        return
    grammar = compiled({"type": "object", "unevaluatedProperties": False, "anyOf": branches[:4]})
    assert accepts(grammar, '{"x0": "a", "x1": "a"}')
    assert not accepts(grammar, '{"x0": "a", "x1": 1}')
    assert not accepts(grammar, '{"x0": "a", "x4": "a"}')


def _images(n: int, *, required: bool) -> list[dict[str, Any]]:
    """Branches of which several may be true of one value: no member tells them apart."""
    named = [{"properties": {"image": {"type": "string"}, f"x{i}": {"type": "string"}}} for i in range(n)]
    return [{**branch, "required": ["image", f"x{i}"]} for i, branch in enumerate(named)] if required else named


def test_branches_that_overlap_are_closed_together() -> None:
    grammar = compiled({"type": "object", "anyOf": _images(8, required=True)}, strict_mode=True, any_order=False)
    assert accepts(grammar, '{"image": "a", "x3": "b"}')
    assert accepts(grammar, '{"image": "a", "x0": "b", "x1": "b", "x7": "b"}')
    assert not accepts(grammar, '{"image": "a"}')
    assert not accepts(grammar, '{"image": "a", "x3": "b", "x8": "b"}')
    assert not accepts(grammar, '{"image": "a", "x3": "b", "x4": 1}')


def test_branches_of_optional_members_make_no_more_cases_than_one() -> None:
    """Where one is true so are the others: which member is there decides nothing."""

    def n_rules(n: int) -> int:
        schema = {"type": "object", "anyOf": _images(n, required=False)}
        return len(schema_grammar(json.dumps(schema), SchemaSettings(), lambda uri: None, "schema").rules.names)

    few, more, many = n_rules(3), n_rules(6), n_rules(9)
    assert many - more == more - few


@pytest.mark.parametrize(
    ("schema", "closed"),
    [
        ({"properties": {"a": {}}}, True),
        ({"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}, True),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"a": {}}}}}, True),
        ({"type": "object"}, False),
        ({"properties": {"a": {}}, "additionalProperties": True}, False),
        ({"type": "object", "not": {"properties": {"z": {"const": 7}}, "required": ["z"]}}, False),
    ],
)
def test_what_names_members_is_closed(schema: dict[str, Any], closed: bool) -> None:
    assert accepts(compiled(schema, strict_mode=False), '{"a": 1, "z": 1}')
    assert accepts(compiled(schema, strict_mode=True), '{"a": 1, "z": 1}') == (not closed)


@pytest.mark.parametrize("keyword", ["properties", "patternProperties"])
@pytest.mark.parametrize(
    ("around", "texts", "others"),
    [
        (lambda s: s, ["{}"], ['{"a": 1}']),
        (lambda s: {"allOf": [s]}, ["{}"], ['{"a": 1}']),
        (lambda s: {"anyOf": [s, {"type": "null"}]}, ["{}", "null"], ['{"a": 1}']),
        (lambda s: {"$ref": "#/$defs/s", "$defs": {"s": s}}, ["{}"], ['{"a": 1}']),
        (lambda s: {"properties": {"a": s}}, ["{}", '{"a": {}}'], ['{"a": {"a": {}}}', '{"b": {}}']),
        (lambda s: {**s, "additionalProperties": {"type": "integer"}}, ["{}", '{"a": 1}'], ['{"a": null}']),
        (lambda s: {**s, "required": ["r"]}, ['{"r": 1}'], ["{}", '{"r": 1, "a": 1}']),
        (lambda s: {"type": "object", "not": {"not": s}}, ["{}", '{"a": 1}'], []),
        (lambda s: {"allOf": [s, {"properties": {"a": {}}}]}, ["{}", '{"a": 1}'], ['{"b": 1}']),
    ],
)
def test_an_empty_list_of_members_closes(keyword: str, around: Any, texts: list[str], others: list[str]) -> None:
    schema = around({"type": "object", keyword: {}})
    grammar = compiled(schema, strict_mode=True)
    assert [text for text in texts if not accepts(grammar, text)] == []
    assert [text for text in others if accepts(grammar, text)] == []
    assert accepts(compiled(schema, strict_mode=False), '{"r": 1, "b": 2}')


def test_an_if_that_names_members_closes_nothing() -> None:
    schema = {"type": "object", "if": {"properties": {"a": {"type": "null"}}}, "then": {}, "else": {}}
    assert accepts(compiled(schema, strict_mode=True), '{"a": 1, "z": 1}')
    named = {**schema, "properties": {"b": True}}
    grammar = compiled(named, strict_mode=True)
    assert accepts(grammar, '{"b": 1}')
    assert not accepts(grammar, '{"b": 1, "z": 1}')
