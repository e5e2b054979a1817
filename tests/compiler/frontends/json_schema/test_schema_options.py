"""Options of compile_json_schema beside the layout: lenient, assert_format, resolver, and schemas as pydantic models give them."""

from __future__ import annotations

import logging

import pytest
from json_schema.bytewise import accepts, compiled

import psc


def test_lenient_leaves_out_what_cannot_be_enforced_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    schema = {"properties": {"a": {"type": "array", "uniqueItems": True, "maxItems": 2}, "b": {"type": "null"}}}
    with pytest.raises(psc.GrammarError, match="#/properties/a, uniqueItems"):
        compiled(schema)
    with caplog.at_level(logging.WARNING, logger="psc.compiler"):
        grammar = compiled(schema, lenient=True)
    assert "#/properties/a, uniqueItems: left out" in caplog.text
    assert accepts(grammar, '{"a": [1, 2]}') and accepts(grammar, '{"a": [1, 1]}')
    assert not accepts(grammar, '{"a": [1, 2, 3]}') and not accepts(grammar, '{"b": 1}')


def test_under_not_lenient_is_a_superset_too() -> None:
    grammar = compiled({"not": {"type": "array", "uniqueItems": True}}, lenient=True)
    assert accepts(grammar, "[1, 1]") and accepts(grammar, "1")


def test_formats_are_assertions_or_annotations() -> None:
    schema = {"type": "string", "format": "ipv4"}
    assert not accepts(compiled(schema), '"a"')
    assert accepts(compiled(schema, assert_format=False), '"a"')
    assert accepts(compiled({"type": "string", "format": "int32"}), '"a"')


def test_other_schemas_come_from_the_resolver_only() -> None:
    others = {"https://example.com/other": {"$defs": {"n": {"type": "integer"}}}}
    schema = {"$ref": "https://example.com/other#/$defs/n"}
    assert accepts(compiled(schema, resolver=others.get), "1")
    assert not accepts(compiled(schema, resolver=others.get), '"a"')
    with pytest.raises(psc.GrammarError, match=r"\$ref"):
        compiled(schema, resolver=lambda uri: None)


def test_a_resolver_is_asked_for_what_the_options_need() -> None:
    conditions = [
        {
            "if": {"properties": {"t": {"const": i}}},
            "then": {"properties": {"x": {"const": i}}, "patternProperties": {f"^z{i}": {}}},
        }
        for i in range(12)
    ]
    schema = {"type": "object", "properties": {"t": {"enum": [*range(12)]}}, "required": ["t"], "allOf": conditions}
    with pytest.raises(psc.ResourceLimitError, match="more than 10 conditions"):
        compiled(schema, resolver=lambda uri: None, strict_mode=True)
    grammar = compiled(schema, resolver=lambda uri: None)
    assert accepts(grammar, '{"t": 3, "x": 3}') and not accepts(grammar, '{"t": 3, "x": 4}')


def test_a_model_is_its_schema() -> None:
    class Model:
        @staticmethod
        def model_json_schema() -> dict[str, object]:
            return {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]}

    grammar = compiled(Model, strict_mode=True)
    assert accepts(grammar, '{"a": null}') and not accepts(grammar, "{}")
    with pytest.raises(TypeError, match="pydantic"):
        compiled(7)
