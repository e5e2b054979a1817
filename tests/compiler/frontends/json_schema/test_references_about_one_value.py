"""References that lead back to the schema that they are in, about the same value: the least meaning, or an error."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from json_schema.bytewise import accepts, compiled

import psc

_SELF = {"$ref": "#/$defs/v"}


def _named(**definitions: Any) -> dict[str, Any]:
    return {"$ref": "#/$defs/v", "$defs": definitions}


@pytest.mark.parametrize(
    ("schema", "texts", "others"),
    [
        (_named(v={"anyOf": [{"type": "string"}, _SELF]}), ['"a"'], ["1", "null"]),
        (_named(v={"anyOf": [_SELF, {"type": "string"}]}), ['"a"'], ["1"]),
        (_named(v={"oneOf": [{"type": "string"}, _SELF]}), ['"a"'], ["1"]),
        (_named(v={"anyOf": [{"type": "integer"}, {"allOf": [_SELF, {"minimum": 5}]}]}), ["1", "7"], ["1.5", '"a"']),
        (
            _named(v={"anyOf": [{"const": "x"}, {"$ref": "#/$defs/w"}]}, w={"anyOf": [{"type": "integer"}, _SELF]}),
            ['"x"', "1"],
            ['"y"', "1.5"],
        ),
        (
            {
                "type": "array",
                "prefixItems": [{"$ref": "#/$defs/w"}, _SELF, {"$ref": "#/$defs/w"}],
                "$defs": {
                    "v": {"anyOf": [{"const": "x"}, {"$ref": "#/$defs/w"}]},
                    "w": {"oneOf": [{"type": "integer"}, _SELF]},
                },
            },
            ['["x", 1, "x"]', '[1, "x", 1]'],
            ['["y"]', "[1.5]", '["x", "y"]'],
        ),
        (
            _named(
                v={
                    "anyOf": [
                        {"type": "object", "properties": {"a": _SELF}, "required": ["a"]},
                        {"type": "null"},
                        _SELF,
                    ]
                }
            ),
            ["null", '{"a": {"a": null}}'],
            ["{}", '{"a": 1}', '{"b": null}'],
        ),
    ],
)
def test_an_alternative_that_is_the_schema_itself_adds_nothing(schema: dict[str, Any], texts: list[str], others: list[str]) -> None:
    grammar = compiled(schema, strict_mode=True)
    assert [text for text in texts if not accepts(grammar, text)] == []
    assert [text for text in others if accepts(grammar, text)] == []


@pytest.mark.parametrize(
    "schema",
    [
        _named(v={"allOf": [_SELF, {"type": "string"}]}),
        _named(v={"not": _SELF}),
        _named(v={"anyOf": [{"$ref": "#/$defs/w"}, {"type": "null"}]}, w={"allOf": [{"$ref": "#/$defs/w"}, {"type": "string"}]}),
        {"propertyNames": {"$ref": "#/$defs/v"}, "$defs": {"v": {"allOf": [_SELF, {"minLength": 1}]}}},
    ],
)
def test_without_an_alternative_it_is_an_error(schema: dict[str, Any]) -> None:
    with pytest.raises(psc.GrammarError, match="it refers to itself, about the same value"):
        compiled(schema)


@pytest.mark.parametrize(
    ("schema", "texts", "others"),
    [
        ({"propertyNames": {"$ref": "#"}, "minLength": 1}, ['{"a": {"": 1}}', '"a"', "{}"], ['{"": 1}', '""']),
        (_named(v={"type": "object", "propertyNames": {"anyOf": [_SELF, {"minLength": 2}]}}), ['{"ab": 1}'], ['{"a": 1}', '"ab"']),
        (_named(v={"propertyNames": {"not": _SELF}, "minLength": 1}), ['{"": 1}', "{}", '"a"'], ['{"a": 1}', '""']),
        (
            _named(v={"propertyNames": {"$ref": "#/$defs/w"}}, w={"allOf": [{"maxLength": 1}, {"propertyNames": _SELF}]}),
            ['{"a": {"bb": 1}}', '"aa"'],
            ['{"aa": 1}'],
        ),
    ],
)
@pytest.mark.parametrize("strict", [True, False])
def test_a_name_is_another_value_than_the_object(schema: dict[str, Any], texts: list[str], others: list[str], strict: bool) -> None:
    validator = jsonschema.Draft202012Validator(schema)
    assert [validator.is_valid(json.loads(text)) for text in [*texts, *others]] == [True] * len(texts) + [False] * len(others)
    grammar = compiled(schema, strict_mode=strict)
    assert [text for text in texts if not accepts(grammar, text)] == []
    assert [text for text in others if accepts(grammar, text)] == []


def test_shared_references_are_looked_at_once() -> None:
    definitions: dict[str, Any] = {"v0": {"const": "x"}, "v1": {"type": "integer"}}
    for i in range(2, 60):
        definitions[f"v{i}"] = {"anyOf": [{"$ref": f"#/$defs/v{i - 1}"}, {"$ref": f"#/$defs/v{i - 2}"}]}
    grammar = compiled({"$ref": "#/$defs/v59", "$defs": definitions}, strict_mode=True)
    assert accepts(grammar, '"x"')
    assert accepts(grammar, "12")
    assert not accepts(grammar, "1.5")


@pytest.mark.parametrize("listing", [{"const": {"x": 1}}, {"enum": [{"x": 1}, {"x": 2, "y": 3}]}])
@pytest.mark.parametrize("n", [1, 15])
def test_listed_objects_are_not_closed_by_what_their_alternatives_name(listing: dict[str, Any], n: int) -> None:
    named = [
        {"type": "object", "properties": {"k": {"const": i}, f"a{i}": {"type": "integer"}}, "required": ["k"]} for i in range(n)
    ]
    grammar = compiled({"anyOf": [listing, *named, {"const": {"z": 0}}]}, strict_mode=True)
    assert accepts(grammar, '{"x": 1}')
    assert accepts(grammar, '{"z": 0}')
    assert accepts(grammar, '{"k": 0, "a0": 5}')
    assert not accepts(grammar, '{"k": 0, "a0": 5, "x": 1}')
    assert not accepts(grammar, '{"x": 4}')
