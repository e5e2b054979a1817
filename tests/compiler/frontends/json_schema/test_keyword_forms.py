"""Keywords of a wrong kind are errors; what a schema says without effect, though somebody wrote it, is a warning."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

import pytest
from json_schema.bytewise import accepts, compiled

import psc
from psc import _core
from psc.compiler.frontends.json_schema.front_end import schema_grammar
from psc.compiler.frontends.json_schema.settings import SchemaSettings

VALUES: Mapping[str, Any] = {
    "null": None,
    "boolean": True,
    "number": 7,
    "fraction": 1.5,
    "negative": -1,
    "string": "x",
    "array": [1],
    "strings": ["string"],
    "object": {"a": 1},
    "empty": {},
}
SCHEMA, NUMBER, COUNT = ("boolean", "empty", "object"), ("number", "fraction", "negative"), ("number",)
TAKES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("not", "if", "then", "else", "contains", "propertyNames", "additionalProperties"), SCHEMA),
    **dict.fromkeys(("unevaluatedProperties", "unevaluatedItems", "contentSchema"), SCHEMA),
    "items": SCHEMA,  # and an array of schemas, as in older drafts
    **dict.fromkeys(("properties", "patternProperties", "dependentSchemas", "dependentRequired", "dependencies"), ("empty",)),
    **dict.fromkeys(("$defs", "definitions"), ("empty", "object")),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), ()),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), NUMBER),
    "multipleOf": ("number", "fraction"),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), COUNT),
    **dict.fromkeys(("minProperties", "maxProperties", "minContains", "maxContains"), COUNT),
    **dict.fromkeys(("pattern", "format", "$id", "$anchor", "$dynamicAnchor", "$schema"), ("string",)),
    **dict.fromkeys(("$ref", "$dynamicRef"), ()),
    "enum": ("array", "strings"),
    "required": ("strings",),
    "type": ("strings",),
    "uniqueItems": (),  # true is refused for another reason, which names the keyword
}
AROUND = {
    "at the top": (lambda schema: schema, "#"),
    "in a member": (lambda schema: {"type": "object", "properties": {"a/b": schema}, "required": ["a/b"]}, "#/properties/a~1b"),
    "behind a reference": (lambda schema: {"$ref": "#/$defs/d", "$defs": {"d": schema}}, "#/$defs/d"),
    "of items, in a branch": (lambda schema: {"anyOf": [{"items": schema}, {"type": "null"}]}, "#/anyOf/0/items"),
}


def _grammar(schema: object, **options: Any) -> _core.SchemaGrammar:
    return schema_grammar(json.dumps(schema), SchemaSettings(strict_mode=False, **options), lambda _: None, "t")


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("keyword", TAKES)
def test_a_value_of_a_wrong_kind_is_an_error_with_pointer_and_keyword(keyword: str, around: str) -> None:
    placed, pointer = AROUND[around]
    for kind, value in VALUES.items():
        if kind in TAKES[keyword] or (keyword == "$ref" and kind == "string"):
            continue
        with pytest.raises(psc.GrammarError) as caught:
            _grammar(placed({keyword: value}))
        assert caught.value.pointer is not None, kind
        assert caught.value.pointer.startswith(pointer), (kind, caught.value)
        assert keyword in str(caught.value).removeprefix(f"t: {pointer}"), (kind, caught.value)


@pytest.mark.parametrize("keyword", [k for k in TAKES if k not in ("$ref", "$dynamicRef")])
def test_a_value_of_the_right_kind_is_none(keyword: str) -> None:
    for kind in TAKES[keyword]:
        if kind == "object" and keyword not in ("$defs", "definitions"):
            continue  # `{"a": 1}` is a schema with an unknown keyword
        _grammar({keyword: VALUES[kind]})


DRAFT_3 = "http://json-schema.org/draft-03/schema#"
DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"required": False}, "#, required: required must be an array of names, in the schema of the object"),
        ({"$schema": DRAFT_4, "properties": {"a": {"required": True}}}, "#/properties/a, required: "),
        ({"required": "a"}, "#, required: required must be an array of names"),
        ({"uniqueItems": "true", "items": {"enum": [1]}}, "#, uniqueItems: uniqueItems must be true or false"),
        ({"exclusiveMaximum": True}, "#, exclusiveMaximum: .* beside it"),
        ({"exclusiveMinimum": True, "maximum": 3}, "#, exclusiveMinimum: .* beside it"),
        ({"$schema": DRAFT_4, "exclusiveMinimum": True}, "#, exclusiveMinimum: .* beside it"),
        ({"dependentRequired": {"a": {"type": "string"}}}, "#, dependentRequired: "),
        ({"dependentRequired": {"a": [1]}}, "#, dependentRequired: names must be strings"),
        ({"properties": {"a": "string"}}, "#/properties/a: a schema must be an object or a boolean"),
        ({"items": ["string"]}, "#/items/0: a schema must be an object or a boolean"),
        ({"$schema": 7}, r"#, \$schema: \$schema must be a string"),
        ({"$schema": DRAFT_3}, r"#, \$schema: draft 3 is not supported.*`multipleOf` for `divisibleBy`"),
        ({"$schema": DRAFT_3, "properties": {"a": {"required": True}}}, r"#, \$schema: draft 3 is not supported"),
        ({"$schema": DRAFT_3.rstrip("#"), "disallow": "string"}, r"#, \$schema: draft 3 is not supported"),
        ({"$schema": "https://json-schema.org/draft-03/hyper-schema#"}, r"#, \$schema: draft 3 is not supported"),
        ({"$schema": "http://json-schema.org/draft-02/schema#"}, r"#, \$schema: draft 2 is not supported"),
    ],
)
def test_what_was_dropped_silently_is_an_error(schema: dict[str, Any], message: str) -> None:
    with pytest.raises(psc.GrammarError, match=message):
        _grammar(schema)


def test_boolean_bounds_are_draft_4s_where_their_bound_is_beside_them() -> None:
    for draft in ({"$schema": DRAFT_4}, {"$schema": DRAFT_7}, {}):
        grammar = compiled({**draft, "type": "integer", "minimum": 3, "exclusiveMinimum": True, "maximum": 5})
        assert [n for n in range(8) if accepts(grammar, str(n))] == [4, 5]
    assert accepts(compiled({"$schema": DRAFT_4, "type": "integer", "exclusiveMaximum": False}), "9")


def test_keywords_that_a_draft_does_not_have_say_nothing() -> None:
    for schema in ({"const": 1, "title": "t"}, {"if": 3, "type": "string"}, {"$id": 7, "type": "string"}, {"minContains": "x"}):
        _grammar({"$schema": DRAFT_4, **schema})
    assert _grammar({"$schema": DRAFT_7, "$ref": "#/definitions/a", "required": True, "definitions": {"a": {}}}).doubts == []


@pytest.mark.parametrize(
    ("schema", "doubt"),
    [
        ({"name": "x", "strict": True, "schema": {"type": "object"}},
         "#: none of the keywords 'name', 'strict', 'schema' is known; any value passes; give the value of 'schema' alone"),
        ({"name": "x", "strict": True, "schema": {"name": "y", "schema": {"type": "object"}}}, "#: none of the keywords 'name', "),
        ({"name": "x", "description": "d", "schema": {}}, "#: none of the keywords 'name', 'schema' is known"),
        ({"a": {"type": "string"}}, "#: none of the keywords 'a' is known; any value passes"),
        ({"title": {"type": "string"}, "id": {"type": "integer"}}, "#: none of the keywords 'title', 'id' is known"),
        ({"$schema": DRAFT_4, "id": {"type": "integer"}}, "#: none of the keywords 'id' is known"),
        ({"propertis": {"a": {}}}, "#: none of the keywords 'propertis' is known; any value passes; did you mean 'properties'?"),
        ({"Type": "object"}, "#: none of the keywords 'Type' is known; any value passes; did you mean 'type'?"),
        ({"any_of": [{}]}, "did you mean 'anyOf'?"),
        ({"type": "object", "propertis": {}}, "#: 'propertis' is no keyword; did you mean 'properties'?"),
        ({"type": "object", "additionalproperties": False}, "#: 'additionalproperties' is no keyword; did you mean 'additionalP"),
        ({"type": "object", "requierd": ["a"]}, "#: 'requierd' is no keyword; did you mean 'required'?"),
        ({"type": "string", "maxLenght": 3}, "#: 'maxLenght' is no keyword; did you mean 'maxLength'?"),
        ({"type": "array", "minitems": 3}, "#: 'minitems' is no keyword; did you mean 'minItems'?"),
        ({"properties": {"a": {"foo": 1}}}, "#/properties/a: none of the keywords 'foo' is known"),
        ({"anyOf": [{"type": "null"}, {"value": 3}]}, "#/anyOf/1: none of the keywords 'value' is known"),
        ({"$defs": {"a": {"type": "string"}}, "main": {}}, "#: none of the keywords 'main' is known"),
        ({"$schema": "https://json-schema.org/draft/2020-12/schema", "user": {}}, "#: none of the keywords 'user' is known"),
        ({"$schema": DRAFT_4, "const": 1},
         "#: none of the keywords 'const' is known; any value passes; 'const' is a keyword of draft 6, and this is read as dr"),
        ({"$schema": DRAFT_7, "prefixItems": [{}]},
         "; 'prefixItems' is a keyword of 2020-12, and this is read as draft 7; $schema "),
        ({"$schema": DRAFT_7, "minContains": 2, "type": "array"},
         "#: 'minContains' is a keyword of 2019-09, and this is read as draft 7"),
        ({"$schema": DRAFT_7, "dependentRequired": {}},
         "; 'dependentRequired' is a keyword of 2019-09, and this is read as draft 7"),
        ({"$recursiveRef": "#"}, "; '$recursiveRef' is a keyword of 2019-09, and this is read as 2020-12"),
        ({k: 1 for k in "abcdefgh"}, "#: none of the keywords 'a', 'b', 'c', 'd', 'e' and 3 more is known"),
        ({"k" * 100_000: 1}, "#: none of the keywords 'kkkkkkkkkkkkkkkkkkkk…kkkkkkkkkkkkkkkkkkkk' is known"),
        ({"$schema": "JSON Schema", "type": "null"}, "#, $schema: 'JSON Schema' is no draft of JSON Schema, so this is read"),
        ({"$schema": "http://json-schema.org/draft-08/schema#", "type": "null"}, "is no draft of JSON Schema"),
        ({"type": "string", "nullable": True}, "#: nullable is a keyword of OpenAPI 3.0"),
        ({"properties": {"a": {"enum": ["x"], "nullable": True}}}, "#/properties/a: nullable is a keyword of OpenAPI 3.0"),
        ({"properties": {"a": {"$ref": "#/$defs/a", "nullable": True}}, "$defs": {"a": {"type": "object"}}},
         '#/properties/a: nullable is a keyword of OpenAPI 3.0, not of JSON Schema, so null is not allowed here; write "type": '),
    ],
)  # fmt: skip
def test_what_has_no_effect_is_a_doubt(schema: dict[str, Any], doubt: str) -> None:
    (said,) = _grammar(schema).doubts
    assert doubt in said
    assert len(said) < 400


@pytest.mark.parametrize(
    "schema",
    [
        {},
        True,
        {"title": "t", "description": "d", "default": {}, "examples": [1], "$comment": "c", "x-order": 1, "deprecated": True},
        {"readOnly": True, "writeOnly": False, "contentEncoding": "base64", "contentMediaType": "text/plain"},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "http://x/y", "$defs": {"a": {"foo": 1}}},
        {"$schema": "http://json-schema.org/schema#", "type": "string"},
        {"$schema": "http://json-schema.org/draft-07/hyper-schema#", "const": 1},
        {"$schema": DRAFT_7.rstrip("#"), "type": "string"},
        {"nullable": True, "description": "anything"},
        {"nullable": False, "type": "string"},
        {"nullable": True, "type": ["string", "null"]},
        {"nullable": True, "anyOf": [{"type": "string"}, {"type": "null"}]},
        {"type": "object", "properties": {"propertis": {"type": "string"}}, "order": ["propertis"]},
        {"const": {"propertis": 1}, "enum": [{"propertis": 1}], "default": {"foo": 1}},
    ],
)
def test_what_is_meant_is_no_doubt(schema: object) -> None:
    assert _grammar(schema).doubts == []


def test_doubts_are_logged_and_a_script_gets_a_warning_once(caplog: pytest.LogCaptureFixture) -> None:
    schema = {"name": "x", "strict": True, "schema": {"type": "object"}}
    with caplog.at_level(logging.WARNING, "psc.compiler"):
        compiled(schema)
    assert caplog.text.count("none of the keywords 'name', 'strict', 'schema' is known") == 1


def test_a_document_has_few_doubts() -> None:
    many = {"properties": {f"n{i}": {f"foo{i}": 1} for i in range(1000)}}
    assert len(_grammar(many).doubts) == 20
